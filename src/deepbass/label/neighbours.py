"""Which items are like another: where each lies among all, as the trainer left it in the folder of its model.

A row of DIMENSIONS numbers of 16 bits per item, without a head: 640 KB for 10,000 items. They are what is left of the
features (or pixels, or columns) that the network sees after a projection onto their main directions. An item that the
trainer has not seen yet has a row of NaN. Read without torch, and as a map of the file.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deepbass.files import whole_file
from deepbass.store.names import NEIGHBOURS_FILE

DIMENSIONS = 32
MOST_ITEMS = 200_000  # of more, none are kept: every look goes through all of them
_LARGEST = 6e4  # that 16 bits can hold

Places = NDArray[np.float16]


class Neighbours:
    """Finds what lies nearest to an item."""

    def __init__(self, places: Places) -> None:
        self._places = places

    @classmethod
    def open(cls, folder: Path) -> Neighbours | None:
        """Map the file in the folder of a model; None where there is none, or half of one."""
        path = folder / NEIGHBOURS_FILE
        try:
            items, rest = divmod(path.stat().st_size, DIMENSIONS * 2)
            if rest or not 0 < items <= MOST_ITEMS:
                return None
            return cls(np.memmap(path, np.float16, "r", 0, (items, DIMENSIONS)))
        except OSError:
            return None

    def has(self, item: int) -> bool:
        """Tell whether it is known where an item lies."""
        return 0 <= item < len(self._places) and bool(np.isfinite(self._places[item]).all())

    def nearest(self, item: int, among: NDArray[np.int64], count: int) -> list[tuple[int, float]]:
        """List the items nearest to one, with their distances (Euclid's), nearest first; those unseen are left out."""
        if not self.has(item):
            return []
        among = among[among < len(self._places)]
        with np.errstate(all="ignore"):  # a damaged file may hold anything
            apart = self._places[among].astype(np.float32)
            apart -= self._places[item].astype(np.float32)
            away = np.einsum("nd,nd->n", apart, apart)
        away[np.isnan(away)] = np.inf
        near = np.argpartition(away, count)[:count] if count < len(away) else np.arange(len(away))
        near = near[np.lexsort((near, away[near]))]
        return [(int(among[place]), float(np.sqrt(away[place]))) for place in near if np.isfinite(away[place])]


def write_neighbours(folder: Path, places: NDArray[np.floating]) -> None:
    """Leave the file in the folder of a model, whole; items that were not seen have rows of NaN."""
    size = float(np.nanmax(np.abs(places), initial=0.0))
    scaled = places if size <= _LARGEST else places * (_LARGEST / size)
    with whole_file(folder / NEIGHBOURS_FILE) as file:
        file.write(np.ascontiguousarray(scaled, dtype=np.float16).tobytes())
