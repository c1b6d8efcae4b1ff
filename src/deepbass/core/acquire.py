"""Which samples to ask the oracle about (line 10 of Algorithm 1), by name.

A policy gets the belief about the whole pool, the ids that may be asked for, how many are wanted, and a generator.
It returns distinct ids out of those, at most as many as wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from deepbass.core.belief import Belief, Floats
from deepbass.core.labels import NO_IDS, Ids

Acquire = Callable[[Belief, Ids, int, np.random.Generator], Ids]


def top(score: Callable[[Belief], Floats]) -> Acquire:
    """Make the policy that asks for the highest scores; equal scores are settled by the lower id."""

    def policy(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
        scores = score(belief.about(askable))
        return askable[np.lexsort((askable, -scores))][:count]

    return policy


def above(bar: Callable[[Floats], np.floating | float]) -> Acquire:
    """Make the policy that draws at random from the samples whose entropy is above a bar set by the pool."""

    def policy(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
        # the paper averages over X and X' together, so the bar comes from the whole pool
        high = askable[belief.about(askable).entropy > bar(belief.entropy)]
        return at_random(belief, high, count, rng)

    return policy


def above_quantile(quantile: float) -> Acquire:
    """Make the abstract's policy: a draw from the samples above an entropy quantile of the pool."""
    return above(partial(np.quantile, q=quantile))


def at_random(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
    """Ask for any: the baseline."""
    return rng.choice(askable, size=min(count, len(askable)), replace=False)


def nothing(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
    """Never ask: pure semi-supervised learning."""
    return NO_IDS


ACQUIRE: dict[str, Callable[[float], Acquire]] = {
    # every entry takes the configured quantile, so that no caller has to know which policy needs it
    "max-entropy": lambda q: top(lambda belief: belief.entropy),
    "above-average": lambda q: above(np.mean),
    "above-quantile": above_quantile,
    "bald": lambda q: top(lambda belief: belief.mutual_information),
    "variation-ratios": lambda q: top(lambda belief: 1.0 - belief.agreement),
    "least-confidence": lambda q: top(lambda belief: 1.0 - belief.confidence),
    "margin": lambda q: top(lambda belief: -belief.margin),
    "random": lambda q: at_random,
    "none": lambda q: nothing,
}
