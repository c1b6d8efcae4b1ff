"""How much a sample is worth asking for: a number after all passes, and its bounds before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from deepbass.core import bounds
from deepbass.core.belief import ROWS, Belief, Floats, Partial


def _anything_low(partial: Partial) -> Floats:
    return np.full(len(partial.ids), -np.inf)


def _anything_high(partial: Partial) -> Floats:
    return np.full(len(partial.ids), np.inf)


@dataclass(frozen=True)
class Score:
    """A score, and how low and high it may still end up. Without bounds it is known only after the last pass."""

    of: Callable[[Belief], Floats]
    lowest: Callable[[Partial], Floats] = _anything_low
    highest: Callable[[Partial], Floats] = _anything_high
    reads: frozenset[str] = frozenset({ROWS})  # of a belief, beside what is always there: see `Need`


_NO_MORE: frozenset[str] = frozenset()
ENTROPY = Score(lambda belief: belief.entropy, bounds.lowest_entropy, bounds.highest_entropy, _NO_MORE)
INFORMATION = Score(
    lambda belief: belief.mutual_information,
    bounds.lowest_information,
    bounds.highest_information,
    frozenset({"expected_entropy"}),
)
DISSENT = Score(
    lambda belief: 1.0 - belief.agreement, bounds.lowest_dissent, bounds.highest_dissent, frozenset({"agreement"})
)
DOUBT = Score(lambda belief: 1.0 - belief.confidence, bounds.lowest_doubt, bounds.highest_doubt, _NO_MORE)
CLOSENESS = Score(
    lambda belief: -belief.margin, bounds.lowest_closeness, bounds.highest_closeness, frozenset({"margin"})
)
