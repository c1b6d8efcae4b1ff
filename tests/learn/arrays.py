"""A pool in a few lines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deepbass.core.labels import Ids


class Arrays:
    """Samples that lie in memory."""

    def __init__(self, values: NDArray[np.float32]) -> None:
        self._values = values
        self.shape: tuple[int, ...] = values.shape[1:]

    def __len__(self) -> int:
        return len(self._values)

    def read(self, ids: Ids) -> NDArray[np.float32]:
        return self._values[ids]
