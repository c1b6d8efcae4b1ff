"""How a session went: what was asked last, and a point of a curve whenever its model looked at the whole pool.

There is no validation part in a session. What can be told without one is how sure the model is of rows without a label,
and how often it had guessed a label before it was told: on questions, which are chosen to be hard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from deepbass.core.belief import Floats
from deepbass.core.labels import UNKNOWN, Answers, Ids, Labels

RECENT = 20  # labels that the share of foreseen ones is over
LAST = 12  # questions that are remembered in their order


@dataclass(frozen=True)
class CurvePoint:
    """What the model was like with some number of labels."""

    labels: int
    sure: float  # mean probability of its guesses, over rows without a label
    foreseen: float | None  # share of the last labels that it had guessed before they were told; None: there were none


@dataclass
class SessionCurve:
    """The points in order of time, and what it takes to add one."""

    points: list[CurvePoint] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)  # ids, the latest last
    _guess: Ids | None = None  # of every sample, as of the last look
    _before: dict[int, int] = field(default_factory=dict)  # what was guessed of samples whose label was told since

    def ask(self, ids: Ids) -> None:
        """Remember what was asked for."""
        self.asked = [*(id_ for id_ in self.asked if id_ not in ids), *ids.tolist()][-LAST:]

    def hear(self, labels: Labels, answers: Answers) -> None:
        """Hear answers, before they are among the labels: the guess that was there first is what counts."""
        if self._guess is None:
            return
        known = min(len(labels), len(self._guess))
        for id_ in answers.ids.tolist():
            if id_ < known and labels.answer[id_] == UNKNOWN:
                self._before.setdefault(id_, int(self._guess[id_]))

    def look(self, labels: Labels, probs_N_C: Floats) -> None:
        """Add a point, or put it in the place of the last one if no label has come since."""
        open_ = labels.answer == UNKNOWN
        self._guess = probs_N_C.argmax(1)
        if not open_.any():
            return
        known, sure, foreseen = len(labels.known), float(probs_N_C[open_].max(1).mean()), self.foreseen(labels)
        if self.points and self.points[-1].labels == known:
            before = self.points.pop()
            foreseen = before.foreseen if foreseen is None else foreseen  # what is opened again starts to count anew
        self.points.append(CurvePoint(known, sure, foreseen))

    def foreseen(self, labels: Labels) -> float | None:
        """Tell how many of the last labels the model had guessed before it was told them."""
        told = [id_ for id_ in self._before if labels.answer[id_] != UNKNOWN][-RECENT:]
        return float(np.mean([labels.answer[id_] == self._before[id_] for id_ in told])) if told else None

    def packed(self) -> list[list[float | None]]:
        """Write the points as JSON has them."""
        return [[point.labels, point.sure, point.foreseen] for point in self.points]

    @classmethod
    def unpacked(cls, points: Sequence[Sequence[float | None]], asked: Sequence[int], samples: int) -> SessionCurve:
        """Read them again; a ValueError says what cannot be."""
        made = [CurvePoint(int(labels or 0), sure or 0.0, foreseen) for labels, sure, foreseen in points]
        if any(point.labels not in range(samples + 1) for point in made):
            raise ValueError("a point of its curve has more labels than there are samples")
        if any(not 0 <= share <= 1 for point in made for share in (point.sure, point.foreseen or 0.0)):
            raise ValueError("a share of its curve is not between 0 and 1")
        if any(id_ not in range(samples) for id_ in asked):
            raise ValueError("it has asked for a sample that does not exist")
        return cls(made, list(asked))
