"""The saving factor: how many times more labels plain needs for the same result.

Plain's curve is linear in log(labels) between the budgets that it was run with. Where it does not rise steadily, a
result may be met at several numbers of labels: the nearest to ours counts, so that plain against itself has factor 1
everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

AT_LEAST, AT_MOST, ABOUT = "≥", "≤", ""  # beyond plain's largest budget, below its smallest, or between


@dataclass(frozen=True)
class Saving:
    """How many times more labels plain needs."""

    factor: float
    bound: str = ABOUT
    error: float | None = None  # standard error over runs; None where there is none to be had


def saving(labels: int, result: float, plain: Sequence[tuple[int, float]]) -> Saving:
    """Tell how many times ``labels`` plain needs for a result, from its curve: (labels, result), any order."""
    points = sorted(plain)
    if not points:
        raise ValueError("plain was not run with any number of labels.")
    logs, means = np.log([count for count, _ in points]), np.array([mean for _, mean in points])
    if result > means.max():
        return Saving(max(1.0, points[-1][0] / labels), AT_LEAST)
    if result < means.min():
        return Saving(min(1.0, points[0][0] / labels), AT_MOST)
    first = _first_reaching(logs, means, result)
    last = -_first_reaching(-logs[::-1], -means[::-1], -result)  # the same, looked at from the other end
    return Saving(math.exp(min(max(math.log(labels), first), last)) / labels)


def _first_reaching(xs: Floats, ys: Floats, level: float) -> float:
    """Find where a broken line is at a level, or above it, for the first time; it gets there at some point."""
    place = int(np.argmax(ys >= level))
    if place == 0:
        return float(xs[0])
    low, high = ys[place - 1], ys[place]
    return float(xs[place - 1] + (xs[place] - xs[place - 1]) * (level - low) / (high - low))


def jackknife(values: Sequence[float]) -> float | None:
    """Estimate the standard error of a value from what it is with each run left out (Quenouille, Tukey)."""
    if len(values) < 2:
        return None
    left_out = np.asarray(values)
    return float(np.sqrt((len(left_out) - 1) * np.mean((left_out - left_out.mean()) ** 2)))
