"""Samples of several arrays, one after the other, as if they were one: nothing is copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class JoinedArrays:
    """Indexes like one array, by rows; its parts may lie on disk."""

    def __init__(self, parts: Sequence[Any]) -> None:
        """Take arrays of samples of one shape and type."""
        self.parts = parts
        self._ends = np.cumsum([len(part) for part in parts])
        self.dtype: np.dtype[Any] = parts[0].dtype
        self.shape: tuple[int, ...] = (int(self._ends[-1]), *parts[0].shape[1:])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        """Read some rows."""
        wanted = np.arange(len(self))[rows]
        if wanted.ndim == 0:
            return self[[int(wanted)]][0]  # type: ignore[no-any-return]
        found = np.empty((len(wanted), *self.shape[1:]), dtype=self.dtype)
        which = np.searchsorted(self._ends, wanted, side="right")
        for place, part in enumerate(self.parts):
            here = which == place
            if here.any():
                found[here] = part[wanted[here] - (int(self._ends[place]) - len(part))]
        return found
