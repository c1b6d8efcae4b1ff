"""A decision field small enough to be kept with the results: one byte a place."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path
from typing import Any

import numpy as np

_EVERY = 2  # of the run's own grid, points that are kept in each direction


def thumbnail(file: Path) -> dict[str, Any] | None:
    """Shrink the field of a run on two classes in the plane; None for any other run."""
    if not file.exists():
        return None
    with np.load(file, allow_pickle=False) as field:
        if field["probs"].shape[-1] != 2:
            return None
        xs, ys = field["xs"][::_EVERY], field["ys"][::_EVERY]
        second_Y_X = np.round(255 * field["probs"][::_EVERY, ::_EVERY, 1]).astype(np.uint8)
        return {
            "x": [round(float(xs[0]), 4), round(float(xs[-1]), 4)],
            "y": [round(float(ys[0]), 4), round(float(ys[-1]), 4)],
            "side": len(xs),
            "second": base64.b64encode(zlib.compress(second_Y_X.tobytes(), 9)).decode(),
            "known": field["known"].tolist(),
            "initial": field["initial"].tolist(),
        }
