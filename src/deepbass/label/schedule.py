"""When a question of some kind is due: a share of all questions, even over time, at random within."""

from __future__ import annotations

from deepbass.core.randomness import generator


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
