"""The methods that are compared: each a name, what it does, and for our own the settings of its runs."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from deepbass.core.errors import ConfigError
from deepbass.core.presets import AUTO
from deepbass.core.presets import preset as look_up

OURS = "deepbass"
PLAIN = ("logistic-regression", "supervised")  # the better of them, by mean, is what we are held against
SMALL_POOL = 2_000  # samples up to which the paper's preset is quick enough to be compared unasked

# what says which data there is, and what it is computed on: the same for every method
DATA_SETTINGS = (
    "pool", "validation", "features", "text", "target", "image_size", "colour", "strict", "device", "kernel",
)  # fmt: skip
SET_HERE = ("budget", "initial_labels", "oracle", "oracle_error", "replay", "stop", "seed")  # not for users to set

_PRESENTATIONS = 400_000  # of labels, copies included, that a supervised training is made of
_COPIES, _MOST_EPOCHS, _FEWEST_EPOCHS = 20, 100, 10  # copies and epochs as in the paper, while labels are few

Settings = Callable[[int, Mapping[str, Any], Mapping[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class ComparedMethod:
    """One of the methods; without settings it is scikit-learn's, see plain_models.py."""

    name: str
    about: str
    settings: Settings | None = None  # of a run: by number of labels, what the user set, and what the data is
    preset: str = AUTO
    every_label: bool = False  # trained on all labels of the pool, whatever the budget
    every_class: bool = False  # begins with labels of every class, and so cannot do with fewer

    @property
    def asks(self) -> bool:
        """Tell whether it chooses what is labelled; the others get labels drawn at random."""
        return self.name in (OURS, "random-questions", "paper")


def _supervised(labels: int, given: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    epochs = min(_MOST_EPOCHS, max(_FEWEST_EPOCHS, _PRESENTATIONS // (_COPIES * labels)))
    return {"initial_epochs": epochs, "copies": _COPIES, **_on_labels_alone(labels, given, data)}


def _all_labels(labels: int, given: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    epochs = min(_MOST_EPOCHS, max(_FEWEST_EPOCHS, _PRESENTATIONS // labels))
    return {"initial_epochs": epochs, **_on_labels_alone(labels, given, data), "copies": 1}


def _on_labels_alone(labels: int, given: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Train on labels drawn at random and on nothing else: no guesses, no questions."""
    only = {"start": "random", "initial": labels, "iterations": 0, "acquire": "none", "admit": "none"}
    return {**data, **given, **only}


def _ours(labels: int, given: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    return {**data, **given, "budget": labels, "stop": "iterations"}  # the same labels for all


def _random_questions(labels: int, given: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    return {**_ours(labels, given, data), "acquire": "random"}


def _paper(labels: int, given: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Begin with the paper's 100 labels, ask for ten every tenth iteration, and go on for 200 iterations or more."""
    initial = min(100, labels)
    return {**data, "initial": initial, "budget": labels, "iterations": max(200, labels - initial)}


_ALL = (
    ComparedMethod("commonest", "the class that is commonest among the labels, always"),
    ComparedMethod("logistic-regression", "scikit-learn's, its penalty and scaling chosen by cross-validation"),
    ComparedMethod("svm", "scikit-learn's SVC with Gaussian kernels, C and scaling chosen by cross-validation"),
    ComparedMethod("self-training", "scikit-learn's SelfTrainingClassifier around the same logistic regression"),
    ComparedMethod("label-spreading", "scikit-learn's LabelSpreading over nearest neighbours, by cross-validation"),
    ComparedMethod("supervised", "our network on random labels alone: no guesses, no questions", _supervised),
    ComparedMethod("random-questions", "the default with questions drawn at random", _random_questions),
    ComparedMethod("paper", "the paper's algorithm, on the same features", _paper, preset="paper", every_class=True),
    ComparedMethod(OURS, "the default: preset auto, with as many labels in all", _ours),
    ComparedMethod("all-labels", "our network on every label of the pool", _all_labels, every_label=True),
)
METHODS: dict[str, ComparedMethod] = {method.name: method for method in _ALL}


def choose_methods(words: Iterable[str], pool: int) -> list[ComparedMethod]:
    """Find methods by name; without any all of them, but the paper's only where the pool is small."""
    names = [name for word in words for name in word.replace(" ", ",").split(",") if name]
    for name in names:
        check_method(name)
    wanted = set(names) or {name for name in METHODS if name != "paper" or pool <= SMALL_POOL}
    return [method for method in _ALL if method.name in wanted]


def check_method(name: str) -> None:
    """Refuse a name that is none, and suggest the nearest."""
    if name not in METHODS:
        near = difflib.get_close_matches(name, METHODS, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"There is no method {name!r}.{hint} Choose from: {', '.join(METHODS)}.")


def run_settings(
    method: ComparedMethod, labels: int, source: str, settings: Mapping[str, Any], features: str
) -> dict[str, Any]:
    """Make the settings of a run of ours with so many labels in all, seed included."""
    assert method.settings is not None
    data = {name: value for name, value in settings.items() if name in (*DATA_SETTINGS, "seed")}
    given = {name: value for name, value in settings.items() if name not in data}
    made = method.settings(labels, given, data)
    if method.preset == "paper":
        start = look_up("paper", source).get("initial", made["initial"])
        made = {**made, "initial": min(start, made["initial"]), "features": settings.get("features", features)}
    return made
