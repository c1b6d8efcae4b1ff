"""What to ask, by how much is known: what is typical while labels are few, what is in doubt when the model is good.

The most doubtful samples of a model that knows next to nothing are outliers; with some labels of every class its doubts
begin to mean something. Where classes overlap, they never mean much: what is in doubt there is what nobody could tell,
so the less sure the model is of the pool, the more typical samples are asked for. Copies of one another, or of what
was asked before, are never asked for, but rows of a table: the same numbers may stand for several classes, so once all
different rows were asked for, copies of them are drawn by lot. One in ten questions is put at random, more while a
class was hardly ever met.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deepbass.core.acquire import ACQUIRE, MOST_AT_A_TIME, Acquire, Acquisition, at_random, doubtful, mixed
from deepbass.core.badge import badge
from deepbass.core.batch_bald import batch_bald
from deepbass.core.belief import Belief
from deepbass.core.config import BY_BUDGET, Config
from deepbass.core.errors import ConfigError
from deepbass.core.labels import Ids, Labels
from deepbass.core.more_typical import TYPICAL_PER_CLASS, more_typical
from deepbass.core.need import every_pass
from deepbass.core.pool_places import Places
from deepbass.core.regional import regional
from deepbass.core.samples import Samples

_FAIR = 0.1  # share of the questions that are put at random
_SURE = (0.7, 0.9)  # of the pool, on average: below the first only typical samples are asked for, above the other none
_MET = 2  # labels of a class that has been met


def by_budget(places: Places, *, copies_differ: bool = False) -> Acquire:
    """Make the policy for a pool; where copies may be of different classes, they are asked for when all else was."""

    def given(labels: Labels) -> Acquisition:
        def choose(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
            taken = np.setdiff1d(np.arange(len(labels)), labels.askable)
            fresh = places.first_of_each(askable, taken)
            fair = at_random(belief, fresh, int(np.floor(fair_share(labels) * count + rng.random())), rng)
            others, left = np.setdiff1d(fresh, fair), count - len(fair)
            common = others[:0]
            few = len(taken) < TYPICAL_PER_CLASS * labels.classes
            share = 1.0 if few else typical_share(belief)
            if wanted := min(int(np.floor(share * left + rng.random())), left, MOST_AT_A_TIME):
                common = more_typical(places, np.union1d(taken, fair), others, wanted, rng)
            rest = doubtful(belief, np.setdiff1d(others, common), left - len(common), rng)
            chosen = mixed(fair, np.concatenate([common, rest]), rng)
            if not copies_differ or len(chosen) == count:
                return chosen
            copies = at_random(belief, np.setdiff1d(askable, chosen), count - len(chosen), rng)
            return np.concatenate([chosen, copies])

        return choose

    return Acquire(doubtful, lambda askable, count: every_pass("margin"), given, MOST_AT_A_TIME)


PLACED: dict[str, Callable[[Places], Acquire]] = {  # policies that go by where samples lie
    BY_BUDGET: by_budget,
    "batch-bald": batch_bald,
    "badge": badge,
    "regional": regional,
}
_OF_ROWS = ("auto", "pixels", "table")  # what one dimension is columns of a table with


def fair_share(labels: Labels) -> float:
    """Tell what share of the questions to put at random: a tenth, and more while a class was hardly ever met.

    What is typical is of common classes, and no doubt leads to a class that nobody has seen: the more of the labels are
    of one class, the more is left to chance.
    """
    counts = np.bincount(labels.answer[labels.known], minlength=labels.classes)
    if not counts.sum() or counts.min() >= _MET:
        return _FAIR
    return max(_FAIR, float(counts.max() / counts.sum()))


def typical_share(belief: Belief) -> float:
    """Tell what share of the questions goes to typical samples once every class has some labels: all to none.

    How sure the model is of the pool, on average, is how often it expects to be right.
    """
    low, high = _SURE
    return float(np.clip((high - belief.confidence.mean()) / (high - low), 0.0, 1.0))


def acquisition(config: Config, samples: Samples | None) -> Acquire:
    """Look up a policy by the name in the configuration; some of them want to know the pool."""
    if config.acquire not in PLACED:
        return ACQUIRE[config.acquire](config.quantile)
    if samples is None:
        raise ConfigError(f"acquire = {config.acquire} goes by where samples lie: give the pool, too.")
    places = Places(samples, config.seed)
    if config.acquire == BY_BUDGET:
        rows = len(samples.shape) == 1 and not config.teacher  # and no places of pictures
        return by_budget(places, copies_differ=rows and config.features in _OF_ROWS)
    return PLACED[config.acquire](places)
