"""Which item of a labelling project each row of the pool is: the one place where the two are told apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepbass.core.labels import Ids

T = TypeVar("T")


class ItemRows:
    """Turns item ids into rows of the pool and back. What could not be decoded is an item without a row."""

    def __init__(self, items: Ids, count: int) -> None:
        """Number the rows: ``items[row]`` is the item; ``count`` is how many items the project has."""
        self.items: Ids = np.asarray(items, dtype=np.int64)
        self.count = count
        self._row = np.full(count, -1, dtype=np.int64)
        self._row[self.items] = np.arange(len(self.items))

    def __len__(self) -> int:
        return len(self.items)

    def of(self, items: Iterable[int]) -> Ids:
        """Find the rows of some items, in order; those without a row are left out."""
        asked = np.fromiter(items, dtype=np.int64)
        rows = self._row[asked[(asked >= 0) & (asked < self.count)]]  # a later item is not known here yet
        return np.sort(rows[rows >= 0])

    def by_row(self, by_item: Mapping[int, T]) -> dict[int, T]:
        """Tell what is known of items as known of rows; what is known of others is left out."""
        return {int(self._row[item]): value for item, value in by_item.items() if self._has(item)}

    def by_item(self, values_N: ArrayLike, missing: Any, dtype: type) -> NDArray[Any]:
        """Lay out one value per row as one value per item; items without a row get the value ``missing``."""
        laid: NDArray[Any] = np.full(self.count, missing, dtype=dtype)
        laid[self.items] = values_N
        return laid

    def _has(self, item: int) -> bool:
        return 0 <= item < self.count and bool(self._row[item] >= 0)
