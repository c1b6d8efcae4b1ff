"""What the rest of the house needs to know of a pool of samples."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from deepbass.core.labels import Ids


class Samples(Protocol):
    """Samples with stable global ids 0 to n - 1, and nothing about their labels."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample as the network sees it."""

    def __len__(self) -> int: ...

    def read(self, ids: Ids) -> NDArray[np.float32]:
        """Read some samples, in the order of their ids."""
