"""What to ask: samples amid many that are in doubt, so that an answer settles a neighbourhood.

The samples that a network doubts most are odd ones, and what it learns of them helps nobody else. What it has got wrong
as a whole, sevens with a stroke taken for fours, say, it doubts a little everywhere: the doubts of all who lie near
one another are added up, and whoever lies in the midst of most is asked for (information density: Settles and
Craven, 2008). What is asked for next lies elsewhere.

But no doubt leads to what nobody has seen: a network that has met no F is sure that each is an E. So while a class has
no label, typical samples are asked for, of clusters that have none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deepbass.core.acquire import FAIR_SHARE, MOST_AT_A_TIME, Acquire, Acquisition, doubtful, mixed
from deepbass.core.belief import Belief, Floats
from deepbass.core.graph import balanced
from deepbass.core.labels import Ids, Labels
from deepbass.core.lots import drawn
from deepbass.core.more_typical import TYPICAL_PER_CLASS, more_typical
from deepbass.core.need import every_pass
from deepbass.core.pool_places import Places

_ROUNDS, _PASSED_ON = 10, 0.9  # how far doubts are spread over the neighbours, and what share of them each time
_SETTLED = 0.2  # of what reaches a sample itself: who is reached by as much of an answer is in doubt no more


def regional(places: Places) -> Acquire:
    """Make the policy for a pool; who is a copy of another is not asked for, unless by lot."""

    def given(labels: Labels) -> Acquisition:
        taken = np.setdiff1d(np.arange(len(labels)), labels.askable)

        def choose(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
            by_lot = drawn(askable, min(count, int(np.floor(count / FAIR_SHARE + rng.random()))))
            fresh = places.first_of_each(np.setdiff1d(askable, by_lot), np.union1d(taken, by_lot))
            wanted = count - len(by_lot)
            if _misses_a_class(labels):
                chosen = more_typical(places, np.union1d(taken, by_lot), fresh, min(wanted, MOST_AT_A_TIME), rng)
            else:
                doubt_S = 1.0 - belief.about(places.some).margin.astype(np.float64)
                free_S = np.isin(places.some, fresh)
                chosen = places.some[amid_doubts(balanced(places.graph), doubt_S, free_S, wanted)]
            others = np.setdiff1d(fresh, chosen)  # of a large pool some are not in the graph
            return mixed(by_lot, np.concatenate([chosen, doubtful(belief, others, wanted - len(chosen), rng)]), rng)

        return choose

    return Acquire(doubtful, lambda askable, count: every_pass("margin"), given, MOST_AT_A_TIME)


def _misses_a_class(labels: Labels) -> bool:
    """Tell whether a class has no label yet, while labels are few: a class that nobody meets may not be there."""
    known = labels.answer[labels.known]
    return len(known) < TYPICAL_PER_CLASS * labels.classes and len(np.unique(known)) < labels.classes


def amid_doubts(graph: sparse.csr_matrix, doubt_N: Floats, free_N: NDArray[np.bool_], count: int) -> Ids:
    """Choose rows that are free one by one: each in the midst of most doubt, which is settled around it then."""
    doubt_N, free_N = doubt_N.copy(), free_N.copy()
    chosen: list[int] = []
    for _ in range(min(count, int(np.count_nonzero(free_N)))):
        chosen.append(int(np.where(free_N, _spread(graph, doubt_N), -1.0).argmax()))
        free_N[chosen[-1]] = False
        reached_N = _spread(graph, np.eye(1, len(doubt_N), chosen[-1])[0])
        doubt_N *= 1 - np.minimum(1.0, reached_N / (_SETTLED * reached_N.max()))
    return np.array(chosen, dtype=np.int64)


def _spread(graph: sparse.csr_matrix, what_N: Floats) -> Floats:
    spread_N = what_N
    for _ in range(_ROUNDS):
        spread_N = _PASSED_ON * (graph @ spread_N) + (1 - _PASSED_ON) * what_N
    return spread_N
