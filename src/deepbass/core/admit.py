"""Which pseudo-labels enter D (line 6 of Algorithm 1), by name."""

from __future__ import annotations

from collections.abc import Callable

from deepbass.core.belief import Belief
from deepbass.core.labels import UNKNOWN, Labels

Admit = Callable[[Belief, float, Labels], Labels]


def all_data(belief: Belief, threshold: float, labels: Labels) -> Labels:
    """Let every sample in, however unsure: the paper's theta = 1."""
    return labels.guessed(belief.ids, belief.guess)


def step_wise(belief: Belief, threshold: float, labels: Labels) -> Labels:
    """Let in what is below theta. Who was in stays in, with a refreshed guess."""
    inside = (belief.entropy < threshold) | (labels.guess[belief.ids] != UNKNOWN)
    return labels.guessed(belief.ids[inside], belief.guess[inside])


def none(belief: Belief, threshold: float, labels: Labels) -> Labels:
    """Let nothing in: training sees known labels only."""
    return labels.guessed(belief.ids[:0], belief.guess[:0])


ADMIT: dict[str, Admit] = {"all-data": all_data, "step-wise": step_wise, "none": none}
