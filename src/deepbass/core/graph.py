"""Who lies next to whom, and what known labels say about neighbours, and neighbours of these.

Label spreading on a graph of nearest neighbours (Zhou et al., 2004; weights as Calder et al., 2020, have them)
is the strongest guess from very few labels: where a network would learn the few by heart, classes follow the data.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deepbass.core.belief import Floats
from deepbass.core.labels import Classes, Ids

MOST_POINTS = 60_000  # in one graph: the search compares all with all, 20 seconds on two cores
ALPHA, ROUNDS = 0.99, 50  # how much comes from neighbours and not from the label itself, and how often it is passed on

_ROWS = 256  # compared with all others at a time
_GROUPS = 32  # that the others are cut into, of which only those with a near one are searched
_NARROW = 4.0  # a neighbour as far as the farthest of a point counts exp(-4)


def neighbour_graph(points_N_D: NDArray[np.floating], k: int) -> sparse.csr_matrix:
    """Link every point with its ``k`` nearest: symmetric weights up to 1, none of a point with itself.

    Points that are the same are one to the others, the first of them, and the rest are linked with that one alone: many
    copies of a point leave none of them cut off.
    """
    flat = np.ascontiguousarray(points_N_D, dtype=np.float32).reshape(len(points_N_D), -1) + np.float32(0)  # no -0
    firsts, which_N = _distinct(flat)
    near_U_K, distance_U_K = nearest(flat[firsts], k)
    farthest_U_1 = distance_U_K.max(1, keepdims=True, initial=0.0)
    shares_U_K = np.divide(distance_U_K, farthest_U_1, out=np.zeros_like(distance_U_K), where=farthest_U_1 > 0)
    weights_U_K = np.exp(-_NARROW * shares_U_K**2)

    copies = np.setdiff1d(np.arange(len(flat)), firsts)
    here = np.concatenate([np.repeat(firsts, near_U_K.shape[1]), copies])
    there = np.concatenate([firsts[near_U_K].ravel(), firsts[which_N[copies]]])
    weights = np.concatenate([weights_U_K.ravel(), np.full(len(copies), 2.0)])  # halved below: only one side links
    one_way = sparse.csr_matrix((weights, (here, there)), shape=(len(flat), len(flat)), dtype=np.float64)
    return sparse.csr_matrix((one_way + one_way.T) / 2)


def nearest(points_N_D: NDArray[np.float32], k: int) -> tuple[Ids, NDArray[np.float32]]:
    """Find the ``k`` nearest others of every point, and their distances, in no order; fewer where there are fewer."""
    count = len(points_N_D)
    k = max(0, min(k, count - 1))
    near_N_K, distance_N_K = np.empty((count, k), dtype=np.int64), np.empty((count, k), dtype=np.float32)
    if k == 0:
        return near_N_K, distance_N_K
    centred = points_N_D - points_N_D.mean(0)  # squares of small numbers lose less in rounding
    squares_N = np.einsum("nd,nd->n", centred, centred)
    width = max(-(-count // _GROUPS), k + 1)
    left = np.column_stack([-centred, np.ones(count, dtype=np.float32)])
    right = np.zeros((left.shape[1], width * _GROUPS), dtype=np.float32)
    right[:-1, :count] = centred.T
    right[-1] = np.inf  # who is not there is far from everybody
    right[-1, :count] = squares_N / 2
    halves = np.empty((_ROWS, width * _GROUPS), dtype=np.float32)  # (distance^2 - the row's square) / 2, in one memory
    for start in range(0, count, _ROWS):
        rows = np.arange(start, min(start + _ROWS, count))
        here = np.matmul(left[rows], right, out=halves[: len(rows)])
        here[np.arange(len(rows)), rows] = np.inf
        found, half = _smallest(here.reshape(len(rows), _GROUPS, width), k)
        near_N_K[rows] = found
        distance_N_K[rows] = np.sqrt(np.maximum(2 * half + squares_N[rows, None], 0))
    return near_N_K, distance_N_K


def balanced(graph: sparse.csr_matrix) -> sparse.csr_matrix:
    """Scale a graph so that who has many neighbours counts no more than who has few."""
    degrees_N = np.asarray(graph.sum(1)).ravel()
    scale_N = np.divide(1.0, np.sqrt(degrees_N), out=np.zeros(len(degrees_N)), where=degrees_N > 0)
    return sparse.csr_matrix(sparse.diags(scale_N) @ graph @ sparse.diags(scale_N))


def spread(
    graph: sparse.csr_matrix, ids: Ids, labels: Classes, classes: int, *, alpha: float = ALPHA, rounds: int = ROUNDS
) -> Floats:
    """Pass known labels on from neighbour to neighbour; one row of probabilities a point.

    Every class that is known has one unit to spread, whatever number of labels it has. Who is reached by none is in
    equal doubt about all classes.
    """
    passed_on = balanced(graph)
    known_N_C = np.zeros((graph.shape[0], classes))
    known_N_C[ids, labels] = 1.0
    known_N_C /= np.maximum(known_N_C.sum(0), 1.0)
    reached_N_C = known_N_C.copy()
    for _ in range(rounds):
        reached_N_C = alpha * (passed_on @ reached_N_C) + (1 - alpha) * known_N_C
    totals_N_1 = reached_N_C.sum(1, keepdims=True)
    probs_N_C: Floats = np.full_like(reached_N_C, 1 / classes)
    np.divide(reached_N_C, totals_N_1, out=probs_N_C, where=totals_N_1 > 0)
    return probs_N_C


def _smallest(values_R_G_W: NDArray[np.float32], k: int) -> tuple[Ids, NDArray[np.float32]]:
    """Find the ``k`` smallest of every row, exactly: they lie in the ``k`` columns with the smallest minima."""
    groups, width = values_R_G_W.shape[1:]
    row = np.arange(len(values_R_G_W))[:, None]
    columns_R_K = np.argpartition(values_R_G_W.min(1), k, axis=1)[:, :k]
    few_R_KG = values_R_G_W[row, :, columns_R_K].reshape(len(row), -1)
    best_R_K = np.argpartition(few_R_KG, k - 1, axis=1)[:, :k]
    places_R_K = (best_R_K % groups) * width + columns_R_K[row, best_R_K // groups]
    return places_R_K, few_R_KG[row, best_R_K]


def _distinct(flat_N_D: NDArray[np.float32]) -> tuple[Ids, Ids]:
    """Find the first of every set of equal rows, in order, and which of these each row equals."""
    bytes_N = flat_N_D.view(np.dtype((np.void, flat_N_D.shape[1] * 4))).ravel()
    _, firsts, which_N = np.unique(bytes_N, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    return firsts[order], np.argsort(order)[which_N.ravel()]
