"""What the store gives back: one tuple a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class QuestionRow(NamedTuple):
    """A sample that was asked for."""

    id: int
    sample: int
    iteration: int
    at: str


class AnswerRow(NamedTuple):
    """What someone said about a sample; a class of -1 takes back what was said before."""

    id: int
    sample: int
    class_: int
    source: str  # initial, simulated, replay, person
    annotator: str | None
    iteration: int | None
    at: str


class StepRow(NamedTuple):
    """A finished iteration: what was measured and how long its parts took."""

    iteration: int
    metrics: dict[str, float | int | None]
    seconds: dict[str, float]
    at: str


class Description(NamedTuple):
    """What a sample looked like: its name and, where there is one, a small picture."""

    name: str
    picture: NDArray[np.uint8] | None
