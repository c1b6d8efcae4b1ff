"""Named settings: the paper's, to the letter, a quick one for a first look, and what suits the data at hand."""

from __future__ import annotations

from typing import Any

from deepbass.core.config import Config, one_of

# What differs from Config's defaults, which are the paper's MNIST experiment.
_PAPER: dict[str, dict[str, Any]] = {
    "toy": {"initial": 8, "iterations": 72, "ask_count": 2, "ask_every": 2, "admit": "step-wise"},
}

# Chosen by experiments/quick_preset.py; docs/method.md says what it trades away.
_QUICK: dict[str, Any] = {
    "pool": 12_000,
    "iterations": 100,
    "ask_every": 5,
    "passes_pool": 3,
    "passes_known": 20,
    "initial_epochs": 50,
}

# For computed features: as many labels in the end as in the paper's MNIST experiment, but typical ones at the start.
_ON_FEATURES: dict[str, Any] = {
    "start": "typical",
    "initial": 50,
    "iterations": 25,
    "ask_every": 1,
    "acquire": "margin",
    "admit": "none",
    "passes_known": 10,
}

AUTO = "auto"  # the paper's settings, and on features others
PRESETS = (AUTO, "paper", "quick")


def preset(name: str, data: str, budget: int | None = None) -> dict[str, Any]:
    """Look up the settings of a preset for a data set, and for as many labels in all; the paper's know of no budget."""
    one_of("preset", name, PRESETS)
    paper = _PAPER.get(data, {})
    return {
        AUTO: _spending(paper, budget),
        "paper": {"features": "pixels", **paper},
        "quick": {"features": "pixels", **_QUICK, **paper},
    }[name]


def suited(features: str, budget: int | None = None) -> dict[str, Any]:
    """Look up what the preset auto adds once it is known what the network sees."""
    return {} if features == "pixels" else _spending(_ON_FEATURES, budget)


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
