"""Features that are made of several kinds, each of which is computed and kept for itself.

What is fitted on a pool changes with it, and what a large network makes of a sample does not: kept apart, only the
first is computed again for another pool.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepbass.core.raw_samples import RawSamples
from deepbass.features.extractor import Extractor, Features, JoinedExtractor, Progress, side_by_side
from deepbass.features.feature_array import FeatureArray, silent


class JoinedFeatures:
    """Reads like a `FeatureArray`, from one of each part."""

    dtype = np.dtype(np.float32)

    def __init__(self, samples: RawSamples, extractor: JoinedExtractor, folder: Path | None) -> None:
        """Find in ``folder`` what was computed before; None keeps nothing on disk."""
        self.extractor, self.folder = extractor, folder
        self.on_progress: Progress = silent
        self.parts = [FeatureArray(samples, part, folder) for part in extractor.parts]
        self._samples = samples

    def __len__(self) -> int:
        return len(self.parts[0])

    def name(self, row: int) -> str:
        """Name a sample."""
        return self._samples.name(row)

    @property
    def shape(self) -> tuple[int, int]:
        """How many samples there are, and numbers of each."""
        return len(self), self.extractor.width

    @property
    def ready(self) -> NDArray[np.bool_]:
        """Tell of every row whether it can be read."""
        ready = np.ones(len(self), dtype=np.bool_)
        for part in self.parts:
            ready &= part.ready
        return ready

    @property
    def failed(self) -> dict[int, str]:
        """Tell which rows have no features, and why."""
        return {row: why for part in reversed(self.parts) for row, why in part.failed.items()}

    @property
    def side_by_side(self) -> int:
        """How many batches are computed at a time."""
        return self.parts[0].side_by_side

    @property
    def notes(self) -> list[str]:
        """What users should know about where the features are."""
        return list(dict.fromkeys(note for part in self.parts for note in part.notes))

    def __getitem__(self, rows: Any) -> Features:
        """Read features: of one row, of a slice, of an array of rows or of a mask."""
        return side_by_side([part[rows] for part in self.parts], self.extractor.factors)

    def compute(self, rows: ArrayLike | None = None, progress: Progress | None = None) -> None:
        """Compute what is missing of these rows; None means all. The slow part tells how far it is."""
        first, *others = self.parts
        for part in others:
            part.compute(rows)
        first.compute(rows, progress if progress is not None else self.on_progress)


ComputedFeatures = FeatureArray | JoinedFeatures


def features_of(samples: RawSamples, extractor: Extractor, folder: Path | None) -> ComputedFeatures:
    """Open the features of samples, by part where there are several."""
    if hasattr(extractor, "parts"):
        return JoinedFeatures(samples, cast(JoinedExtractor, extractor), folder)
    return FeatureArray(samples, extractor, folder)
