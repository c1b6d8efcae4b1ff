"""What our runs say of a number in the paper: how far off, how surely, and in plain words."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deepbass.paper.rows import Reported

AGREES, ABOVE, BELOW, TOO_FEW, NOT_RUN = "agrees", "above", "below", "too few runs", "not run"
FEWEST = 3  # runs that a verdict takes
LEVEL = 0.95  # of confidence
EXACT, IN_PASSING = 0.005, 0.5  # points that the paper's own rounding may hide: 82.03, or "around 85 %"
_STEPS = 20_000


@dataclass(frozen=True)
class Verdict:
    """Our runs beside the paper's number; accuracies and their difference in percentage points."""

    runs: int
    words: str
    mean: float | None = None
    sd: float | None = None  # None: one run has none
    difference: float | None = None  # ours - the paper's
    interval: tuple[float, float] | None = None  # of the difference; None: too few runs
    borrowed: bool = False  # the paper gives no spread, so ours was taken for both


def judge(ours: Sequence[float], paper: Reported) -> Verdict:
    """Compare the accuracies of our runs with what the paper reports, by Welch's interval of the difference."""
    if not ours:
        return Verdict(0, NOT_RUN)
    mean = statistics.fmean(ours)
    sd = statistics.stdev(ours) if len(ours) > 1 else None
    difference = mean - paper.accuracy
    if sd is None or len(ours) < FEWEST:
        return Verdict(len(ours), TOO_FEW, mean, sd, difference)
    borrowed = paper.sd is None
    half = _half_width(sd, len(ours), sd if paper.sd is None else paper.sd, paper.runs)
    low, high = difference - half, difference + half
    unsaid = IN_PASSING if paper.about else EXACT
    words = ABOVE if low > unsaid else BELOW if high < -unsaid else AGREES
    return Verdict(len(ours), words, mean, sd, difference, (low, high), borrowed)


def _half_width(sd: float, runs: int, other_sd: float, other_runs: int) -> float:
    """Tell how far the interval reaches to each side (Welch, Satterthwaite)."""
    variance, other = sd**2 / runs, other_sd**2 / other_runs
    total = variance + other
    if total == 0:  # every run gave the same: the interval is a point
        return 0.0
    # shares, not squares of variances, which would vanish where runs differ by very little
    share = variance / total
    freedom = 1 / (share**2 / (runs - 1) + (1 - share) ** 2 / (other_runs - 1))
    return t_quantile(freedom) * math.sqrt(total)


def t_quantile(freedom: float) -> float:
    """Find what Student's t stays within, to both sides, at our level of confidence.

    With t = sqrt(freedom) tan(u), the density of u is proportional to cos(u)^(freedom - 1) between -pi/2 and pi/2: all
    finite, so that adding it up is enough, for any degrees of freedom from 1 on.
    """
    edges = np.linspace(0, np.pi / 2, _STEPS + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    mass = np.concatenate([[0.0], np.cumsum(np.cos(middles) ** (freedom - 1))])
    return math.sqrt(freedom) * math.tan(float(np.interp(LEVEL, mass / mass[-1], edges)))
