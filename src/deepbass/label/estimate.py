"""How good the model is, by the audit sample: images drawn at random, never asked for by the model, never trained on.

The interval is Wilson's, over the audit answers as they are. Two refinements were tried and left out:

- Weighting by the model's certainty (post-stratification). Where "good enough" is decided, at error rates up to 2 %,
  there are hardly any errors to tell strata apart by. In 20,000 simulated projects of 30 to 300 audit answers, with
  half to nine tenths of the errors among the least certain tenth or third, the mean width was 0.85 to 0.99 of
  Wilson's, and where it gained most it held in 93 % of projects instead of 98 %; the way that bounds strata one by one
  (MOVER) was wider by up to 27 %. There is more to gain at error rates of 10 %, where nobody is about to stop.
- A correction for audit samples that are a good part of the pool. The error that people ask about is also that on
  images to come, and for the pool alone the interval only errs on the side of being wide.

**The law of "good enough".** People look at the interval after every answer and stop the first time they like it, and
the trainer scores the same audit answers again with every new model. Either makes a 95 % bound wrong far more often
than in one case of twenty. Simulated with a model that stays as it is, just at the target, and a look after every
answer, Wilson's upper bound falls below the target in 12 % (target 2 %) to 19 % (target 10 %) of projects of 2,000
audit answers; with models that are wrong about other images from commit to commit, in a third to four fifths of
projects, and after 400 answers already.

So the audit is looked at a few times only, and each look has a part of the 5 % to spend: the first 1 %, every further
one four fifths of that before. Look j comes when there are just so many audit answers that 0, 1, 2, 3, 5, 8, 13, ...
errors among them would be too few for the target at the look's level, by the exact binomial test. The model that is
looked at has never seen an audit answer, so a look is wrong no more often than its level says, whatever models were
before it; all looks together are wrong in at most 5 % of projects.

That the first estimate at or beyond a look's number of answers counts, and none after it, takes the list of all
estimates so far: one alone cannot tell how often somebody looked. For a target of 2 % the first look comes after 228
audit answers; Wilson's bound alone would have been content with 189.

People may choose another target while they work, from a list in which each is at least twice the one before (worth.py).
Every target has looks of its own, counted from the first answer. Whoever tries all of them is told "good enough" in
error hardly more often: at an error just above one target, to pass for one half as large is next to impossible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import ConfigError, DataError
from deepbass.label.ranking import Ranking

CONFIDENCE = 0.95  # of the interval
WRONG = 0.05  # share of projects in which "good enough" may be said in error
FIRST, NEXT = 0.2, 0.8  # shares of it: the first look's, and what a look has of the one before; all looks make 1
SPAN = 50  # labels over which a standstill is judged
LEAST = 0.0025  # share of changed guesses below which labels have stopped helping, whatever the target


@dataclass(frozen=True)
class Interval:
    """A share, and the bounds between which it lies with some confidence."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Estimate(Interval):
    """The model's error, by the audit answers that it was scored with."""

    n: int
    errors: int


@dataclass(frozen=True)
class Standstill:
    """Labels no longer change what the model guesses."""

    labels: int  # given since the guesses that are compared with
    changed: int  # guesses that became others
    guesses: int  # that could be compared
    evidence: str  # for people

    @property
    def share(self) -> float:
        """Tell the share of changed guesses: the error cannot have changed by more."""
        return self.changed / self.guesses


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


@lru_cache(maxsize=4096)
def scored(errors: int, n: int) -> Estimate:
    """Estimate the error from counts, as the trainer writes them down with every committed step."""
    bounds = wilson(errors, n)
    return Estimate(bounds.estimate, bounds.low, bounds.high, n, errors)


def error_estimate(predicted: NDArray[np.int16], audit_labels: Mapping[int, int]) -> Estimate | None:
    """Compare the model's predictions (-1: none), one per item, with what people said about audit items.

    A class that the model does not know yet counts as an error: it cannot be right about it.
    """
    there = [(item, class_) for item, class_ in audit_labels.items() if 0 <= item < len(predicted)]
    pairs = np.array(there, dtype=np.int64).reshape(-1, 2)
    guesses = predicted[pairs[:, 0]]
    made = guesses >= 0
    n = int(made.sum())
    return scored(int((guesses != pairs[:, 1])[made].sum()), n) if n else None


def good_enough(estimates: Sequence[Estimate], target: float | None, kind: str = "image") -> str | None:
    """Say why the model is good enough, or None.

    ``estimates`` are all that were made so far, the newest last: one per committed step, or more. It is good enough
    when one of the looks (see above) found so, and the upper bound of today's model is below the target as well.
    """
    if target is None or not estimates:
        return None
    if not 0 < target < 1:
        raise ConfigError(f"A target error of {target} must lie between 0 and 1, as in 0.02 or 2%.")
    found, look = False, 0
    for estimate in estimates:
        if estimate.n < _answers(look, target):
            continue
        found = found or _chance(estimate.errors, estimate.n, target) <= _level(look)
        while estimate.n >= _answers(look, target):  # it stands for all looks that it was late for
            look += 1
    now = estimates[-1]
    if not found or now.high >= target:
        return None
    wrong = f"{now.errors:,} of {now.n:,} audit {kind}s"
    return (
        f"Good enough: the model is wrong about {wrong}, which were drawn at random and never trained on. "
        f"Its error is {_percent(now.estimate)}, at most {_percent(now.high)} with 95 % confidence, and the target is "
        f"{_percent(target)}. However often one looks, this is said in error in at most {_percent(WRONG)} of projects."
    )


def answers_to_show(target: float, estimates: Sequence[Estimate] = (), *, errors: int = 0) -> int:
    """Tell how many audit answers there must be, in all, until "good enough" can be said, with so many errors by then.

    It is the first look still to come at which so few errors are too few for the target, and Wilson's bound below it.
    """
    look, given = 0, max((estimate.n for estimate in estimates), default=0)
    while given >= _answers(look, target):
        look += 1
    while True:
        n = max(_answers(look, target), errors)
        if _chance(errors, n, target) <= _level(look) and scored(errors, n).high < target:
            return n
        look += 1


def standstill(ranking: Ranking, target: float | None) -> Standstill | None:
    """Tell whether the last 50 labels or more changed next to no guess: below a quarter of the target, or 0.25 %."""
    before = [k for k, labels in enumerate(ranking.snapshot_labels) if labels <= ranking.known - SPAN]
    if not before:
        return None
    then, now = ranking.snapshots[before[-1]], ranking.guess
    both = (then >= 0) & (now >= 0)
    labels, guesses = ranking.known - int(ranking.snapshot_labels[before[-1]]), int(both.sum())
    changed = int((then != now)[both].sum())
    if not guesses or changed / guesses >= max((target or 0.0) / 4, LEAST):
        return None
    share = _percent(changed / guesses)
    evidence = (
        f"Labels have stopped helping: the last {labels:,} changed {changed:,} of {guesses:,} guesses ({share}), "
        "so they cannot have changed the error by more than that."
    )
    return Standstill(labels, changed, guesses, evidence)


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


def _level(look: int) -> float:
    return WRONG * FIRST * NEXT**look


@lru_cache(maxsize=1024)
def _answers(look: int, target: float) -> int:
    """Find with how many audit answers a look comes: the fewest that make its errors too few for the target."""
    errors, following = min(look, 1), 2
    for _ in range(look - 1):  # 0, 1, 2, 3, 5, 8, 13, ...
        errors, following = following, errors + following
    low, high = errors, 2 * errors + 1
    while _chance(errors, high, target) > _level(look):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _chance(errors, middle, target) > _level(look) else (low, middle)
    return high


@lru_cache(maxsize=65_536)
def _chance(errors: int, n: int, share: float) -> float:
    """Tell how likely so few errors among n are: the lower tail of the binomial distribution."""
    log_no, log_yes = math.log1p(-share), math.log(share)
    whole = math.lgamma(n + 1)
    return math.fsum(
        math.exp(whole - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * log_yes + (n - k) * log_no)
        for k in range(errors + 1)
    )


def _percent(share: float) -> str:
    """Write a share as people do, to a hundredth of a per cent."""
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + " %"
