"""Places along neighbours: who is linked through many others is near, however far apart the two lie.

Samples of one kind, pictures that are shifted and turned, texts that go into other details, lie on curved surfaces. In
the main eigenvectors of the graph of neighbours these are flat (spectral clustering: Ng, Jordan, Weiss, 2001), and a
few clusters follow the classes there better than clusters of near points do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh

from deepbass.core.graph import balanced
from deepbass.core.labels import Ids

Points = NDArray[np.float32]

MOST_UNROLLED = 50  # dimensions: with more clusters than that, near points do as well, and in less time
LINKED = 10  # neighbours of each point of a graph that is unrolled
_SMALL = 4  # times smaller than a cluster is on average: too few to stand for others
_ENOUGH = 1e-3  # error of an eigenvalue


class Unrolled:
    """Points by the main eigenvectors of their graph, part by part where it does not hang together."""

    def __init__(self, graph: sparse.csr_matrix, dimensions: int, rng: np.random.Generator) -> None:
        """Find the eigenvectors for clusters up to so many, or the most that there are."""
        _, part_of = connected_components(graph, directed=False)
        self._count, self._most = len(part_of), min(dimensions, MOST_UNROLLED)
        self._parts: list[tuple[Ids, NDArray[np.floating]]] = []
        for part in np.argsort(-np.bincount(part_of), kind="stable"):
            members = np.flatnonzero(part_of == part)
            if _SMALL * self._most * len(members) < self._count:
                break  # strays, who stand for nobody
            inside = sparse.csr_matrix(graph[members][:, members])
            self._parts.append((members, _main_vectors(inside, self._share(members, self._most), rng)))

    def along(self, clusters: int) -> Points:
        """Place the points for so many clusters: in as many dimensions, every part in its own; strays are at 0."""
        columns = []
        for members, vectors in self._parts:
            few = vectors[:, : max(1, self._share(members, min(clusters, self._most)))]
            column = np.zeros((self._count, few.shape[1]), dtype=np.float32)
            column[members] = few / np.maximum(np.linalg.norm(few, axis=1, keepdims=True), 1e-9)
            columns.append(column)
        return np.concatenate(columns, axis=1) if columns else np.zeros((self._count, 1), dtype=np.float32)

    def _share(self, members: Ids, dimensions: int) -> int:
        return round(dimensions * len(members) / self._count)


def _main_vectors(graph: sparse.csr_matrix, count: int, rng: np.random.Generator) -> NDArray[np.floating]:
    """Find the main eigenvectors of a graph that hangs together, a column each, the first first."""
    points = graph.shape[0]
    if count < 2 or count >= points - 1:
        return np.ones((points, 1))
    values, vectors = eigsh(balanced(graph), k=count, which="LA", v0=rng.standard_normal(points), tol=_ENOUGH)
    found: NDArray[np.floating] = vectors[:, np.argsort(-values)]
    return found
