"""Lots: a number for every sample that hangs on nothing but its id, so that whoever has the lowest was drawn at random.

Who asks at random asks in the order of lots. So it can be told afterwards, without having been written down, which
answers are a fair sample of the pool: those of the lowest lots, as far as nobody among them is missing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deepbass.core.labels import Ids, Labels


def lots(ids: Ids) -> NDArray[np.uint64]:
    """Give every id its lot (SplitMix64, Steele et al., 2014): distinct ids have distinct ones."""
    with np.errstate(over="ignore"):
        x = (np.asarray(ids).astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return mixed


def drawn(ids: Ids, count: int) -> Ids:
    """Take the lowest lots of some ids: a draw that is the same whenever it is made."""
    order = np.argsort(lots(ids), kind="stable")
    taken: Ids = ids[order[:count]]
    return taken


def fair(labels: Labels) -> Ids:
    """List the known samples that are a fair sample of the pool, whoever else was asked about and why."""
    unknown, known = labels.unknown, labels.known
    if not len(unknown):
        return known
    fair_ids: Ids = known[lots(known) < lots(unknown).min()]
    return fair_ids
