"""An oracle that knows the truth, and errs as often as it is told to."""

from __future__ import annotations

import numpy as np

from deepbass.core.errors import DataError
from deepbass.core.labels import UNKNOWN, Answers, Classes, Ids
from deepbass.core.randomness import generator


class Simulated:
    """Answers from the labels of the data, at once; about a sample without a label it is silent."""

    def __init__(self, truth: Classes, classes: int, *, error_rate: float = 0.0, seed: int = 0) -> None:
        truth = np.asarray(truth)
        strange = truth[(truth < UNKNOWN) | (truth >= classes)]
        if len(strange):
            raise DataError(f"Class {strange[0]} is outside the {classes} classes (0 to {classes - 1}).")
        self._said = truth
        if not error_rate:
            return
        # errors are drawn for every sample beforehand: neither the order of asking nor a resume changes them
        rng = generator(seed, 0, "oracle errors")
        wrong = (rng.random(len(truth)) < error_rate) & (truth != UNKNOWN)
        shift = rng.integers(1, max(classes, 2), len(truth))  # to any other class, all equally likely
        self._said = np.where(wrong, (truth + shift) % classes, truth)

    def ask(self, ids: Ids) -> Answers:
        """Answer the questions whose answer is known."""
        ids = ids[self._said[ids] != UNKNOWN]
        return Answers(ids, self._said[ids].astype(np.int64))
