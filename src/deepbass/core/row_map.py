"""Rows outside, ids inside: whoever brings data speaks of its rows, and the loop of ids in its pool.

A pool may lack rows of the data: those held out for validation, those a smaller pool left out, those that cannot be
read. What a caller is given, or gives, passes through here; nothing else knows of the two ways to count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepbass.core.acquire import Acquire
from deepbass.core.admit import Admit
from deepbass.core.belief import Belief, Bools, Partial
from deepbass.core.errors import DataError
from deepbass.core.labels import UNKNOWN, Ids, Labels
from deepbass.core.need import Decision, Need, decision_within
from deepbass.core.samples import Samples

StartRule = Callable[[Samples, Ids, int, np.random.Generator], Ids]  # chooses what is known at the start


@dataclass(frozen=True, eq=False)
class RowMap:
    """Which row of the data every sample of a pool is; rows ascend with ids."""

    rows: Ids
    total: int  # rows of the data

    @property
    def same(self) -> bool:
        """Whether ids are rows already: the pool has them all."""
        return len(self.rows) == self.total

    def ids(self, rows: ArrayLike) -> Ids:
        """Find the samples of some rows; one that does not exist, or is not in the pool, is refused."""
        wanted: Ids = np.asarray(rows, dtype=np.int64)
        missing = wanted[(wanted < 0) | (wanted >= self.total)]
        if len(missing):
            raise DataError(f"Row {missing[0]} does not exist: the data has rows 0 to {self.total - 1}.")
        places = np.minimum(np.searchsorted(self.rows, wanted), len(self.rows) - 1)
        outside = wanted[self.rows[places] != wanted]
        if len(outside):
            raise DataError(
                f"Row {outside[0]} is not in the pool: it is held out for validation, left out of a smaller pool, or "
                "could not be read."
            )
        return places

    def labels(self, labels: Labels) -> Labels:
        """Spread the labels of a pool over the rows of the data; nothing is known of rows outside the pool."""
        if self.same:
            return labels
        return Labels(
            labels.classes,
            self._spread(labels.answer, UNKNOWN),
            self._spread(labels.guess, UNKNOWN),
            self._spread(labels.asked, False).astype(np.bool_),
        )

    def _spread(self, values: NDArray[np.generic], elsewhere: int) -> Ids:
        spread = np.full(self.total, elsewhere, dtype=np.int64)
        spread[self.rows] = values
        return spread

    def belief(self, belief: Belief) -> Belief:
        """Name the samples of a belief by their rows."""
        ask = belief.each
        each = None if ask is None else lambda rows, passes: ask(self.ids(rows), passes)
        return belief.renamed(self.rows[belief.ids], each)

    def need(self, need: Need) -> Need:
        """Make a need that speaks of rows one that speaks of ids."""
        return replace(need, decisions=tuple(_ByRow(decision, self) for decision in need.decisions))

    def acquire(self, rule: Acquire) -> Acquire:
        """Make a rule that is told of rows, and chooses rows, one that chooses ids."""
        if self.same:
            return rule

        def choose(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
            return self.ids(rule(self.belief(belief), self.rows[askable], count, rng))

        return Acquire(choose, lambda askable, count: self.need(rule.need(self.rows[askable], count)))

    def admit(self, rule: Admit) -> Admit:
        """Make a rule that is told of rows, and lets rows in, one that lets ids in."""
        if self.same:
            return rule

        def choose(belief: Belief, threshold: float, labels: Labels) -> Labels:
            guess = rule(self.belief(belief), threshold, self.labels(labels)).guess
            let_in = np.flatnonzero(guess != UNKNOWN)
            return labels.guessed(self.ids(let_in), guess[let_in])

        return Admit(choose, lambda threshold, labels: self.need(rule.need(threshold, self.labels(labels))))

    def start(self, rule: StartRule) -> StartRule:
        """Make a rule that is told of rows, and chooses rows, one that chooses ids."""
        if self.same:
            return rule

        def choose(samples: Samples, there: Ids, count: int, rng: np.random.Generator) -> Ids:
            return self.ids(rule(_SamplesByRow(samples, self), self.rows[there], count, rng))

        return choose


@dataclass(frozen=True, eq=False)
class _ByRow:
    """A decision about rows, asked about ids."""

    decision: Decision
    map: RowMap

    def open(self, partial: Partial) -> Bools:
        """Tell which samples passes that are left could change the decision about."""
        return self.decision.open(replace(partial, ids=self.map.rows[partial.ids]))

    def within(self, slab: range) -> Decision:
        """Leave out what speaks of rows of other samples."""
        rows = self.map.rows
        first, last = int(rows[slab.start]), int(rows[slab.stop - 1])
        return replace(self, decision=decision_within(self.decision, range(first, last + 1)))


@dataclass(frozen=True, eq=False)
class _SamplesByRow:
    """The samples of a pool, read by their rows."""

    samples: Samples
    map: RowMap

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample."""
        return self.samples.shape

    def __len__(self) -> int:
        return self.map.total

    def read(self, rows: Ids) -> NDArray[np.float32]:
        """Read some samples, in the order of their rows."""
        return self.samples.read(self.map.ids(rows))
