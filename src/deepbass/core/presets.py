"""Named settings: the paper's, to the letter, and a quick one for a first look."""

from __future__ import annotations

from typing import Any

from deepbass.core.config import one_of

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

PRESETS = ("paper", "quick")


def preset(name: str, data: str) -> dict[str, Any]:
    """Look up the settings of a preset for a data set."""
    one_of("preset", name, PRESETS)
    paper = _PAPER.get(data, {})
    return paper if name == "paper" else {**_QUICK, **paper}
