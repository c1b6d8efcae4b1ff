"""What is known and what is guessed about every sample of the pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DataError

Ids = NDArray[np.int64]
Classes = NDArray[np.int64]

UNKNOWN = -1  # scikit-learn's mark for "no label"
NO_IDS: Ids = np.empty(0, dtype=np.int64)


class Answers(NamedTuple):
    """What an oracle said: sample ids and their classes. A class of UNKNOWN takes an earlier answer back."""

    ids: Ids
    classes: Classes


NO_ANSWERS = Answers(NO_IDS, NO_IDS)


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of all samples, by global id. A value: each method returns new labels and changes nothing.

    ``answer`` holds ground truth, ``guess`` the pseudo-labels in use, ``asked`` what was ever asked for.
    """

    classes: int
    answer: Classes
    guess: Classes
    asked: NDArray[np.bool_]

    def __post_init__(self) -> None:
        for array in (self.answer, self.guess, self.asked):
            array.flags.writeable = False

    @classmethod
    def none(cls, samples: int, classes: int) -> Labels:
        """Make the labels of a pool about which nothing is known."""
        unknown = np.full(samples, UNKNOWN, dtype=np.int64)
        return cls(classes, unknown, unknown.copy(), np.zeros(samples, dtype=np.bool_))

    def __len__(self) -> int:
        return len(self.answer)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Labels):
            return NotImplemented
        return (
            self.classes == other.classes
            and np.array_equal(self.answer, other.answer)
            and np.array_equal(self.guess, other.guess)
            and np.array_equal(self.asked, other.asked)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def known(self) -> Ids:
        """Ids with ground truth: the paper's X."""
        return np.flatnonzero(self.answer != UNKNOWN)

    @property
    def unknown(self) -> Ids:
        """Ids without ground truth: the paper's X'."""
        return np.flatnonzero(self.answer == UNKNOWN)

    @property
    def members(self) -> Ids:
        """Ids that are in D by their pseudo-label."""
        return np.flatnonzero(self.guess != UNKNOWN)

    @property
    def spent(self) -> int:
        """How many labels are known or were asked for."""
        return int(((self.answer != UNKNOWN) | self.asked).sum())

    @property
    def askable(self) -> Ids:
        """Ids that may still be asked for: neither answered nor waiting for an answer."""
        return np.flatnonzero((self.answer == UNKNOWN) & ~self.asked)

    def guessed(self, ids: Ids, classes: Classes) -> Labels:
        """Replace all pseudo-labels. A guess about a sample with an answer is dropped: answers stand."""
        ids, classes = self._checked(ids, classes, lowest=0)
        open_ = self.answer[ids] == UNKNOWN
        guess = np.full(len(self), UNKNOWN, dtype=np.int64)
        guess[ids[open_]] = classes[open_]
        return Labels(self.classes, self.answer, guess, self.asked)

    def wanted(self, ids: Ids) -> Labels:
        """Mark samples as asked for, so that nobody is asked the same thing twice."""
        asked = self.asked.copy()
        asked[ids] = True
        return Labels(self.classes, self.answer, self.guess, asked)

    def answered(self, answers: Answers) -> Labels:
        """Take up answers: each beats a guess and an earlier answer; UNKNOWN takes an answer back."""
        ids, classes = self._checked(answers.ids, answers.classes, lowest=UNKNOWN)
        answer, guess = self.answer.copy(), self.guess.copy()
        for id_, class_ in zip(ids, classes, strict=True):  # in order: the last word on a sample counts
            answer[id_] = class_
        guess[answer != UNKNOWN] = UNKNOWN
        return Labels(self.classes, answer, guess, self.asked)

    def extended(self, samples: int, classes: int) -> Labels:
        """Add samples of which nothing is known, up to so many, and classes that nothing has yet."""
        more = samples - len(self)
        unknown = np.full(more, UNKNOWN, dtype=np.int64)
        return Labels(
            classes,
            np.concatenate([self.answer, unknown]),
            np.concatenate([self.guess, unknown]),
            np.concatenate([self.asked, np.zeros(more, dtype=np.bool_)]),
        )

    def curriculum(self, copies: int) -> tuple[Ids, Classes]:
        """List what one epoch trains on: every known label ``copies`` times, every guess once."""
        known, members = self.known, self.members
        ids = np.concatenate([np.repeat(known, copies), members])
        classes = np.concatenate([np.repeat(self.answer[known], copies), self.guess[members]])
        return ids, classes

    def _checked(self, ids: Ids, classes: Classes, lowest: int) -> tuple[Ids, Classes]:
        ids, classes = np.asarray(ids, dtype=np.int64), np.asarray(classes, dtype=np.int64)
        if ids.shape != classes.shape or ids.ndim != 1:
            raise DataError(f"{ids.shape} sample ids came with {classes.shape} classes: give one class an id.")
        wrong = ids[(ids < 0) | (ids >= len(self))]
        if len(wrong):
            raise DataError(f"Sample id {wrong[0]} does not exist: the pool has ids 0 to {len(self) - 1}.")
        wrong = np.flatnonzero((classes < lowest) | (classes >= self.classes))
        if len(wrong):
            first = wrong[0]
            raise DataError(
                f"Class {classes[first]} of sample {ids[first]} is outside the {self.classes} classes "
                f"(0 to {self.classes - 1})."
            )
        return ids, classes
