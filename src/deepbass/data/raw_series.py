"""Series of numbers over time, the rows of an array N x T x F; and how they are told from grey pictures, N x H x W."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.raw_samples import Kind, UnreadableSample
from deepbass.data.raw_rows import RowNumbers, key_of

ELONGATED = 2  # times as long as wide: pictures are seldom longer
LOOKED_AT = 256  # samples, evenly spread over all, whose numbers are looked at
BRIGHTEST = 255


class ArraySeries:
    """The series of an array N x T x F: F numbers at each of T moments."""

    kind: Kind = "series"

    def __init__(self, array: NDArray[Any], names: Sequence[str] | RowNumbers | None = None) -> None:
        """Take an array, which is neither copied nor changed; ``names`` are its rows' names."""
        self._array = array
        self._names = RowNumbers("train/") if names is None else names

    def __len__(self) -> int:
        return len(self._array)

    def name(self, row: int) -> str:
        """Name a series."""
        return self._names[row]

    def read(self, row: int) -> NDArray[np.float32]:
        """Read a series, T x F."""
        with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is found
            values: NDArray[np.float32] = np.asarray(self._array[row]).astype(np.float32)
        if not np.isfinite(values).all():
            raise UnreadableSample("it holds what is not a finite number")
        return values

    def key(self, row: int) -> bytes:
        """Sum a series up."""
        values = np.ascontiguousarray(self._array[row])
        return key_of(repr((values.shape, values.dtype.str)).encode(), values.tobytes())


def is_series(X: Any) -> bool:
    """Tell whether an array N x A x B holds series rather than grey pictures.

    It holds pictures if its numbers are bytes, or whole and from 0 to 255, or if the longer of its sides is at most
    twice as long as the shorter one.
    """
    if not is_stack(X) or X.dtype == np.uint8 or X.dtype.kind == "b":
        return False
    shorter, longer = sorted(X.shape[1:])
    if longer <= ELONGATED * shorter:
        return False
    some = np.asarray(X[np.unique(np.linspace(0, len(X) - 1, min(len(X), LOOKED_AT)).astype(int))], dtype=np.float64)
    some = some[np.isfinite(some)]
    whole = bool((some == np.round(some)).all()) and some.min(initial=0) >= 0 and some.max(initial=0) <= BRIGHTEST
    return not whole


def is_stack(X: Any) -> bool:
    """Tell whether X is an array of numbers with three dimensions: pictures or series."""
    return isinstance(X, np.ndarray) and X.ndim == 3 and X.dtype.kind in "biuf" and X.size > 0
