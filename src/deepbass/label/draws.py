"""One random number an item, drawn for ever: it depends on the seed, the purpose and the item's id, on nothing else.

So what it decides stays decided when more items come, and has nothing to do with anybody's answer or with the model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deepbass.core.randomness import seed_for


def draw(seed: int, purpose: str, count: int) -> NDArray[np.float64]:
    """Draw the numbers of the first ``count`` items, each at least 0 and below 1.

    They come from the bare bit generator: unlike what NumPy makes of it, its stream is promised never to change.
    """
    bits = np.random.PCG64(seed_for(seed, 0, purpose)).random_raw(count)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
