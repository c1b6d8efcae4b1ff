"""Draw samples by seed: the held-out share, and a smaller pool."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deepbass.core.labels import Classes, Ids
from deepbass.core.randomness import generator


def hold_out(truth: Classes, classes: int, share: float, seed: int) -> Ids:
    """Draw a share of every class for validation; a class of two or more gives and keeps at least one."""
    rng = generator(seed, 0, "validation")
    held = []
    for class_ in range(classes):  # samples without a label are in no class, so they stay in the pool
        members = np.flatnonzero(truth == class_)
        count = min(max(round(share * len(members)), 1), len(members) - 1)
        held.append(rng.choice(members, size=max(count, 0), replace=False))
    return np.sort(np.concatenate(held))


def draw_pool(truth: Classes, count: int, seed: int) -> Ids:
    """Draw so many samples that every class, and the unlabelled, keep their share of the whole."""
    rng = generator(seed, 0, "pool")
    strata, sizes = np.unique(truth, return_counts=True)
    drawn = [
        rng.choice(np.flatnonzero(truth == stratum), size=size, replace=False)
        for stratum, size in zip(strata, _proportional(sizes, count), strict=True)
    ]
    return np.sort(np.concatenate(drawn))


def _proportional(sizes: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Share a count out in proportion: whole parts first, what is left to the largest fractions."""
    exact = sizes * (count / sizes.sum())
    parts: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    left = count - int(parts.sum())
    parts[np.argsort(parts - exact, kind="stable")[:left]] += 1
    return parts
