"""Lay out where every item lies among all, for the page to find those that are like one (label/neighbours.py)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deepbass.core.typical import main_directions
from deepbass.data.pool import Pool
from deepbass.label.neighbours import DIMENSIONS
from deepbass.trainer.item_rows import ItemRows

_LEARNED_FROM = 2000  # samples that the main directions are found with
_CHUNK = 500  # samples read at a time


def place_items(pool: Pool, rows: ItemRows, rng: np.random.Generator) -> NDArray[np.float32]:
    """Project what the network sees of every item onto the main directions; items without a row are NaN."""
    some = np.sort(rng.choice(len(pool), min(_LEARNED_FROM, len(pool)), replace=False))
    seen = _flat(pool, some)
    middle = seen.mean(0)
    seen -= middle
    wide = seen.shape[1] > DIMENSIONS
    directions = main_directions(seen, min(DIMENSIONS, len(some)), rng) if wide else np.eye(seen.shape[1], dtype="f4")
    places = np.full((rows.count, DIMENSIONS), np.nan, dtype=np.float32)
    for begin in range(0, len(pool), _CHUNK):
        chunk = np.arange(begin, min(begin + _CHUNK, len(pool)))
        laid = (_flat(pool, chunk) - middle) @ directions.T
        places[rows.items[chunk]] = np.pad(laid, ((0, 0), (0, DIMENSIONS - laid.shape[1])))
    return places


def _flat(pool: Pool, ids: NDArray[np.int64]) -> NDArray[np.float32]:
    return pool.read(ids).reshape(len(ids), -1)
