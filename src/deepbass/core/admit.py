"""Which pseudo-labels enter D (line 6 of Algorithm 1), by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from deepbass.core.belief import Belief
from deepbass.core.config import WEIGHED
from deepbass.core.labels import UNKNOWN, Labels, short_ids
from deepbass.core.need import EVERYTHING, GUESSES, Below, Need, every_pass

Admission = Callable[[Belief, float, Labels], Labels]


@dataclass(frozen=True)
class Admit:
    """A rule, and what it needs to know of a belief, given the threshold and the labels: if not said, everything."""

    choose: Admission
    need: Callable[[float, Labels], Need] = lambda threshold, labels: EVERYTHING

    def __call__(self, belief: Belief, threshold: float, labels: Labels) -> Labels:
        """Replace the pseudo-labels by those that the rule lets in."""
        return self.choose(belief, threshold, labels)


def all_data(belief: Belief, threshold: float, labels: Labels) -> Labels:
    """Let every sample in, however unsure: the paper's theta = 1."""
    return labels.guessed(belief.ids, belief.guess)


def step_wise(belief: Belief, threshold: float, labels: Labels) -> Labels:
    """Let in what is below theta. Who was in stays in, with a refreshed guess."""
    inside = (belief.entropy < threshold) | (labels.guess[belief.ids] != UNKNOWN)
    return labels.guessed(belief.ids[inside], belief.guess[inside])


def confident(bar: float) -> Admit:
    """Make the rule that lets in guesses whose mean probability is above a bar; who falls below it is out again."""

    def rule(belief: Belief, threshold: float, labels: Labels) -> Labels:
        inside = belief.confidence > bar
        return labels.guessed(belief.ids[inside], belief.guess[inside])

    return Admit(rule, lambda threshold, labels: every_pass())


def none(belief: Belief, threshold: float, labels: Labels) -> Labels:
    """Let nothing in: training sees known labels only."""
    return labels.guessed(belief.ids[:0], belief.guess[:0])


def _outside_below(threshold: float, labels: Labels) -> Need:
    """Need the threshold's word on who is not in yet; of who is in, and stays in, the guess alone."""
    outside = short_ids((labels.answer == UNKNOWN) & (labels.guess == UNKNOWN))
    return Need((Below(outside, threshold),), reads=frozenset())


ADMIT: dict[str, Admit] = {
    "all-data": Admit(all_data, lambda threshold, labels: GUESSES),
    "step-wise": Admit(step_wise, _outside_below),
    "confident": confident(0.9),
    WEIGHED: Admit(all_data, lambda threshold, labels: GUESSES),  # how much they count is the learner's to find out
    "none": Admit(none, lambda threshold, labels: GUESSES),
}


def admission(name: str, confidence: float) -> Admit:
    """Look up a rule; that of confident guesses with a bar of the user's choice."""
    return confident(confidence) if name == "confident" else ADMIT[name]
