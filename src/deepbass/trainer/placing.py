"""Lay out where every item lies among all, for the page to find those that are like one (label/neighbours.py)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deepbass.core.pool_places import placed
from deepbass.data.pool import Pool
from deepbass.label.neighbours import DIMENSIONS
from deepbass.trainer.item_rows import ItemRows

_LEARNED_FROM = 2000  # samples that the main directions are found with


def place_items(pool: Pool, rows: ItemRows, rng: np.random.Generator) -> NDArray[np.float32]:
    """Project what the network sees of every item onto the main directions; items without a row are NaN."""
    points = placed(pool, DIMENSIONS, _LEARNED_FROM, rng)
    places = np.full((rows.count, DIMENSIONS), np.nan, dtype=np.float32)
    places[rows.items] = np.pad(points, ((0, 0), (0, DIMENSIONS - points.shape[1])))
    return places
