"""Chance that anybody can draw again: it depends on the seed, a purpose, and an item's id or a count, on nothing else.

So what it decides stays decided when more items come, and has nothing to do with anybody's answer or with the model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deepbass.core.randomness import generator, seed_for


def draw(seed: int, purpose: str, count: int) -> NDArray[np.float64]:
    """Draw one number per item, of the first ``count`` items, each at least 0 and below 1.

    They come from the bare bit generator: unlike what NumPy makes of it, its stream is promised never to change.
    """
    bits = np.random.PCG64(seed_for(seed, 0, purpose)).random_raw(count)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def behind(share: float, questions: int, given: int, seed: int, purpose: str) -> int:
    """Tell by how many the questions of a kind are behind, if the next one is not of that kind; 0 or less: none is due.

    Of the first n questions, share * n are to be of the kind, rounded down or up. Where within its stretch of
    1 / share questions each falls is drawn at random, so nobody can tell which question is one. It follows from counts
    (``questions`` so far, ``given`` of the kind among them) and the seed, so the model has no say in it.
    """
    wanted = share * (questions + 1)
    whole = int(wanted)
    drawn = generator(seed, whole, purpose).random() < wanted - whole
    return whole + drawn - given
