"""Which samples to ask the oracle about (line 10 of Algorithm 1), by name.

A policy gets the belief about the whole pool, the ids that may be asked for, how many are wanted, and a generator.
It returns distinct ids out of those, at most as many as wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from deepbass.core.belief import Belief, Floats
from deepbass.core.labels import NO_IDS, Ids, Labels
from deepbass.core.lots import drawn
from deepbass.core.need import EVERYTHING, GUESSES, Highest, Need, every_pass
from deepbass.core.score import CLOSENESS, DISSENT, DOUBT, ENTROPY, INFORMATION, Score

MOST_AT_A_TIME = 100  # that are chosen with regard to one another
FAIR_SHARE = 5  # one question of so many is put by lot
DOUBTFUL = 5  # times as many as wanted are drawn from
_AT_A_TIME = 1 << 16  # samples that are looked at, to choose the highest scores of a large pool

Acquisition = Callable[[Belief, Ids, int, np.random.Generator], Ids]


@dataclass(frozen=True)
class Acquire:
    """A policy, and what it needs to know of a belief to choose so many of some ids: if not said, everything."""

    choose: Acquisition
    need: Callable[[Ids, int], Need] = lambda askable, count: EVERYTHING
    given: Callable[[Labels], Acquisition] | None = None  # where the choice hangs on what is known, too
    most: int | None = None  # that it chooses well at a time; None: any number

    def about(self, labels: Labels) -> Acquisition:
        """Tell how to choose when so much is known."""
        return self.choose if self.given is None else self.given(labels)

    def __call__(self, belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
        """Choose the samples to ask for."""
        return self.choose(belief, askable, count, rng)


def top(score: Score) -> Acquire:
    """Make the policy that asks for the highest scores; equal scores are settled by the lower id."""

    def policy(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
        def first(ids: Ids) -> Ids:
            about = belief.about(ids)
            return ids[_first(ids, score.of(about), about.passes, count)]

        if not _AT_A_TIME < len(askable) > count:
            return first(askable)
        # the first of all are among the first of every part, and no part's numbers are held but for a moment
        parts = (askable[start : start + _AT_A_TIME] for start in range(0, len(askable), _AT_A_TIME))
        return first(np.concatenate([first(part) for part in parts]))

    return Acquire(policy, lambda askable, count: Need((Highest(askable, count, score),), reads=score.reads))


def _first(ids: Ids, score_N: Floats, passes_N: Ids, count: int) -> Ids:
    """Order the rows of the highest scores, the lower id first where they tie; only these are ordered, not all.

    But first by passes: whoever was spared some is behind those that made them all, by whatever score so far.
    """
    if not 0 < count < len(ids):
        rows = np.arange(len(ids) if count else 0)
    else:
        rows = np.flatnonzero(passes_N == passes_N.max())
        if len(rows) < count:
            rows = np.arange(len(ids))
        else:
            score_R = score_N[rows]
            rows = rows[score_R >= np.partition(score_R, -count)[-count]]
    order: Ids = rows[np.lexsort((ids[rows], -score_N[rows], -passes_N[rows].astype(np.int64)))][:count]
    return order


def above(bar: Callable[[Floats], np.floating | float]) -> Acquire:
    """Make the policy that draws at random from the samples whose entropy is above a bar set by the pool."""

    def policy(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
        # the paper averages over X and X' together, so the bar comes from the whole pool
        high = askable[belief.about(askable).entropy > bar(belief.entropy)]
        return at_random(belief, high, count, rng)

    return Acquire(policy, lambda askable, count: every_pass())


def above_quantile(quantile: float) -> Acquire:
    """Make the abstract's policy: a draw from the samples above an entropy quantile of the pool."""
    return above(partial(np.quantile, q=quantile))


def at_random(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
    """Ask for any: the baseline."""
    return rng.choice(askable, size=min(count, len(askable)), replace=False)


def draw_from_top(score: Score, times: int, fair_share: int) -> Acquire:
    """Make the policy that draws at random among ``times`` as many of the highest scores as are wanted.

    The highest scores are much alike, and a draw from more of them holds fewer near copies. One question of
    ``fair_share`` is put to whoever has the lowest lot: a fair sample of the pool, by which guesses can be judged.
    """

    def policy(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
        fair_count = int(np.floor(count / fair_share + rng.random()))
        by_lot = drawn(askable, min(fair_count, count))
        others = askable[~np.isin(askable, by_lot)]
        first = highest.choose(belief, others, times * count, rng)
        return mixed(by_lot, at_random(belief, first, count - len(by_lot), rng), rng)

    highest = top(score)

    # as many more as may be taken out of the highest by lot
    def need(askable: Ids, count: int) -> Need:
        return Need((Highest(askable, (times + 1) * count, score),), reads=score.reads)

    return Acquire(policy, need, most=MOST_AT_A_TIME)


def mixed(fair: Ids, others: Ids, rng: np.random.Generator) -> Ids:
    """Put questions that were drawn fairly among the others, each in their order.

    People may answer the first few of a batch before there is another one: these are to be a bit of both, too.
    """
    together = np.empty(len(fair) + len(others), dtype=np.int64)
    places = rng.permutation(len(together)) < len(fair)
    together[places], together[~places] = fair, others
    return together


def doubtful(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
    """Draw from the samples whose first class leads least over the second: the least of all are much alike."""
    lead = belief.about(askable).margin
    near = askable[np.lexsort((askable, lead))][: DOUBTFUL * count]
    return at_random(belief, near, count, rng)


def nothing(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
    """Never ask: pure semi-supervised learning."""
    return NO_IDS


ACQUIRE: dict[str, Callable[[float], Acquire]] = {
    # every entry takes the configured quantile, so that no caller has to know which policy needs it
    "max-entropy": lambda q: top(ENTROPY),
    "above-average": lambda q: above(np.mean),
    "above-quantile": above_quantile,
    "bald": lambda q: top(INFORMATION),
    "variation-ratios": lambda q: top(DISSENT),
    "least-confidence": lambda q: top(DOUBT),
    "margin": lambda q: top(CLOSENESS),
    "margin-draw": lambda q: draw_from_top(CLOSENESS, DOUBTFUL, FAIR_SHARE),
    "random": lambda q: Acquire(at_random, lambda askable, count: GUESSES),
    "none": lambda q: Acquire(nothing, lambda askable, count: GUESSES),
}
