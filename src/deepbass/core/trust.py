"""How much guesses may count, by what they did for samples whose label was known but kept from the training."""

from __future__ import annotations

from math import comb

TOO_LITTLE = 0.1  # trust below this is none
PROVEN = 0.9  # a probability from which on something has been shown


def trust(better: int, worse: int) -> float:
    """Turn evidence into a weight from 0 to 1: 1 until it speaks against the guesses, 0 when it does so clearly.

    It is twice the probability that they help, 1 at most.
    """
    weight = min(1.0, 2 * helps(better, worse))
    return weight if weight >= TOO_LITTLE else 0.0


def proven(better: int, worse: int) -> bool:
    """Tell whether the evidence speaks clearly for the guesses."""
    return helps(better, worse) >= PROVEN


def helps(better: int, worse: int) -> float:
    """Tell how probable it is that one way of learning is better than the other.

    Of samples that the two disagree about, it was right about ``better`` and the other about ``worse``. Before any is
    seen, every share of the former is as likely; this is the probability, afterwards, that the share is above a half.
    """
    tosses = better + worse + 1
    above_half: float = sum(comb(tosses, heads) for heads in range(better + 1)) / 2**tosses
    return above_half
