"""Where samples lie: few numbers for each, and which are copies of one another. Nothing here looks at a label."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from scipy import sparse

from deepbass.core.graph import neighbour_graph
from deepbass.core.labels import Ids
from deepbass.core.randomness import generator
from deepbass.core.samples import Samples
from deepbass.core.typical import DIMENSIONS, MOST_POINTS, main_directions, squares
from deepbass.core.unrolled import LINKED, MOST_UNROLLED, Points, Unrolled

_BYTES = 1 << 28  # of samples that are read at a time
_ROWS = 65_536  # whose sums are taken at a time


class Places:
    """The places of a pool's samples in its main directions, found when they are first needed."""

    def __init__(self, samples: Samples, seed: int) -> None:
        self._samples, self._seed = samples, seed

    @cached_property
    def points(self) -> Points:
        """One row per sample."""
        return placed(self._samples, DIMENSIONS, MOST_POINTS, generator(self._seed, 0, "places"))

    @cached_property
    def some(self) -> Ids:
        """Samples that speak for the pool: all of a small one."""
        rng = generator(self._seed, 0, "samples that speak for all")
        count = len(self.points)
        return np.arange(count) if count <= MOST_POINTS else np.sort(rng.choice(count, MOST_POINTS, replace=False))

    @cached_property
    def graph(self) -> sparse.csr_matrix:
        """Who of these lies next to whom."""
        return neighbour_graph(self.points[self.some], LINKED)

    @cached_property
    def unrolled(self) -> Unrolled:
        """These, along their neighbours."""
        return Unrolled(self.graph, MOST_UNROLLED, generator(self._seed, 0, "along neighbours"))

    def nearest_some(self, ids: Ids) -> Ids:
        """Find samples in `some`, by place: who is not there is where the nearest one is."""
        places = np.minimum(np.searchsorted(self.some, ids), len(self.some) - 1)
        outside = np.flatnonzero(self.some[places] != ids)
        if len(outside):
            places[outside] = squares(self.points[ids[outside]], self.points[self.some]).argmin(1)
        return places

    @cached_property
    def group(self) -> Ids:
        """The group of each sample: copies have the same one."""
        step, count = _step(self.points), len(self.points)
        factors = generator(self._seed, 0, "copies").integers(1, 2**62, self.points.shape[1], dtype=np.int64)
        sums = np.empty(count, dtype=np.int64)  # equal for copies, and for others by an accident of one in 2^64
        for start in range(0, count, _ROWS):
            rows = slice(start, start + _ROWS)
            sums[rows] = np.round(self.points[rows] / step).astype(np.int64) @ factors
        return np.unique(sums, return_inverse=True)[1].ravel().astype(np.int64)

    def first_of_each(self, ids: Ids, taken: Ids) -> Ids:
        """Leave out who is a copy of one that is taken, or of one that comes before."""
        free = ids[~np.isin(self.group[ids], self.group[taken])]
        return free[np.sort(np.unique(self.group[free], return_index=True)[1])]


def placed(samples: Samples, dimensions: int, learned_from: int, rng: np.random.Generator) -> Points:
    """Project all samples onto their main directions, which come from a part of a large pool.

    Samples of no more numbers than that are only centred.
    """
    count, wide = len(samples), math.prod(samples.shape)
    at_a_time = max(1, _BYTES // (4 * wide))
    most = min(learned_from, at_a_time)
    some = np.arange(count) if count <= most else np.sort(rng.choice(count, most, replace=False))
    seen = _flat(samples, some)
    centre = seen.mean(0)
    directions = main_directions(seen - centre, dimensions, rng) if wide > dimensions else None
    points = np.empty((count, wide if directions is None else len(directions)), dtype=np.float32)
    for start in range(0, count, at_a_time):
        ids = np.arange(start, min(start + at_a_time, count))
        part = _flat(samples, ids) - centre
        points[ids] = part if directions is None else part @ directions.T
    return points


def _flat(samples: Samples, ids: Ids) -> Points:
    return samples.read(ids).reshape(len(ids), -1)


def _step(points: Points) -> float:
    """Tell how far apart two places may be and still be the same but for rounding."""
    spread = float(np.abs(points).max(initial=0.0))
    return spread * 1e-5 if spread > 0 else 1.0
