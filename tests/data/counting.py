"""Features that tests can reckon with: the length of a text, the brightness of a picture, the numbers of a row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.raw_samples import RawSamples, UnreadableSample
from deepbass.data.featurised import Featurised
from deepbass.data.source import Part, is_raw


def count(train: Part, validation: Part | None) -> Featurised:
    """Compute two numbers of every sample."""
    features, failed = _features(train)
    others, others_failed = (None, {}) if validation is None else _features(validation)
    return Featurised(features, others, failed, others_failed, ("counted",), "count")


def _features(part: Part) -> tuple[NDArray[np.float32], dict[int, str]]:
    assert is_raw(part.X)
    rows, failed = [], {}
    for row in range(len(part.X)):
        try:
            rows.append(_numbers(part.X, row))
        except UnreadableSample as error:
            failed[row] = str(error)
    return np.array(rows, dtype=np.float32).reshape(-1, 2), failed


def _numbers(samples: RawSamples, row: int) -> list[float]:
    found: Any = samples.read(row)
    match samples.kind:
        case "text":
            return [len(found), found.count("a")]
        case "image":
            return [float(np.asarray(found).mean()), float(found.width)]
    return [float(len(found)), float(sum(isinstance(cell, float) for cell in found.values()))]
