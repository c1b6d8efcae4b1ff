"""What a belief is for, and so which samples need no further pass: exact early exit.

A sample is settled when no outcome of the passes left could change its pseudo-label, nor any other decision that the
belief is for. Then it may stop, and all decisions come out as after all passes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from deepbass.core.belief import ROWS, Bools, Floats, Partial
from deepbass.core.labels import Ids
from deepbass.core.score import ENTROPY, Score

# Probabilities come in single precision and sum to one within 1e-6, which moves an entropy by less than this. What is
# nearer than that to the edge of a decision stays open: it costs a pass, never a label.
SLACK = 1e-5


class Decision(Protocol):
    """Something that a belief decides about samples."""

    def open(self, partial: Partial) -> Bools:
        """Tell of each row whether passes that are left could change the decision."""


@runtime_checkable
class _Divisible(Decision, Protocol):
    """A decision that can leave other slabs out."""

    def within(self, slab: range) -> Decision:
        """Leave out samples outside of a slab."""


@dataclass(frozen=True, eq=False)
class Below:
    """Decides which of some samples have an entropy below a threshold.

    The passes left might repeat the mean so far, so the entropy of that mean lies within the bounds, too: once these
    are on one side of the threshold, so is the entropy as it stands.
    """

    ids: Ids  # in order, so that those of a slab are found at once
    threshold: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", _in_order(self.ids))

    def open(self, partial: Partial) -> Bools:
        """Tell which rows may still end up on either side."""
        open_N = np.isin(partial.ids, self.ids)
        # not "<=": a threshold that is not a number settles nothing
        open_N[open_N] = ~(ENTROPY.lowest(partial.at(open_N)) > self.threshold + SLACK)
        open_N[open_N] = ~(ENTROPY.highest(partial.at(open_N)) < self.threshold - SLACK)
        return open_N

    def within(self, slab: range) -> Decision:
        """Leave out other samples."""
        return replace(self, ids=_inside(self.ids, slab))


@dataclass(frozen=True, eq=False)
class Highest:
    """Decides which of some samples have the highest scores, and their order, among those that make all passes."""

    ids: Ids  # in order, so that those of a slab are found at once
    count: int
    score: Score

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", _in_order(self.ids))

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

    def within(self, slab: range) -> Decision:
        """Leave out other samples: who is among the highest of all is among the highest of a slab."""
        return replace(self, ids=_inside(self.ids, slab))


@dataclass(frozen=True, eq=False)
class Need:
    """What a belief is for: the guesses, always, and further decisions; or everything, to the last pass.

    ``reads`` names what is read of the belief beside guesses, passes, entropies and confidences: of a large pool
    nothing else is held. Who does not say so is given all probabilities.
    """

    decisions: tuple[Decision, ...] = ()
    everything: bool = False
    reads: frozenset[str] = frozenset({ROWS})

    def __and__(self, other: Need) -> Need:
        """Join two needs."""
        decisions = (*self.decisions, *other.decisions)
        return Need(decisions, self.everything or other.everything, self.reads | other.reads)

    def open(self, partial: Partial) -> Bools:
        """Tell which rows need a further pass."""
        if self.everything:
            return partial.left > 0
        # a pass moves two classes apart or together by one at most
        open_N = ~(partial.lead > partial.left + SLACK * partial.passes)
        for decision in self.decisions:
            open_N |= decision.open(partial)
        return open_N & (partial.left > 0)

    def within(self, slab: range) -> Need:
        """Leave out what speaks of samples outside of a slab: the need of its own."""
        return replace(self, decisions=tuple(decision_within(decision, slab) for decision in self.decisions))


GUESSES = Need(reads=frozenset())
EVERYTHING = Need(everything=True)


def every_pass(*reads: str) -> Need:
    """Need all passes over all samples, but of the belief no more than some columns."""
    return Need(everything=True, reads=frozenset(reads))


def decision_within(decision: Decision, slab: range) -> Decision:
    """Leave samples of other slabs out of a decision; one that cannot tell them apart stays as it is."""
    return decision.within(slab) if isinstance(decision, _Divisible) else decision


def _in_order(ids: Ids) -> Ids:
    return ids if (ids[:-1] <= ids[1:]).all() else np.sort(ids)


def _inside(ids: Ids, slab: range) -> Ids:
    first, last = np.searchsorted(ids, (slab.start, slab.stop))
    return ids[first:last]


def _bar(lowest_R: Floats, count: int) -> float:
    """Find the ``count``-th highest value: nobody reaches the bar of no places, all reach that of enough places."""
    if count == 0:
        return np.inf
    return float(np.partition(lowest_R, -count)[-count]) if count < len(lowest_R) else -np.inf
