"""The decision field of two-dimensional data, kept in the run directory for the report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deepbass.core.labels import Ids, Labels
from deepbass.data.load import Data
from deepbass.data.pool import Pool
from deepbass.learn.learner import LocalLearner
from deepbass.store.names import FIELD_FILE

_GRID = 240  # points a side


def write_field(path: Path, learner: LocalLearner, data: Data, labels: Labels, initial: Ids) -> None:
    """Save the predicted probabilities on a grid around the data, and the data itself."""
    points = data.pool.read(np.arange(len(data.pool)))
    xs, ys = _axis(points[:, 0]), _axis(points[:, 1])
    grid = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2).astype(np.float32)
    probs = learner.probabilities(Pool(grid, "grid")).reshape(_GRID, _GRID, -1)
    np.savez_compressed(
        path / FIELD_FILE,
        xs=xs,
        ys=ys,
        probs=probs.astype(np.float32),
        points=points,
        truth=data.truth,
        known=labels.known,
        initial=initial,
    )


def _axis(values: NDArray[np.float32]) -> NDArray[np.float32]:
    low, high = float(values.min()), float(values.max())
    margin = 0.05 * (high - low or 1.0)
    return np.linspace(low - margin, high + margin, _GRID, dtype=np.float32)
