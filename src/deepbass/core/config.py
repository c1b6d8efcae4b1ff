"""The configuration: one frozen dataclass. The defaults are the paper's MNIST experiment."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from deepbass.core.acquire import ACQUIRE
from deepbass.core.admit import ADMIT
from deepbass.core.errors import ConfigError

DEVICES = ("auto", "cpu", "cuda", "mps")
MASKS = ("shared", "fresh")
KERNELS = ("auto", "off")
MOST_PASSES = 65_535  # votes are counted in 16 bits
ORACLES = ("simulated", "people", "replay")
COLOURS = ("auto", "grey", "colour")


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything that decides how a run goes. Wrong values are refused here, not deep in a run."""

    # the method
    seed: int = 0  # every random draw of the run derives from it
    initial: int = 100  # labels known at the start, the same number for every class, or all that there are
    iterations: int = 200  # of Algorithm 1
    ask_count: int = 10  # labels asked for at a time
    ask_every: int = 10  # iterations from one asking to the next; the first iteration asks
    budget: int | None = None  # labels in all, initial ones included, after which none are asked for
    acquire: str = "max-entropy"  # which samples to ask for
    quantile: float = 0.9  # of the pool's entropy, for acquire = "above-quantile"
    admit: str = "all-data"  # which pseudo-labels are trained on
    passes_pool: int = 10  # T': dropout passes over the pool; 0 = one pass with dropout off
    passes_known: int = 100  # T: dropout passes over the known labels; 0 = one pass with dropout off
    early_exit: bool = True  # spare a sample the passes that cannot change a decision; no label depends on it
    copies: int = 20  # how often a known label is presented for each time a guess is
    rotate: float = 0.0  # degrees: an image of a known label is trained on turned by less than this, each time anew
    stretch: float = 0.0  # share: and its height and width scaled, each by a factor from 1 - stretch to 1 + stretch
    initial_epochs: int = 100  # over the copied known labels, before the first iteration
    epochs: int = 1  # in every iteration

    # the network
    model: str = "auto"  # auto, cnn, mlp, or your own: "file.py:function" or "package.module:function"
    dropout: float = 0.33  # rate of the built-in models
    batch_size: int = 256  # for training
    infer_batch: int = 256  # samples that torch infers at a time
    learning_rate: float = 1e-3  # Adam's
    l2: float = 1e-3  # lambda in the penalty lambda * sum(w^2) on kernels
    device: str = "auto"  # auto takes cuda, then mps, then cpu
    kernel: str = "auto"  # "auto": compiled passes where the model is a plain chain; "off": torch for all
    masks: str = "shared"  # MC inference by torch: one mask a chunk and pass ("shared") or one a sample ("fresh")

    # the data
    pool: int | None = None  # use only so many training samples, drawn by seed, every class keeping its share
    validation: float = 0.2  # share held out when the data brings no validation part
    image_size: int | None = None  # side in pixels that folder images are resized to; None: chosen from the images
    colour: str = "auto"  # grey, colour, or auto: colour when any image has it
    strict: bool = False  # refuse unreadable images instead of naming and skipping them

    # who answers
    oracle: str = "simulated"  # simulated: from the data's labels; people: from the store; replay: an earlier run
    oracle_error: float = 0.0  # share of wrong answers of the simulated oracle
    replay: str | None = None  # the run directory whose answers are replayed

    # what lasts
    keep_checkpoints: int = 2  # newest ones kept; at least two, so that a damaged one has a forerunner

    def __post_init__(self) -> None:
        for field in fields(self):
            _check_type(field.name, str(field.type), getattr(self, field.name))
        for name in ("acquire", "admit"):  # max_entropy is understood as max-entropy
            object.__setattr__(self, name, getattr(self, name).replace("_", "-"))
        one_of("acquire", self.acquire, ACQUIRE)
        one_of("admit", self.admit, ADMIT)
        one_of("device", self.device, DEVICES)
        one_of("masks", self.masks, MASKS)
        one_of("kernel", self.kernel, KERNELS)
        one_of("oracle", self.oracle, ORACLES)
        one_of("colour", self.colour, COLOURS)
        for name in ("initial", "ask_count", "ask_every", "copies", "epochs", "batch_size", "infer_batch"):
            _at_least(name, getattr(self, name), 1)
        for name in ("seed", "iterations", "passes_pool", "passes_known", "initial_epochs", "l2"):
            _at_least(name, getattr(self, name), 0)
        for name in ("pool", "image_size"):
            if getattr(self, name) is not None:
                _at_least(name, getattr(self, name), 2)
        _at_most("passes_pool", self.passes_pool, MOST_PASSES)
        _at_most("passes_known", self.passes_known, MOST_PASSES)
        if self.budget is not None and self.budget < self.initial:
            raise ConfigError(
                f"budget = {self.budget} labels in all are fewer than the initial = {self.initial}: raise the budget."
            )
        _at_least("keep_checkpoints", self.keep_checkpoints, 2)
        for name in ("quantile", "dropout", "oracle_error", "stretch"):
            _between(name, getattr(self, name), 0.0, 1.0)
        _between("rotate", self.rotate, 0.0, 180.0)
        if not 0.0 < self.validation < 1.0:
            raise ConfigError(f"validation = {self.validation} must lie between 0 and 1, as in 0.2 or 20%.")
        if not self.learning_rate > 0:
            raise ConfigError(f"learning_rate = {self.learning_rate} must be above 0.")
        if (self.oracle == "replay") != (self.replay is not None):
            raise ConfigError('oracle = "replay" and replay = "RUN-DIRECTORY" go together: set both or neither.')

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Config:
        """Make a configuration from names and values; dashes in names count as underscores."""
        named = {name.replace("-", "_"): value for name, value in settings.items()}
        known = [field.name for field in fields(cls)]
        for name in named:
            one_of("setting", name, known)
        return cls(**named)

    def as_dict(self) -> dict[str, Any]:
        """List all fields, ready for JSON or TOML."""
        return asdict(self)


def one_of(what: str, given: str, allowed: Iterable[str]) -> None:
    """Refuse a name that is not among those allowed, and suggest the nearest."""
    allowed = list(allowed)
    if given in allowed:
        return
    near = difflib.get_close_matches(given, allowed, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ConfigError(f"Unknown {what} {given!r}.{hint} Choose one of: {', '.join(allowed)}.")


def _at_least(name: str, value: float, lowest: int) -> None:
    if not value >= lowest:
        raise ConfigError(f"{name} = {value} is too small: it must be {lowest} or more.")


def _at_most(name: str, value: int, highest: int) -> None:
    if value > highest:
        raise ConfigError(f"{name} = {value} is too large: it must be {highest} or less.")


def _between(name: str, value: float, low: float, high: float) -> None:
    if not low <= value < high:
        raise ConfigError(f"{name} = {value} must be at least {low:g} and below {high:g}.")


def _check_type(name: str, declared: str, value: object) -> None:
    """Refuse what a TOML file or a caller got wrong, such as a quoted number."""
    kinds = {"int": int, "float": float, "str": str, "bool": bool, "None": type(None)}
    allowed = tuple(kinds[part.strip()] for part in declared.split("|"))
    if isinstance(value, bool) and bool not in allowed:
        allowed = ()
    if float in allowed:
        allowed = (*allowed, int)
    if not isinstance(value, allowed):
        raise ConfigError(f"{name} = {value!r} must be {declared.replace('None', 'left out')}.")
