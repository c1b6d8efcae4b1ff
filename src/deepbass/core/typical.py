"""Which samples stand for many: the densest sample of every cluster.

Where next to nothing is known, the samples that a model is least sure of are outliers, and what helps is what is common
(TypiClust: Hacohen, Dekel, Weinshall, 2022). Nothing here looks at a label.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh

from deepbass.core.graph import balanced, neighbour_graph
from deepbass.core.labels import Ids
from deepbass.core.samples import Samples

Points = NDArray[np.float32]

MOST_POINTS = 20_000  # that are clustered: of a larger pool a random part
MOST_ALONG_NEIGHBOURS = 50  # that are chosen so: with more of them, near points do as well, and in less time
MOST_CLUSTERS = 500  # more of them would be too small to tell what is typical
DIMENSIONS = 64  # that the points are reduced to: what is beyond is mostly noise, and time
_NEIGHBOURS = 20  # that tell how dense it is around a sample
_LINKED = 10  # neighbours in the graph
_SMALL = 4  # times smaller than a cluster is on average: too few to stand for others
_MOST_BYTES = 1 << 28  # of samples that are read
_ROUNDS = 20


def typical_of(samples: Samples, ids: Ids, count: int, rng: np.random.Generator) -> Ids:
    """Choose ``count`` of some samples that stand for many, without reading more of them than fit into memory."""
    most = max(count, min(MOST_POINTS, _MOST_BYTES // (4 * math.prod(samples.shape))))
    some = ids if len(ids) <= most else np.sort(rng.choice(ids, size=most, replace=False))
    pictures = len(samples.shape) == 3
    return some[typical(samples.read(some), count, rng, along_neighbours=pictures and count <= MOST_ALONG_NEIGHBOURS)]


def typical(points: Points, count: int, rng: np.random.Generator, *, along_neighbours: bool = False) -> Ids:
    """Choose ``count`` rows, one per cluster and the densest there; large clusters first, then again from the top.

    Clusters are of points that lie near one another, or else along neighbours of neighbours.
    """
    rows = np.arange(len(points))
    if len(rows) > MOST_POINTS:
        rows = np.sort(rng.choice(len(points), max(MOST_POINTS, count), replace=False))
    reduced = reduce(points[rows], DIMENSIONS, rng)
    many = min(count, MOST_CLUSTERS, len(rows))
    clusters = k_means(unrolled(reduced, many, rng) if along_neighbours else reduced, many, rng)
    sizes = np.bincount(clusters)
    queues = [by_density(reduced, np.flatnonzero(clusters == cluster)) for cluster in np.argsort(-sizes, kind="stable")]
    rounds = (queue[turn] for turn in range(int(sizes.max())) for queue in queues if turn < len(queue))
    return rows[np.fromiter(rounds, dtype=np.int64)[:count]]


def unrolled(points: Points, dimensions: int, rng: np.random.Generator) -> Points:
    """Place points by the main eigenvectors of their graph of neighbours (spectral clustering: Ng et al., 2001).

    Pictures of one kind, shifted and turned, lie on curved surfaces: those at its ends are far apart, and yet belong
    together by way of all between.
    """
    graph = neighbour_graph(points, _LINKED)
    _, part_of = connected_components(graph, directed=False)
    sizes = np.bincount(part_of)
    columns = []
    for part in np.flatnonzero(_SMALL * dimensions * sizes >= len(points)):  # others are strays, and stand for nobody
        members = np.flatnonzero(part_of == part)
        vectors = _main_vectors(graph[members][:, members], round(dimensions * len(members) / len(points)), rng)
        columns.append(np.zeros((len(points), vectors.shape[1]), dtype=np.float32))
        columns[-1][members] = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return np.concatenate(columns, axis=1) if columns else points


def _main_vectors(graph: sparse.csr_matrix, count: int, rng: np.random.Generator) -> NDArray[np.floating]:
    """Find the main eigenvectors of a graph that hangs together, a column each."""
    points = graph.shape[0]
    if count < 2 or count >= points - 1:
        return np.ones((points, 1))
    _, vectors = eigsh(balanced(graph), k=count, which="LA", v0=rng.standard_normal(points), tol=1e-3)
    found: NDArray[np.floating] = vectors
    return found


def by_density(points: Points, members: Ids) -> Ids:
    """Order some rows by their mean distance to their nearest neighbours in it, nearest first."""
    inside = points[members]
    distances = np.sort(_squares(inside, inside), axis=1)[:, 1 : _NEIGHBOURS + 1]  # without its own
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
    for _ in range(_ROUNDS):
        before = nearest
        nearest = _squares(points, centres).argmin(1)
        if np.array_equal(before, nearest):
            break
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, points)
        counts = np.bincount(nearest, minlength=len(centres))
        centres = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
    return np.unique(nearest, return_inverse=True)[1].astype(np.int64)


def _plus_plus(points: Points, clusters: int, rng: np.random.Generator) -> list[int]:
    """Draw centres, each by its squared distance from those before."""
    chosen = [int(rng.integers(len(points)))]
    far = _squares(points, points[chosen])[:, 0]
    while len(chosen) < clusters:
        total = float(far.sum())
        if total <= 0:  # all others are copies of what was chosen
            break
        chosen.append(int(np.searchsorted(np.cumsum(far, dtype=np.float64), rng.uniform(0, total))))
        chosen[-1] = min(chosen[-1], len(points) - 1)
        far = np.minimum(far, _squares(points, points[chosen[-1:]])[:, 0])
    return chosen


def _squares(points: Points, others: Points) -> Points:
    """Compute squared distances, as many rows at a time as fit; rounding never makes one negative."""
    products = points @ others.T
    squares: Points = (points**2).sum(1)[:, None] - 2 * products + (others**2).sum(1)[None, :]
    return np.maximum(squares, 0)
