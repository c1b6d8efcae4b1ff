"""Lots: a number for every sample that hangs on nothing but its id, so that whoever has the lowest was drawn at random.

Who asks at random asks in the order of lots. So it can be told afterwards, without having been written down, which
answers are a fair sample of the pool: those of the lowest lots, as far as nobody among them is missing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deepbass.core.labels import NO_IDS, Ids, Labels


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
    lots_N = lots(ids)
    lowest = np.argpartition(lots_N, count)[:count] if count < len(ids) else np.arange(len(ids))
    taken: Ids = ids[lowest[np.argsort(lots_N[lowest], kind="stable")]]
    return taken


def fair(labels: Labels, never_asked: Ids = NO_IDS) -> Ids:
    """List the known samples that are a fair sample of the pool, whoever else was asked about and why.

    Samples that are ``never_asked``, such as those of an audit, are no part of that pool.
    """
    unknown, known = np.setdiff1d(labels.unknown, never_asked), labels.known
    if not len(unknown):
        return known
    fair_ids: Ids = known[lots(known) < lots(unknown).min()]
    return fair_ids
