"""BADGE: k-means++ on the gradients of the last layer (Ash, Zhang, Krishnamurthy, Langford, Agarwal, 2020).

The gradient that a sample would have if its guess were right is (p - guess) x h, with h what the last layer sees. It
is long where the network is in doubt and points where the sample lies, so centres of k-means++ are doubtful and unlike.
What a solved head sees are the features, and here h is where samples lie in the pool's main directions
(pool_places.py); for a network on pixels, whose hidden layers no acquisition sees, that stands in for h.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deepbass.core.acquire import Acquire, Acquisition
from deepbass.core.belief import Belief
from deepbass.core.labels import Ids, Labels
from deepbass.core.pool_places import Places
from deepbass.core.typical import MOST_POINTS
from deepbass.core.unrolled import Points

Rows = NDArray[np.float64]


def badge(places: Places) -> Acquire:
    """Make the policy for a pool: copies of one another, or of what was asked before, are never asked for."""

    def choose(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
        some = askable if len(askable) <= MOST_POINTS else np.sort(rng.choice(askable, MOST_POINTS, replace=False))
        about = belief.about(some)
        error_N_C = about.mean_N_C.copy()
        error_N_C[np.arange(len(some)), about.guess] -= 1
        return some[spread_out(error_N_C, seen_by_last_layer(places.points, some), count, rng)]

    def given(labels: Labels) -> Acquisition:
        taken = np.setdiff1d(np.arange(len(labels)), labels.askable)

        def fresh(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
            return choose(belief, places.first_of_each(askable, taken), count, rng)

        return fresh

    return Acquire(choose, given=given)  # reads all probabilities of whom it draws, and who that is nobody knows before


def seen_by_last_layer(points: Points, ids: Ids) -> Rows:
    """Scale places to a mean square length of 1, as a head does, and add the 1 that the bias sees."""
    inside = points[ids].astype(np.float64)
    length = float(np.sqrt((points.astype(np.float64) ** 2).sum(1).mean()))
    return np.column_stack([inside / (length or 1.0), np.ones(len(ids))])


def spread_out(error_N_C: Rows, seen_N_H: Rows, count: int, rng: np.random.Generator) -> Ids:
    """Draw rows by k-means++ on the products of errors and what was seen: the first is the longest.

    A gradient has C x H numbers and is never written out: |ab - cd|^2 = |a|^2|b|^2 + |c|^2|d|^2 - 2 (a.c)(b.d).
    """
    squares_N = (error_N_C**2).sum(1) * (seen_N_H**2).sum(1)
    chosen: list[int] = []
    far_N = np.full(len(squares_N), np.inf)
    while len(chosen) < min(count, len(squares_N)):
        sums_N = (far_N if chosen else squares_N).cumsum()
        if sums_N[-1] <= 0:  # all others are the same to the network: any will do
            rest = np.setdiff1d(np.arange(len(squares_N)), chosen)
            chosen += rng.permutation(rest)[: count - len(chosen)].tolist()
            break
        drawn = int(np.searchsorted(sums_N, rng.random() * sums_N[-1], side="right"))
        chosen.append(drawn if chosen else int(squares_N.argmax()))
        last = chosen[-1]
        shared_N = (error_N_C @ error_N_C[last]) * (seen_N_H @ seen_N_H[last])
        far_N = np.minimum(far_N, np.maximum(squares_N + squares_N[last] - 2 * shared_N, 0.0))
        far_N[chosen] = 0.0
    return np.array(chosen, dtype=np.int64)
