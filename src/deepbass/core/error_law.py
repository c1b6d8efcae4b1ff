"""When an error is shown to be below a target, by answers that the model was kept from.

On the labelling page these are the audit: images drawn at random, never asked for by the model, never trained on. In a
run they are the labels that are kept back, to judge guesses by.

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

People may choose another target while they work, from a list in which each is at least twice the one before
(label/worth.py). Every target has looks of its own, counted from the first answer. Whoever tries all of them is told
"good enough" in error hardly more often: at an error just above one target, to pass for one half as large is next to
impossible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

from deepbass.core.errors import ConfigError, DataError

CONFIDENCE = 0.95  # of the interval
WRONG = 0.05  # share of projects in which "good enough" may be said in error
FIRST, NEXT = 0.2, 0.8  # shares of it: the first look's, and what a look has of the one before; all looks make 1


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


def shown_below(estimates: Sequence[Estimate], target: float) -> bool:
    """Tell whether the error is shown to be below a target.

    ``estimates`` are all that were made so far, the newest last: one per committed step, or more. It is shown when one
    of the looks (see above) found so, and the upper bound of today's model is below the target as well.
    """
    if not 0 < target < 1:
        raise ConfigError(f"A target error of {target} must lie between 0 and 1, as in 0.02 or 2%.")
    found, look = False, 0
    for estimate in estimates:
        if estimate.n < _answers(look, target):
            continue
        found = found or _chance(estimate.errors, estimate.n, target) <= _level(look)
        while estimate.n >= _answers(look, target):  # it stands for all looks that it was late for
            look += 1
    return found and estimates[-1].high < target


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
