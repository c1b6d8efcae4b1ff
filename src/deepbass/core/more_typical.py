"""Which typical samples to ask for next, when some labels are known: those of clusters that have none."""

from __future__ import annotations

import numpy as np

from deepbass.core.labels import Ids
from deepbass.core.pool_places import Places
from deepbass.core.typical import MOST_CLUSTERS, by_density, k_means

TYPICAL_PER_CLASS = 5  # labels, as many as classes times this, that are typical ones


def more_typical(places: Places, taken: Ids, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
    """Ask for the densest sample of clusters that have fewest taken ones, large clusters first.

    There is a cluster for each that is taken or wanted.
    """
    some, points = places.some, places.points[places.some]
    many = min(len(taken) + count, MOST_CLUSTERS, len(some))
    clusters = k_means(places.unrolled.along(many), many, rng)
    sizes = np.bincount(clusters)
    there = np.bincount(clusters[places.nearest_some(taken)], minlength=len(sizes))
    free = np.isin(some, askable)
    chosen: list[int] = []
    for cluster in np.lexsort((-sizes, there)):
        members = np.flatnonzero((clusters == cluster) & free)
        if len(members) and len(chosen) < count:
            chosen.append(int(some[by_density(points, members)[0]]))
    return np.array(chosen, dtype=np.int64)
