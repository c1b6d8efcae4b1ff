"""Bounds of a share: Wilson's interval, mended where it is known to fail."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

from deepbass.core.errors import DataError

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A share, and the bounds between which it lies with some confidence."""

    estimate: float
    low: float
    high: float


def wilson(errors: int, n: int, confidence: float = CONFIDENCE) -> Interval:
    """Bound the share behind ``errors`` among ``n`` (Wilson 1927).

    With up to three errors the lower bound is Poisson's instead, as Brown, Cai and DasGupta (2001) advise: at true
    shares near zero Wilson's own is too high, and the interval of 95 % would hold in 84 % of cases only. The upper
    bound mirrors that with up to three right answers; otherwise both are Wilson's.
    """
    if not 0 <= errors <= n or n < 1:
        raise DataError(f"{errors} errors among {n} answers: there must be one answer or more, and no more errors.")
    if not 0 < confidence < 1:
        raise DataError(f"confidence = {confidence} must lie between 0 and 1, as in 0.95.")
    share, z2 = errors / n, NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * share * (1 - share) / n + (z2 / (2 * n)) ** 2) / (1 + z2 / n)
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    few = 2 if n <= 50 else 3
    if 0 < errors <= few:
        low = min(low, _poisson(errors, 1 - confidence) / n)
    if 0 < n - errors <= few:
        high = max(high, 1 - _poisson(n - errors, 1 - confidence) / n)
    return Interval(share, 0.0 if errors == 0 else low, 1.0 if errors == n else high)  # to the last bit


@lru_cache(maxsize=64)
def _poisson(events: int, chance: float) -> float:
    """Find the mean at which ``events`` or more are seen with a given chance."""

    def seen(mean: float) -> float:
        return 1 - math.exp(-mean) * sum(mean**i / math.factorial(i) for i in range(events))

    low, high = 0.0, 1.0
    while seen(high) < chance:
        high *= 2
    for _ in range(60):  # halves the doubt to nothing that a float could tell
        middle = (low + high) / 2
        low, high = (middle, high) if seen(middle) < chance else (low, middle)
    return low
