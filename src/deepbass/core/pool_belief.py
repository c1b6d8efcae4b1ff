"""A belief about a large pool, held as the few columns that decisions read instead of all probabilities.

Passes over a large pool are made slab by slab (learn/slabs.py). What is believed of a slab is reduced at once, and what
is gathered has some twenty bytes a sample, however many classes there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.belief import ROWS, Belief, Each, Floats
from deepbass.core.errors import ConfigError
from deepbass.core.labels import Classes, Ids, class_type, id_type

Columns = dict[str, NDArray[Any]]  # by the name that each has in a belief, one entry per sample

_ALWAYS = ("entropy", "confidence")  # what the numbers of every iteration are made of (runs/measure.py)
_ALL = (ROWS, "expected_entropy", "agreement", "passes")


def columns_of(belief: Belief, reads: frozenset[str]) -> Columns:
    """Reduce a belief to its guesses and what is read of it, in the smallest types that hold it exactly.

    Where all probabilities are read, nothing can be left out.
    """
    if ROWS in reads:
        return {name: getattr(belief, name) for name in _ALL}
    guess_N = belief.guess.astype(class_type(belief.mean_N_C.shape[1]))
    passes_N = belief.passes.astype(np.uint16)  # as votes are counted
    return {"guess": guess_N, "passes": passes_N} | {name: getattr(belief, name) for name in (*_ALWAYS, *sorted(reads))}


def gathered(parts: Iterable[tuple[range, Columns]], samples: int, each: Each | None) -> Belief:
    """Put the slabs of a pool together, in whatever order they come."""
    whole: Columns = {}
    for slab, columns in parts:
        for name, values in columns.items():
            if name not in whole:
                whole[name] = np.empty((samples, *values.shape[1:]), values.dtype)
            whole[name][slab.start : slab.stop] = values
    return Belief(np.arange(samples), **whole, each=each) if ROWS in whole else PoolBelief(whole, each)


class PoolBelief(Belief):
    """A belief of which only what is read of it is held. Asked for anything else, it says so."""

    def __init__(
        self, columns: Columns, each: Each | None = None, ids: Ids | None = None, rows: Ids | None = None
    ) -> None:
        """Hold columns of a whole pool; ``rows`` selects some, and ``ids`` names them where they are not their rows."""
        self._columns, self._each, self._ids, self._rows = columns, each, ids, rows

    def __repr__(self) -> str:
        return f"PoolBelief({', '.join(self._columns)} of {len(self.ids):,} samples)"

    @property
    def ids(self) -> Ids:
        """The samples that the rows speak of: made when asked for, since a whole pool's are known anyway."""
        if self._ids is not None:
            return self._ids
        count = len(self._columns["guess"])
        return np.arange(count, dtype=id_type(count)) if self._rows is None else self._rows

    @property
    def each(self) -> Each | None:
        """What asks the network again about a few samples."""
        return self._each

    @property
    def guess(self) -> Classes:
        """The pseudo-label psi."""
        return self._column("guess")

    @property
    def passes(self) -> Ids:
        """How many passes each row is over."""
        return self._column("passes")

    @property
    def entropy(self) -> Floats:
        """H(f~_T)."""
        return self._column("entropy")

    @property
    def confidence(self) -> Floats:
        """The highest mean probability."""
        return self._column("confidence")

    @property
    def margin(self) -> Floats:
        """The lead of the most probable class over the next."""
        return self._column("margin")

    @property
    def expected_entropy(self) -> Floats:
        """Mean over the passes of each pass's entropy."""
        return self._column("expected_entropy")

    @property
    def agreement(self) -> Floats:
        """Share of passes that voted for the most voted class."""
        return self._column("agreement")

    @property
    def mean_N_C(self) -> Floats:  # noqa: N802
        """All probabilities, which are not held: who reads them says so in its need, and gets a whole `Belief`."""
        return self._column(ROWS)

    def about(self, ids: Ids) -> Belief:
        """Select the rows of some samples, by id and in their order; a column is copied only when it is looked at."""
        if self._ids is None and self._rows is None:
            return PoolBelief(self._columns, self._each, rows=ids)
        rows = self._rows_of(ids)
        return PoolBelief(self._columns, self._each, ids, rows if self._rows is None else self._rows[rows])

    def renamed(self, ids: Ids, each: Each | None) -> Belief:
        """Name the samples otherwise."""
        return PoolBelief(self._columns, each, ids, self._rows)

    def _column(self, name: str) -> NDArray[Any]:
        if name not in self._columns:
            raise ConfigError(
                f"Of a pool of {len(self._columns['guess']):,} samples {', '.join(self._columns)} are held, and no "
                f"{name}. A rule that reads it says so: Need(..., reads=frozenset({{{name!r}}}))."
            )
        values = self._columns[name]
        return values if self._rows is None else values[self._rows]
