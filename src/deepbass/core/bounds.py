"""Where a score can still end up, whatever the passes that are left will say.

Each pass left adds one probability vector. Each bound is the score of some such outcome, so none could be closer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deepbass.core.belief import Floats, Partial, entropy


def lowest_entropy(partial: Partial) -> Floats:
    """Put all mass on the leading class: a concave function is lowest in a corner, and this one is the most uneven."""
    sums_N_C = partial.probs_N_C.copy()
    sums_N_C[np.arange(len(sums_N_C)), sums_N_C.argmax(1)] += partial.left
    return entropy(sums_N_C / partial.passes)


def highest_entropy(partial: Partial) -> Floats:
    """Pour the mass like water: the lowest classes rise to one level, the others stay as they are."""
    rising_N_C = np.sort(partial.probs_N_C, axis=1)
    below_N_C = rising_N_C.cumsum(1)
    width_C = np.arange(1, rising_N_C.shape[1] + 1)
    # the k lowest are under water if lifting all of them to the k-th takes no more than there is
    wet_N = (width_C * rising_N_C - below_N_C <= partial.left[:, None]).sum(1)
    level_N = (below_N_C[np.arange(len(wet_N)), wet_N - 1] + partial.left) / wet_N
    return entropy(np.maximum(rising_N_C, level_N[:, None]) / partial.passes)


def lowest_information(partial: Partial) -> Floats:
    """Let each pass left equal the mean so far: it cannot tell less of the weights, for entropy is concave."""
    done_N = partial.done_N
    so_far_N = done_N * entropy(partial.probs_N_C / done_N[:, None]) - partial.entropy_N
    return np.maximum(so_far_N, 0.0) / partial.passes


def highest_information(partial: Partial) -> Floats:
    """Let each pass left be certain of the class that has least so far.

    H(mean) - mean(H) is convex in each single pass, so it is highest where all are certain; and entropy is concave,
    so that each of them adds most to the lowest class.
    """
    sums_N_C, left_N = partial.probs_N_C.copy(), partial.left
    for pass_ in range(left_N.max(initial=0)):
        sums_N_C[np.arange(len(sums_N_C)), sums_N_C.argmin(1)] += left_N > pass_
    return np.maximum(entropy(sums_N_C / partial.passes) - partial.entropy_N / partial.passes, 0.0)


def lowest_doubt(partial: Partial) -> Floats:
    """Bound 1 - confidence: all mass goes to the leading class."""
    return 1.0 - _share(partial.probs_N_C.max(1) + partial.left, partial)


def highest_doubt(partial: Partial) -> Floats:
    """Bound 1 - confidence: all mass goes to the others, until all classes are equal."""
    level = partial.passes / partial.probs_N_C.shape[1]
    return 1.0 - _share(np.maximum(partial.probs_N_C.max(1), level), partial)


def lowest_dissent(partial: Partial) -> Floats:
    """Bound 1 - agreement: all votes left go to the most voted class."""
    return 1.0 - _share(partial.votes_N_C.max(1) + partial.left, partial)


def highest_dissent(partial: Partial) -> Floats:
    """Bound 1 - agreement: all votes left go to the others, until all classes are equal but for a vote."""
    level = -(-partial.passes // partial.votes_N_C.shape[1])
    return 1.0 - _share(np.maximum(partial.votes_N_C.max(1), level), partial)


def lowest_closeness(partial: Partial) -> Floats:
    """Bound the negative margin: all mass goes to the leading class."""
    return -(partial.lead + partial.left) / partial.passes


def highest_closeness(partial: Partial) -> Floats:
    """Bound the negative margin: all mass goes to the second class, until it draws level."""
    return -np.maximum(partial.lead - partial.left, 0.0) / partial.passes


def _share(sums_N: NDArray[np.floating] | NDArray[np.integer], partial: Partial) -> Floats:
    """Divide by the number of all passes."""
    share_N: Floats = sums_N / partial.passes
    return share_N
