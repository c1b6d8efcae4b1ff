"""What a belief is for, and so which samples need no further pass: exact early exit.

A sample is settled when no outcome of the passes left could change its pseudo-label, nor any other decision that the
belief is for. Then it may stop, and all decisions come out as after all passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from deepbass.core.belief import Bools, Floats, Partial
from deepbass.core.labels import Ids
from deepbass.core.score import ENTROPY, Score

# Probabilities come in single precision and sum to one within 1e-6, which moves an entropy by less than this. What is
# nearer than that to the edge of a decision stays open: it costs a pass, never a label.
SLACK = 1e-5


class Decision(Protocol):
    """Something that a belief decides about samples."""

    def open(self, partial: Partial) -> Bools:
        """Tell of each row whether passes that are left could change the decision."""


@dataclass(frozen=True, eq=False)
class Below:
    """Decides which of some samples have an entropy below a threshold.

    The passes left might repeat the mean so far, so the entropy of that mean lies within the bounds, too: once these
    are on one side of the threshold, so is the entropy as it stands.
    """

    ids: Ids
    threshold: float

    def open(self, partial: Partial) -> Bools:
        """Tell which rows may still end up on either side."""
        open_N = np.isin(partial.ids, self.ids)
        # not "<=": a threshold that is not a number settles nothing
        open_N[open_N] = ~(ENTROPY.lowest(partial.at(open_N)) > self.threshold + SLACK)
        open_N[open_N] = ~(ENTROPY.highest(partial.at(open_N)) < self.threshold - SLACK)
        return open_N


@dataclass(frozen=True, eq=False)
class Highest:
    """Decides which of some samples have the highest scores, and their order, among those that make all passes."""

    ids: Ids
    count: int
    score: Score

    def open(self, partial: Partial) -> Bools:
        """Tell which rows may still be among the highest: their order needs all of their passes."""
        open_N = np.isin(partial.ids, self.ids)
        rivals = partial.at(open_N)
        lowest_R = self.score.lowest(rivals)
        # so many samples are sure to reach the bar, whoever they will be; those out already are all below it
        bar = _bar(lowest_R, self.count)
        out_R = lowest_R < bar
        out_R[out_R] = self.score.highest(rivals.at(out_R)) < bar - SLACK
        open_N[open_N] = ~out_R
        return open_N


@dataclass(frozen=True, eq=False)
class Need:
    """What a belief is for: the guesses, always, and further decisions; or everything, to the last pass."""

    decisions: tuple[Decision, ...] = ()
    everything: bool = False

    def __and__(self, other: Need) -> Need:
        """Join two needs."""
        return Need((*self.decisions, *other.decisions), self.everything or other.everything)

    def open(self, partial: Partial) -> Bools:
        """Tell which rows need a further pass."""
        if self.everything:
            return partial.left > 0
        # a pass moves two classes apart or together by one at most
        open_N = ~(partial.lead > partial.left + SLACK * partial.passes)
        for decision in self.decisions:
            open_N |= decision.open(partial)
        return open_N & (partial.left > 0)


GUESSES = Need()
EVERYTHING = Need(everything=True)


def _bar(lowest_R: Floats, count: int) -> float:
    """Find the ``count``-th highest value: nobody reaches the bar of no places, all reach that of enough places."""
    if count == 0:
        return np.inf
    return float(np.partition(lowest_R, -count)[-count]) if count < len(lowest_R) else -np.inf
