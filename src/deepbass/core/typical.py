"""Which samples stand for many: the densest sample of every cluster.

Where next to nothing is known, the samples that a model is least sure of are outliers, and what helps is what is common
(TypiClust: Hacohen, Dekel, Weinshall, 2022). Nothing here looks at a label.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from deepbass.core.graph import neighbour_graph
from deepbass.core.labels import Ids
from deepbass.core.samples import Samples
from deepbass.core.unrolled import LINKED, MOST_UNROLLED, Points, Unrolled

MOST_POINTS = 20_000  # that are clustered: of a larger pool a random part
MOST_CLUSTERS = 500  # more of them would be too small to tell what is typical
DIMENSIONS = 64  # that the points are reduced to: what is beyond is mostly noise, and time
_NEIGHBOURS = 20  # that tell how dense it is around a sample
_MOST_BYTES = 1 << 28  # of samples that are read
_ROUNDS = 20


def typical_of(samples: Samples, ids: Ids, count: int, rng: np.random.Generator) -> Ids:
    """Choose ``count`` of some samples that stand for many, without reading more of them than fit into memory."""
    most = max(count, min(MOST_POINTS, _MOST_BYTES // (4 * math.prod(samples.shape))))
    some = ids if len(ids) <= most else np.sort(rng.choice(ids, size=most, replace=False))
    return some[typical(samples.read(some), count, rng)]


def typical(points: Points, count: int, rng: np.random.Generator) -> Ids:
    """Choose ``count`` rows, one per cluster and the densest there; large clusters first, then again from the top."""
    rows = np.arange(len(points))
    if len(rows) > MOST_POINTS:
        rows = np.sort(rng.choice(len(points), max(MOST_POINTS, count), replace=False))
    reduced = reduce(points[rows], DIMENSIONS, rng)
    many = min(count, MOST_CLUSTERS, len(rows))
    seen = reduced
    if many <= MOST_UNROLLED:
        seen = Unrolled(neighbour_graph(reduced, LINKED), many, rng).along(many)
    clusters = k_means(seen, many, rng)
    return rows[densest_of_each(reduced, clusters)[:count]]


def densest_of_each(points: Points, clusters: Ids) -> Ids:
    """Order rows: the densest of each cluster, large clusters first, then the next of each, and so on."""
    sizes = np.bincount(clusters)
    queues = [by_density(points, np.flatnonzero(clusters == cluster)) for cluster in np.argsort(-sizes, kind="stable")]
    rounds = (queue[turn] for turn in range(int(sizes.max())) for queue in queues if turn < len(queue))
    return np.fromiter(rounds, dtype=np.int64)


def by_density(points: Points, members: Ids) -> Ids:
    """Order some rows by their mean distance to their nearest neighbours in it, nearest first."""
    inside = points[members]
    distances = np.sort(squares(inside, inside), axis=1)[:, 1 : _NEIGHBOURS + 1]  # without its own
    spread = np.sqrt(distances).mean(1) if distances.shape[1] else np.zeros(len(members))
    return members[np.argsort(spread, kind="stable")]


def reduce(points: Points, dimensions: int, rng: np.random.Generator) -> Points:
    """Project points onto their main directions (randomised PCA: Halko, Martinsson, Tropp, 2011)."""
    given = points.reshape(len(points), -1)
    flat: Points = np.subtract(given, given.mean(0), dtype=np.float32)
    if flat.shape[1] <= dimensions:
        return flat
    reduced: Points = flat @ main_directions(flat, dimensions, rng).T
    return reduced


def main_directions(flat: Points, dimensions: int, rng: np.random.Generator) -> Points:
    """Find the directions in which centred points vary most, one per row."""
    sketch = flat @ rng.standard_normal((flat.shape[1], dimensions + 10), dtype=np.float32)
    basis, _ = np.linalg.qr(flat @ (flat.T @ sketch))
    _, _, directions = np.linalg.svd(basis.T @ flat, full_matrices=False)
    main: Points = directions[:dimensions]
    return main


def k_means(points: Points, clusters: int, rng: np.random.Generator) -> Ids:
    """Assign points to clusters, by Lloyd's rounds from k-means++ centres. No cluster is left empty."""
    centres = points[_plus_plus(points, clusters, rng)]
    nearest = np.full(len(points), -1, dtype=np.int64)
    rows, ones = np.arange(len(points)), np.ones(len(points), dtype=np.float32)
    for _ in range(_ROUNDS):
        before = nearest
        nearest = squares(points, centres).argmin(1)
        if np.array_equal(before, nearest):
            break
        members = sparse.csr_matrix((ones, (nearest, rows)), shape=(len(centres), len(points)))
        sums = members @ points
        counts = np.bincount(nearest, minlength=len(centres))
        centres = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
    return np.unique(nearest, return_inverse=True)[1].astype(np.int64)


def _plus_plus(points: Points, clusters: int, rng: np.random.Generator) -> list[int]:
    """Draw centres, each by its squared distance from those before."""
    chosen = [int(rng.integers(len(points)))]
    far = squares(points, points[chosen])[:, 0]
    while len(chosen) < clusters:
        total = float(far.sum())
        if total <= 0:  # all others are copies of what was chosen
            break
        chosen.append(int(np.searchsorted(np.cumsum(far, dtype=np.float64), rng.uniform(0, total))))
        chosen[-1] = min(chosen[-1], len(points) - 1)
        far = np.minimum(far, squares(points, points[chosen[-1:]])[:, 0])
    return chosen


def squares(points: Points, others: Points) -> Points:
    """Compute squared distances, as many rows at a time as fit; rounding never makes one negative."""
    products = points @ others.T
    squares: Points = (points**2).sum(1)[:, None] - 2 * products + (others**2).sum(1)[None, :]
    return np.maximum(squares, 0)
