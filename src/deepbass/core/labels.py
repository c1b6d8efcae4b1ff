"""What is known and what is guessed about every sample of the pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DataError

Ids = NDArray[np.int64]
Classes = NDArray[np.int64]

UNKNOWN = -1  # scikit-learn's mark for "no label"
NO_IDS: Ids = np.empty(0, dtype=np.int64)


_AT_A_TIME = 1 << 18  # samples: what is made of a large pool on the way stays small


def class_type(classes: int) -> np.dtype[Any]:
    """Find the smallest type that holds every class, and UNKNOWN."""
    return np.min_scalar_type(-max(1, classes))


def id_type(samples: int) -> np.dtype[Any]:
    """Find the smaller of two types that holds every id of a pool: what lists them all is half as long in it."""
    return np.dtype(np.int32 if samples <= np.iinfo(np.int32).max else np.int64)


def short_ids(chosen_N: NDArray[np.bool_]) -> Ids:
    """List the ids that are chosen, as `np.flatnonzero` does, in the type of `id_type`."""
    ids = np.empty(np.count_nonzero(chosen_N), id_type(len(chosen_N)))
    done = 0
    for start in range(0, len(chosen_N), _AT_A_TIME):
        found = np.flatnonzero(chosen_N[start : start + _AT_A_TIME])
        ids[done : done + len(found)] = found + start
        done += len(found)
    return ids


def shuffled(count: int, rng: np.random.Generator) -> Ids:
    """Draw an order as ``rng.permutation(count)`` does, in the type of `id_type`."""
    order: Ids = np.arange(count, dtype=id_type(count))
    rng.shuffle(order)
    return order


class Answers(NamedTuple):
    """What an oracle said: sample ids and their classes. A class of UNKNOWN takes an earlier answer back."""

    ids: Ids
    classes: Classes


NO_ANSWERS = Answers(NO_IDS, NO_IDS)


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of all samples, by global id. A value: each method returns new labels and changes nothing.

    ``answer`` holds ground truth, ``guess`` the pseudo-labels in use, ``asked`` what was ever asked for. Classes are
    held in the smallest type that they fit in: three bytes a sample, up to 128 classes.
    """

    classes: int
    answer: Classes
    guess: Classes
    asked: NDArray[np.bool_]

    def __post_init__(self) -> None:
        kind = class_type(self.classes)
        for name in ("answer", "guess"):
            object.__setattr__(self, name, np.asarray(getattr(self, name)).astype(kind, copy=False))
        for array in (self.answer, self.guess, self.asked):
            array.flags.writeable = False

    @classmethod
    def none(cls, samples: int, classes: int) -> Labels:
        """Make the labels of a pool about which nothing is known."""
        unknown = np.full(samples, UNKNOWN, dtype=class_type(classes))
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
        return np.flatnonzero(self.may_be_asked)

    @property
    def may_be_asked(self) -> NDArray[np.bool_]:
        """Whether a sample may still be asked for, for each."""
        free_N: NDArray[np.bool_] = (self.answer == UNKNOWN) & ~self.asked
        return free_N

    def guessed(self, ids: Ids, classes: Classes) -> Labels:
        """Replace all pseudo-labels. A guess about a sample with an answer is dropped: answers stand."""
        ids, classes = np.asarray(ids), np.asarray(classes)
        if ids.shape != classes.shape or ids.ndim != 1:
            raise _unpaired(ids, classes)
        guess = np.full(len(self), UNKNOWN, dtype=self.guess.dtype)
        for start in range(0, len(ids), _AT_A_TIME):
            part = slice(start, start + _AT_A_TIME)
            some, their = self._checked(ids[part], classes[part], lowest=0)
            open_ = self.answer[some] == UNKNOWN
            guess[some[open_]] = their[open_]
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
        unknown = np.full(more, UNKNOWN, dtype=class_type(classes))
        return Labels(
            classes,
            np.concatenate([self.answer, unknown]),
            np.concatenate([self.guess, unknown]),
            np.concatenate([self.asked, np.zeros(more, dtype=np.bool_)]),
        )

    def curriculum(self, copies: int) -> tuple[Ids, Classes]:
        """List what one epoch trains on: every known label ``copies`` times, every guess once."""
        known, members = (short_ids(labels != UNKNOWN) for labels in (self.answer, self.guess))
        ids = np.concatenate([np.repeat(known, copies), members])
        classes = np.concatenate([np.repeat(self.answer[known], copies), self.guess[members]])
        return ids, classes

    def _checked(self, ids: Ids, classes: Classes, lowest: int) -> tuple[Ids, Classes]:
        ids, classes = np.asarray(ids, dtype=np.int64), np.asarray(classes, dtype=np.int64)
        if ids.shape != classes.shape or ids.ndim != 1:
            raise _unpaired(ids, classes)
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


def _unpaired(ids: Ids, classes: Classes) -> DataError:
    return DataError(f"{ids.shape} sample ids came with {classes.shape} classes: give one class an id.")
