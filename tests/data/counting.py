"""Features that tests can reckon with: the length of a text, the brightness of a picture, the numbers of a row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepbass.core.raw_samples import RawSamples, UnreadableSample
from deepbass.data.featurised import Featurised
from deepbass.data.source import Part, is_raw


class Counted:
    """Two numbers of every sample, computed when they are wanted."""

    dtype = np.dtype(np.float32)

    def __init__(self, part: Part) -> None:
        assert is_raw(part.X)
        self._samples = part.X
        self.shape = (len(part.X), 2)
        self.failed: dict[int, str] = {}
        self.computed: dict[int, list[float]] = {}

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, rows: Any) -> NDArray[np.float32]:
        return np.array([self.computed[int(row)] for row in np.arange(len(self))[rows]], dtype=np.float32)

    def compute(self, rows: ArrayLike) -> None:
        """Count."""
        for row in np.asarray(rows).tolist():
            try:
                self.computed[row] = _numbers(self._samples, row)
            except UnreadableSample as error:
                self.failed[row] = str(error)


def count(train: Part, validation: Part | None) -> Featurised:
    """Compute two numbers of every sample."""
    others = None if validation is None else Counted(validation)
    return Featurised(Counted(train), others, ("counted",), "count")


def _numbers(samples: RawSamples, row: int) -> list[float]:
    found: Any = samples.read(row)
    match samples.kind:
        case "text":
            return [len(found), found.count("a")]
        case "image":
            return [float(np.asarray(found).mean()), float(found.width)]
    return [float(len(found)), float(sum(isinstance(cell, float) for cell in found.values()))]
