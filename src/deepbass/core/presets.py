"""Named settings: the paper's, to the letter, and what suits the data at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deepbass.core.config import BY_BUDGET, WEIGHED, Config, one_of

# What differs from Config's defaults, which are the paper's MNIST experiment.
_PAPER: dict[str, dict[str, Any]] = {
    "toy": {"initial": 8, "iterations": 72, "ask_count": 2, "ask_every": 2, "admit": "step-wise"},
}

# For computed features: typical samples first, then doubtful ones; the pool teaches as far as evidence bears it out.
_ON_FEATURES: dict[str, Any] = {
    "start": "typical",
    "ask_every": 1,
    "acquire": BY_BUDGET,
    "admit": WEIGHED,
    "passes_pool": 0,
    "passes_known": 0,
}
_FIRST_ON_FEATURES = 10  # labels: what follows hangs on which classes they show
_MOST_ASKINGS = 30  # iterations in which labels are asked for: with larger budgets more at a time

AUTO = "auto"  # the paper's settings, and on features and pictures others
PRESETS = (AUTO, "paper")

_LABELS = 300  # in all, where no budget is given

# For pictures that stay pixels: a teacher and a student. docs/method.md has what was tried.
_ITERATIONS = 30  # of a small pool; a large one takes longer to look at, and has fewer: all take about as long
_LOOKS = 4_000_000  # at a sample, in all iterations; to learn from one takes as long as a few looks
_LOOKS_TO_LEARN = 130_000  # that the training in an iteration takes as long as
_FEWEST_ITERATIONS = 10
_FEW = 40  # labels of which each has to settle a whole neighbourhood
_KNOWN = 6_000  # presentations of known labels in an epoch
_FIRST = 60_000  # in the initial training
_GUESSES = 12_000  # in an epoch, of pictures of 28 x 28 pixels; of larger ones fewer
_SHOWN_ON_PAGE, _GUESSES_ON_PAGE = 1_000, 1_500  # presentations of both in an epoch, where people wait for it
_FIRST_ON_PAGE = 12  # epochs before the first ranking
_ON_PICTURES: dict[str, Any] = {
    "confidence": 0.95,
    "start": "typical",
    "ask_every": 1,
    "acquire": "margin-draw",
    "admit": "confident",
    "passes_pool": 0,
    "passes_known": 0,
    "model": "small-cnn",
    "teacher": 0.99,
    "advice": "auto",
    "neighbours": "auto",
    "batch_size": 64,
    "learning_rate": 2e-3,
    "l2": 1e-4,
}


def preset(name: str, data: str, budget: int | None = None) -> dict[str, Any]:
    """Look up the settings of a preset for a data set; those of auto keep to a budget of labels."""
    one_of("preset", name, PRESETS)
    paper = _PAPER.get(data, {})
    if name == AUTO:
        return _spending(paper, budget)
    return {"features": "pixels", **paper}


def suited(features: str, shape: tuple[int, ...], samples: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """Look up what the preset auto adds once it is known what the network sees, and what the user has ``given``."""
    model = given.get("model", "auto")
    # columns of numbers are features, too; but two of them are a plane, on which a line is a poor cut
    columns = features == "pixels" and len(shape) == 1 and shape[0] > 2 and model in ("auto", "linear")
    if features != "pixels" or columns:
        fitting = on_features(samples, given.get("budget"), given.get("initial"), given.get("ask_count"))
        # what is believed is the head's to weigh; a network of one's own would learn every guess
        believes = {} if model in ("auto", "linear") else {"admit": "none"}
        return {**fitting, **believes, **({"model": "linear"} if columns else {})}
    if not for_pixels(shape, given):
        return {}
    return on_pictures(shape, samples, given.get("budget"), given.get("initial"), given.get("iterations"))


def _spending(settings: dict[str, Any], budget: int | None) -> dict[str, Any]:
    """Begin with no more labels than there are to be, and go on until all of them could be asked for."""
    if budget is None:
        return settings
    standard = Config()
    initial, count, every, iterations = (
        settings.get(name, getattr(standard, name)) for name in ("initial", "ask_count", "ask_every", "iterations")
    )
    askings = -(-max(0, budget - initial) // count)
    return {**settings, "initial": min(initial, budget), "iterations": max(iterations, askings * every)}


def on_features(samples: int, budget: int | None, initial: int | None, at_a_time: int | None) -> dict[str, Any]:
    """Fit the settings for features to the labels that may be had; a budget that was named is spent."""
    stop = "settled" if budget is None else "iterations"
    budget = min(budget or max(_LABELS, initial or 0), samples)
    initial = min(initial or _FIRST_ON_FEATURES, budget)
    at_a_time = at_a_time or max(10, -(-(budget - initial) // _MOST_ASKINGS))
    return {
        **_ON_FEATURES,
        "stop": stop,
        "budget": budget,
        "initial": initial,
        "ask_count": at_a_time,
        "iterations": max(1, -(-(budget - initial) // at_a_time)),  # the pool is learned from in the first
    }


def on_pictures(
    shape: tuple[int, ...], samples: int, budget: int | None, initial: int | None, iterations: int | None
) -> dict[str, Any]:
    """Fit the settings for pictures to their size and number, and to the labels that may be had."""
    iterations = in_time(samples) if iterations is None else iterations
    budget = min(budget or max(_LABELS, initial or 0), samples)
    initial = min(initial or first_labels(budget), budget)
    asking = max(1, iterations // 2)  # iterations in which questions are asked: later answers would teach too little
    return {
        **_ON_PICTURES,
        **({"acquire": "regional"} if budget <= _FEW else {}),
        "budget": budget,
        "initial": initial,
        "ask_count": max(1, -(-(budget - initial) // asking)),
        "iterations": iterations,
        "copies": max(1, _KNOWN // budget),
        "initial_epochs": max(1, _FIRST // (max(1, _KNOWN // budget) * initial)),
        "guesses": max(1_000, _GUESSES * 28 * 28 // (shape[1] * shape[2])),
    }


def in_time(samples: int) -> int:
    """Tell in how many iterations a network on a pool of so many pictures takes as long as on any other."""
    return max(_FEWEST_ITERATIONS, min(_ITERATIONS, _LOOKS // (_LOOKS_TO_LEARN + samples)))


def on_page(shape: tuple[int, ...]) -> dict[str, Any]:
    """Fit the settings for pictures to a page on which people wait: the same network, in epochs of a second or two."""
    smaller = 28 * 28 / (shape[1] * shape[2])
    return {
        **{name: value for name, value in _ON_PICTURES.items() if name not in ("start", "ask_every")},
        "advice": "none",  # what it is made of takes a minute to compute
        "neighbours": "pixels",  # and the others twenty seconds, which did no good there
        "shown": max(200, round(_SHOWN_ON_PAGE * min(1.0, smaller))),
        "guesses": max(200, round(_GUESSES_ON_PAGE * min(1.0, smaller))),
        "copies": 50,  # as often as fits into what is shown
        "initial_epochs": _FIRST_ON_PAGE,
        "predict_passes": 0,  # what is asked is the mean of many networks already
    }


def for_pixels(shape: tuple[int, ...], given: Mapping[str, Any]) -> bool:
    """Tell whether samples are pictures that a teacher and a student are for, unless the user wants another network."""
    papers_own = given.get("rotate") or given.get("stretch")  # its augmentation, in which pictures have no other views
    taken = given.get("model", "auto") in ("auto", "small-cnn")
    return len(shape) == 3 and min(shape[1:]) >= 8 and taken and not papers_own


def first_labels(budget: int) -> int:
    """Tell how many labels of a budget the first ones are: half of a few, a third of many."""
    return max(1, budget // 2) if budget <= _FEW else max(20, budget // 3)
