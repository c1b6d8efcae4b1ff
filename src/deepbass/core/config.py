"""The configuration: one frozen dataclass. The defaults are the paper's MNIST experiment.

What is said here of a setting is said once: the checks, the options of ``deepbass run`` and the tables of
docs/configuration.md follow from it. This file imports neither NumPy nor torch, so that --help is instant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

from deepbass.core.errors import ConfigError
from deepbass.core.other_names import MEANT
from deepbass.core.setting import check_settings, one_of, setting, settings_of

__all__ = ["OWN", "PEOPLE", "Config", "RunSettings", "one_of"]

OWN = "(passed in Python)"  # written down for what was no name but a value: a model, an oracle, a rule
PEOPLE = "people"  # written down by the labelling page's trainer: its answers come from the project's journal
BY_BUDGET, WEIGHED, GAIN = "by-budget", "weighed", "gain"  # parts that others ask for by name
MOST_PASSES = 65_535  # votes are counted in 16 bits


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything that decides how a run goes. Wrong values are refused here, not deep in a run."""

    seed: int = setting(0, "every random draw of the run derives from it", at_least=0, group="The method")
    initial: int = setting(
        100,
        "labels known at the start",
        more="as many as there are labelled samples takes them all",
        at_least=1,
    )
    start: str = setting(
        "balanced",
        "which labels are known at the start",
        choices={
            "balanced": "the same number of every class, as in the paper: the labels are looked at before they are "
            "paid for",
            "random": "any",
            "typical": "the densest sample of each of as many clusters; no label is looked at",
        },
        code=True,
        written=(OWN,),
    )
    initial_labels: str | None = setting(
        None,
        "file that names the samples whose labels are known at the start, in place of a draw",
        more="a name or a row number per line; in Python also `initial=` with a list of rows",
        written=(OWN,),
    )
    iterations: int = setting(200, "iterations of Algorithm 1", at_least=0)
    ask_count: int = setting(10, "labels asked for at a time", at_least=1)
    ask_every: int = setting(10, "iterations from one asking to the next; the first iteration asks", at_least=1)
    budget: int | None = setting(
        None, "labels in all, initial ones included, after which none are asked for", at_least=1
    )
    acquire: str = setting(
        "max-entropy",
        "which samples to ask for",
        more="equal scores are settled by the lower sample id; where fewer samples than wanted lie above a bar, fewer "
        "are asked for",
        choices={
            "max-entropy": "the highest entropy of the mean prediction",
            "above-average": "a random draw from those above the pool's average entropy",
            "above-quantile": "a random draw from those above a quantile of the pool's entropy",
            "bald": "the highest mutual information between label and weights",
            "variation-ratios": "the passes disagree most",
            "least-confidence": "the lowest probability of the most probable class",
            "margin": "the smallest lead of the first class over the second",
            "margin-draw": "a random draw from five times as many of the smallest leads as are wanted; one question in "
            "five is put at random",
            "random": "any",
            "none": "never ask",
            BY_BUDGET: "the densest of every cluster while labels are few, then as margin-draw; no copies, but of a "
            "table's rows when nothing else is left; one question in ten at random, more while a class was hardly met",
            "batch-bald": "the batch whose labels together tell most about the weights, up to 20 at a time; no copies",
            "badge": "k-means++ on the last layer's gradients: doubtful and unlike; no copies",
            "regional": "whoever lies amid most doubt, one by one; no copies; one question in five is put at random",
        },
        code=True,
        written=(OWN,),
    )
    quantile: float = setting(
        0.9, "quantile of the pool's entropy that above-quantile asks above", at_least=0, below=1, share=True
    )
    admit: str = setting(
        "all-data",
        "which pseudo-labels are trained on",
        choices={
            "all-data": "every unlabelled sample, with its current guess",
            "step-wise": "those whose entropy is below theta, the mean entropy of the known labels; once in, a sample "
            "stays in and its guess is refreshed",
            "confident": "those whose mean probability is above `confidence`, as long as it is",
            WEIGHED: "all samples of the pool, as far as known labels that were kept back bear out what they teach; "
            "with the model `linear`",
            "none": "no guess, known labels only",
        },
        code=True,
        written=(OWN,),
    )
    confidence: float = setting(
        0.9, "mean probability above which admit = confident lets a guess in", at_least=0, below=1, share=True
    )
    teacher: float = setting(
        0.0,
        "decay of the moving average of the network's weights that guesses and predictions come from; 0 is none, the "
        "network itself",
        more="with it, what is trained on is shown as `views` says, and guesses count as far as known labels that were "
        "kept from them say that they help; see [the method](method.md#pictures-from-pixels)",
        at_least=0,
        below=1,
    )
    views: str = setting(
        "strong",
        "how pictures are shown to a network that has a teacher",
        choices={
            "strong": "shifted, turned, stretched, sheared, with a hole, lighter or darker, each time anew",
            "mirrored": "and left and right swapped every other time",
            "plain": "as they are",
        },
    )
    advice: str = setting(
        "none",
        "who makes guesses about pictures together with a network that has a teacher",
        more="what is advised on is up to 6,000 samples of the pool; the model that is saved needs no advice; see [the "
        "method](method.md#advice)",
        choices={
            "none": "nobody",
            "imagenet": "a linear head on what a network that knows photographs sees of them",
            "auto": "the same, where such a network is installed",
        },
    )
    neighbours: str = setting(
        "pixels",
        "what pictures have in common with their neighbours, where a network has a teacher: by it typical ones are "
        "found and first guesses made",
        more="see [the method](method.md#neighbours)",
        choices={
            "pixels": "their pixels",
            "self-taught": "what a network sees in them that taught itself, without a label, to know a picture again "
            "that is shown otherwise; first guesses are made by pixels, too",
            "auto": "the same, where there are 500 pictures of 12 pixels or more",
        },
    )
    guesses: int | None = setting(
        None,
        "guesses that an epoch of a network with a teacher has at most, drawn anew each time",
        at_least=1,
        shown="all",
    )
    shown: int | None = setting(
        None,
        "presentations of known labels that an epoch of a network with a teacher has at most, drawn anew each time",
        more="the labelling page has 1,000, so that an epoch takes no longer when there are many",
        at_least=1,
        shown="all",
    )
    stop: str = setting(
        "iterations",
        "when the run is over, `iterations` being the limit",
        more="see [the method](method.md#when-to-stop); a rule of your own may end it sooner, see "
        "[parts of your own](own-parts.md)",
        choices={
            "iterations": "after `iterations`",
            "budget": "as soon as every label that may be asked for was",
            "settled": "when the last 50 labels or more changed next to no prediction of the pool",
            GAIN: "when 50 more labels are expected to lower the error by less than 0.25 points",
            "target": "when labels that were kept back show an error below `target_error`",
        },
        code=True,
        written=(OWN,),
    )
    target_error: float | None = setting(
        None,
        "error that is good enough for stop = target; with settled, a quarter of it is how far guesses may still move",
        above=0,
        below=1,
        share=True,
        shown="none",
    )
    passes_pool: int = setting(
        10,
        "T': dropout passes over the pool; 0 is one pass with dropout off",
        at_least=0,
        at_most=MOST_PASSES,
    )
    passes_known: int = setting(
        100,
        "T: dropout passes over the known labels; 0 is one pass with dropout off",
        at_least=0,
        at_most=MOST_PASSES,
    )
    predict_passes: int = setting(
        0,
        "dropout passes that a prediction is the mean of, also where the model is judged; 0 is one with dropout off",
        more="the labelling page has 30; see [predictions](predict.md)",
        at_least=0,
        at_most=MOST_PASSES,
    )
    early_exit: bool = setting(
        True,
        "spare a sample the passes over the pool that could not change a decision",
        more="see [the method](method.md#early-exit)",
    )
    copies: int = setting(20, "how often a known label is presented for each time a guess is", at_least=1)
    rotate: float = setting(
        0.0,
        "degrees: an image whose label is known is trained on turned by less than this, each time anew",
        more="the paper's remark on augmentation has 10",
        at_least=0,
        below=180,
    )
    stretch: float = setting(
        0.0,
        "share: and with its height and width scaled, each by its own factor from 1 - stretch to 1 + stretch",
        more="the remark has 0.05",
        at_least=0,
        below=1,
        share=True,
    )
    initial_epochs: int = setting(100, "epochs over the copied known labels before the first iteration", at_least=0)
    epochs: int = setting(1, "epochs in every iteration", at_least=1)

    model: str = setting(
        "auto",
        "the network",
        more="your own is named as `file.py:function` or `package.module:function`, which is called with (sample "
        "shape, number of classes); see [what is safe to open](security.md)",
        choices={
            "auto": "linear on computed features, cnn for images, else mlp",
            "cnn": "the paper's, for images",
            "small-cnn": "for images: as quick, but with its dropout behind the pooling",
            "mlp": "the paper's, for all else",
            "linear": "one layer, solved to its optimum with a penalty chosen by cross-validation; made for features",
        },
        code=True,
        written=(OWN,),
        group="The network",
    )
    learner: str = setting(
        "auto",
        "what trains and asks the network",
        more="your own is a subclass of `deepbass.LocalLearner`, see [parts of your own](own-parts.md#a-learner)",
        choices={"auto": "a linear head is solved, another network trained, with a teacher if there is to be one"},
        code=True,
        written=(OWN,),
    )
    dropout: float = setting(0.33, "dropout rate of the built-in models", at_least=0, below=1, share=True)
    batch_size: int = setting(256, "samples that are trained on at a time", at_least=1)
    infer_batch: int = setting(
        256, "samples that torch infers at a time", more="the kernel takes them one by one", at_least=1
    )
    learning_rate: float = setting(1e-3, "the optimiser's learning rate, where it is one by name", above=0)
    l2: float = setting(
        1e-3,
        "lambda in the penalty lambda * sum(w^2) on kernels",
        more="biases and normalisation layers have none",
        at_least=0,
    )
    optimizer: str = setting(
        "adam",
        "what changes the weights of a network",
        more="your own is a function of the weights that returns a `torch.optim.Optimizer`; see [parts of your "
        "own](own-parts.md#optimiser-schedule-loss)",
        choices={
            "adam": "as in the paper",
            "adamw": "Adam with decoupled weight decay",
            "sgd": "with Nesterov's momentum of 0.9",
        },
        code=True,
        written=(OWN,),
    )
    schedule: str = setting(
        "constant",
        "how the learning rate changes from epoch to epoch",
        more="your own is a function of the optimiser that returns an `LRScheduler` of torch",
        choices={"constant": "it stays"},
        code=True,
        written=(OWN,),
    )
    loss: str = setting(
        "cross-entropy",
        "what a network is trained to make small",
        more="your own is a function of (logits, classes), and torch runs the network then",
        choices={"cross-entropy": "equation 1 of the paper"},
        code=True,
        written=(OWN,),
    )
    device: str = setting(
        "auto",
        "what the network runs on",
        more="`cuda:1` is the second of several",
        choices={"auto": "cuda, else mps, else cpu", "cpu": "", "cuda": "", "mps": ""},
        numbered=True,
        meant={"gpu": "cuda", "nvidia": "cuda", "metal": "mps"},
    )
    kernel: str = setting(
        "auto",
        "whether compiled code runs the network",
        choices={
            "auto": "a plain chain of convolutions and linear layers runs through the compiled kernel, on the CPU and "
            "where it was built",
            "off": "torch runs everything",
        },
    )
    masks: str = setting(
        "shared",
        "dropout masks of Monte-Carlo inference by torch",
        more="the kernel gives every sample its own; see [the method](method.md#shared-masks)",
        choices={
            "shared": "one mask for a chunk of samples and a pass",
            "fresh": "one for every sample and pass, without early exit",
        },
    )

    pool: int | None = setting(
        None,
        "use only so many training samples, drawn by seed, every class keeping its share",
        at_least=2,
        shown="all",
        group="The data",
    )
    validation: float = setting(
        0.2,
        "share held out, by seed and class, where the data brings no validation part",
        above=0,
        below=1,
        share=True,
        shown="20%",
    )
    features: str = setting(
        "auto",
        "how a sample becomes what the network sees",
        more="computed once and kept; your own is named as `file.py:function` or `package.module:function`; see "
        "[features](features.md)",
        choices={
            "auto": "by the data, and by what is installed; it says what it chose",
            "pixels": "the picture itself, or the numbers of an array",
            "imagenet": "a network that has seen a million photographs",
            "imagenet-depths": "the same, and what it sees on the way",
            "sentences": "a language model's view of a text",
            "words": "which words a text has, and how rare they are",
            "sentences-words": "both",
            "table": "numbers scaled, categories spread out, what is missing filled in",
            "series": "numbers over time, on one scale and in windows, and how they run",
        },
        code=True,
    )
    text: str | None = setting(None, "column of a table that holds the texts to learn from")
    target: str | None = setting(None, "column of a table that holds the labels", shown="label")
    id: str | None = setting(
        None,
        "column of a table that names its rows, each once",
        more="then rows keep their names when the file is sorted or grows in the middle; see [data](data.md)",
        shown="by their place",
    )
    image_size: int | None = setting(
        None, "side in pixels that images of a folder or table are resized to", at_least=2, shown="chosen"
    )
    colour: str = setting(
        "auto",
        "whether images are read in colour",
        choices={"auto": "colour when any image has it", "grey": "", "colour": ""},
    )
    strict: bool = setting(False, "refuse unreadable images instead of naming and skipping them")

    oracle: str = setting(
        "simulated",
        "who answers",
        choices={"simulated": "the data's own labels", "replay": "an earlier run's answers"},
        written=(OWN, PEOPLE),
        group="Who answers",
    )
    oracle_error: float = setting(
        0.0, "share of wrong answers of the simulated oracle", at_least=0, below=1, share=True
    )
    replay: str | None = setting(None, "the run directory whose answers are repeated")

    keep_checkpoints: int = setting(
        2,
        "newest checkpoints kept",
        more="two, so that a damaged one has a forerunner",
        at_least=2,
        group="What lasts",
    )

    def __post_init__(self) -> None:
        for name, (each, _) in settings_of(type(self)).items():
            if each.code and isinstance(given := getattr(self, name), str):
                object.__setattr__(self, name, each.understood(name, given))
        check_settings(self)
        if self.budget is not None and self.budget < self.initial:
            raise ConfigError(
                f"budget = {self.budget} labels in all are fewer than the initial = {self.initial}: raise the budget."
            )
        if self.stop == "target" and self.target_error is None:
            raise ConfigError('stop = "target" takes a target_error, as in target_error = 0.02.')
        if (self.oracle == "replay") != (self.replay is not None):
            raise ConfigError('oracle = "replay" and replay = "RUN-DIRECTORY" go together: set both or neither.')

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Config:
        """Make a configuration from names and values; dashes in names count as underscores."""
        named = {name.replace("-", "_"): value for name, value in settings.items()}
        known = list(settings_of(cls))
        for name in named:
            one_of("setting", name, known, MEANT)
        return cls(**named)

    def as_dict(self) -> dict[str, Any]:
        """List all fields, ready for JSON or TOML."""
        return asdict(self)


class RunSettings(TypedDict, total=False):
    """The fields of `Config` that take a plain value, as keyword arguments: for editors and type checkers.

    The others (initial, start, acquire, admit, stop, model, learner, optimizer, schedule, loss, oracle) may be given as
    values of one's own, too.
    """

    seed: int
    initial_labels: str | None
    iterations: int
    ask_count: int
    ask_every: int
    budget: int | None
    quantile: float
    passes_pool: int
    passes_known: int
    predict_passes: int
    early_exit: bool
    confidence: float
    teacher: float
    views: str
    advice: str
    neighbours: str
    guesses: int | None
    shown: int | None
    target_error: float | None
    copies: int
    rotate: float
    stretch: float
    initial_epochs: int
    epochs: int
    dropout: float
    batch_size: int
    infer_batch: int
    learning_rate: float
    l2: float
    device: str
    kernel: str
    masks: str
    pool: int | None
    validation: float
    features: str
    text: str | None
    target: str | None
    id: str | None
    image_size: int | None
    colour: str
    strict: bool
    oracle_error: float
    replay: str | None
    keep_checkpoints: int
