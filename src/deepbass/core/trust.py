"""How much guesses may count, by what they did for samples whose label was known but kept from the training."""

from __future__ import annotations

from math import comb

TOO_LITTLE = 0.1  # trust below this is none


def trust(better: int, worse: int) -> float:
    """Turn evidence into a weight from 0 to 1: 1 until it speaks against the guesses, 0 when it does so clearly.

    Of samples that two ways of learning disagree about, one was right about ``better`` and the other about ``worse``.
    Before any is seen, every share of the former is as likely; the weight is twice the probability, afterwards, that
    the share is above a half, 1 at most.
    """
    tosses = better + worse + 1
    above_half = sum(comb(tosses, heads) for heads in range(better + 1)) / 2**tosses
    weight = min(1.0, 2 * above_half)
    return weight if weight >= TOO_LITTLE else 0.0
