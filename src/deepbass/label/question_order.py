"""In which order items are asked about: what the model's ranking puts first, or the spread, and equal ones at random.

All is done on arrays: there may be millions of items, and whoever answers waits for the next question.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

import numpy as np

from deepbass.core.labels import Ids
from deepbass.label.draws import draw
from deepbass.label.ranking import Ranking

_AT_A_TIME = 1000  # ids that are made numbers of Python at once: most often the first few are enough


class QuestionOrder:
    """Sorts all items but those that are ``left_out``. What it is made of never changes, so any thread may sort."""

    def __init__(self, seed: int, count: int, left_out: Collection[int]) -> None:
        self._seed, self._count, self._left_out = seed, count, left_out

    @cached_property
    def _kept(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        kept = np.ones(self._count, dtype=np.bool_)
        kept[np.fromiter(self._left_out, np.int64, len(self._left_out))] = False
        return kept

    @cached_property
    def _by_chance(self) -> Ids:
        ids = np.argsort(draw(self._seed, "order", self._count), kind="stable")
        return ids[self._kept[ids]]

    def by_ranking(self, ranking: Ranking) -> Ids:
        """Sort by score, the best first; items that are newer than the ranking come last."""
        best = np.full(self._count, -np.inf)
        score = ranking.score[: self._count]
        best[: len(score)] = np.where(np.isnan(score), -np.inf, score)
        return self._by_chance[np.argsort(-best[self._by_chance], kind="stable")]

    def by_spread(self, spread: Sequence[int]) -> Ids:
        """Put a spread first; what is not in it follows at random."""
        first = np.asarray(spread, dtype=np.int64)
        others = self._kept.copy()
        others[first] = False
        return np.concatenate([first[self._kept[first]], self._by_chance[others[self._by_chance]]])


def without(ids: Ids, known: Collection[int], count: int) -> Ids:
    """Leave what is not known, of ``count`` items, in the same order."""
    left = np.ones(count, dtype=np.bool_)
    left[np.fromiter(known, np.int64, len(known))] = False
    return ids[left[ids]]


def each(ids: Ids) -> Iterator[int]:
    """Go through ids as numbers of Python, without making a list of all."""
    for start in range(0, len(ids), _AT_A_TIME):
        yield from ids[start : start + _AT_A_TIME].tolist()
