"""How many kinds of things a network that knows photographs sees in some pictures. No label is looked at.

Digits and letters look all alike to it, whatever they say; clothes, animals and machines do not. Where it tells things
apart, what it sees of a picture says more about it than pixels do.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from deepbass.features.imagenet import ImagenetFeatures, side_for
from deepbass.features.picture_sizes import shorter_side


def kinds_seen(pictures: list[Any]) -> float:
    """Count the kinds that the network tells apart in pictures, from 1 up: their Inception score.

    That is the exponential of what the picture tells about the network's verdict, the mutual information of both
    (Salimans et al., 2016): high where it is sure of every picture, and not of the same in all.
    """
    extractor, threads = _network(side_for(shorter_side(pictures))), torch.get_num_threads()
    torch.set_num_threads(1)  # it is a second's work, and threads that wait for a busy processor make it a minute's
    try:
        return inception_score(extractor.verdicts(extractor.compute(pictures)))
    finally:
        torch.set_num_threads(threads)


@cache
def _network(side: int) -> ImagenetFeatures:
    return ImagenetFeatures(side)


def inception_score(probs_N_C: NDArray[np.floating]) -> float:
    """Compute exp(H(mean of the rows) - mean of H(row))."""
    return float(np.exp(_entropy(probs_N_C.mean(0)) - _entropy(probs_N_C).mean()))


def _entropy(probs: NDArray[np.floating]) -> NDArray[np.float64]:
    probs = np.maximum(probs.astype(np.float64), 1e-300)
    entropy: NDArray[np.float64] = -(probs * np.log(probs)).sum(-1)
    return entropy
