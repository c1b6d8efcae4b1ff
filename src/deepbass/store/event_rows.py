"""What the store gives back: one tuple a row."""

from __future__ import annotations

from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepbass.core.checked_json import check, read_json
from deepbass.core.errors import StoreError
from deepbass.core.foreign import decoding, excerpt
from deepbass.core.npy import read_array

INITIAL = "initial"  # the source of labels that were known at the start
BY_CLASS = ("recall",)  # metrics of which there is one number per class, None where a class has none


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
    source: str  # initial, simulated, replay, own (passed in Python), journal (of a labelling project)
    iteration: int | None
    at: str


class StepRow(NamedTuple):
    """A finished iteration: what was measured and how long its parts took."""

    iteration: int
    metrics: dict[str, Any]  # numbers, or None where there is none; lists of these by class
    seconds: dict[str, float]
    at: str

    @classmethod
    def of(cls, iteration: int, metrics: str, seconds: str, at: str) -> StepRow:
        """Make a step of what the database holds, where numbers are JSON."""
        with decoding(f"iteration {iteration}", "step", "Restore the run from a copy.", StoreError):
            number = (float, type(None))
            numbers = read_json(metrics, {"*": object})
            for name, value in numbers.items():
                check(value, [number] if name in BY_CLASS and value is not None else number, name)
            return cls(iteration, numbers, read_json(seconds, {"*": float}), at)


class Description(NamedTuple):
    """What a sample looked like: its name and, where there is one, a small picture."""

    name: str
    picture: NDArray[np.uint8] | None  # H x W or H x W x 3

    @classmethod
    def of(cls, name: str, packed: bytes | None) -> Description:
        """Make a description of what the database holds, where a picture is an .npy file."""
        if packed is None:
            return cls(name, None)
        with decoding(
            f"The picture of {excerpt(name)!r}", "array of pixels", "Restore the run from a copy.", StoreError
        ):
            picture = read_array(BytesIO(packed))
            if picture.dtype != np.uint8 or not picture.size or not (picture.ndim == 2 or picture.shape[2:] == (3,)):
                raise ValueError(f"it holds {picture.dtype} values of shape {picture.shape}")
            return cls(name, picture)
