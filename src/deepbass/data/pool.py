"""The pool: samples with stable ids, read a few at a time. It holds no labels: truth lives with the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepbass.core.errors import DataError
from deepbass.core.labels import Ids
from deepbass.core.raw_samples import RawSamples, UnreadableSample
from deepbass.core.row_map import RowMap
from deepbass.data.joined_arrays import JoinedArrays
from deepbass.data.joined_samples import join
from deepbass.data.raw_rows import as_lines

LEVELS = 256  # the paper divides pixels by 256, not by 255
SIDE = 128  # pixels at most of a photograph's longer side where it is shown: hundreds are kept with a run


class Pool:
    """Samples with ids 0..n-1, taken from an array that may lie on disk."""

    def __init__(
        self,
        samples: NDArray[Any],
        names: Sequence[str] | str,
        rows: Ids | None = None,
        *,
        raw: RawSamples | None = None,
    ) -> None:
        """Wrap an array of N samples, which is neither copied nor changed.

        ``names`` holds one name per row of the array, or the part that the rows are numbered in, as in "train".
        ``rows`` are the rows in use, in the order of their ids; None takes all. ``raw`` is what the samples were
        computed from, for people to see, with the same rows.
        """
        self._samples = samples
        self._names = names
        self._raw = raw
        self._rows = rows
        self.shape: tuple[int, ...] = samples.shape[1:]
        self.pixels = samples.dtype == np.uint8  # bytes are divided by 256 when read

    def __len__(self) -> int:
        return len(self._samples) if self._rows is None else len(self._rows)

    @property
    def samples(self) -> NDArray[Any]:
        """The array that the samples are taken from, or what indexes like one."""
        return self._samples

    @property
    def rows(self) -> Ids:
        """Which rows of the data the samples are, in the order of their ids; listed when asked for, if it is all."""
        return np.arange(len(self._samples)) if self._rows is None else self._rows

    @property
    def whole(self) -> bool:
        """Whether the samples are all rows of the data, in their order."""
        return self._rows is None

    @property
    def row_map(self) -> RowMap:
        """What turns ids into rows of the data, and back."""
        return RowMap(self.rows, len(self._samples))

    def __repr__(self) -> str:
        return f"Pool({len(self)} samples of shape {self.shape})"

    def read(self, ids: ArrayLike) -> NDArray[np.float32]:
        """Read some samples as the network sees them; only what is asked for is ever converted."""
        values = self._samples[self._rows_of(ids)]
        if self.pixels:
            values = np.divide(values, LEVELS, dtype=np.float32)
        return np.ascontiguousarray(values, dtype=np.float32)

    def name(self, id_: int) -> str:
        """Tell the name that a sample has outside: its file, or its place in the source, as in "train/43210"."""
        row = int(self._rows_of([id_])[0])
        return f"{self._names}/{row}" if isinstance(self._names, str) else self._names[row]

    def picture(self, id_: int, side: int = SIDE) -> NDArray[np.uint8] | None:
        """Draw a sample as H x W (grey) or H x W x 3 (colour) pixels; None for what is no image.

        ``side`` is how long a photograph's longer side may be.
        """
        if self._raw is not None:
            return self._photograph(self._raw, id_, side) if self._raw.kind in ("image", "series") else None
        row = self._rows_of([id_])[0]
        match self.shape:
            case (1, _, _):
                return _pixels(self._samples[row][0])
            case (3, _, _):
                return _pixels(np.moveaxis(self._samples[row], 0, -1))
        return None

    def text(self, id_: int) -> str | None:
        """Read a text, or a row of a table as lines of ``column: value``; None for all else, and for what is gone."""
        if self._raw is None or self._raw.kind in ("image", "series"):
            return None
        try:
            found = self._raw.read(self._raw_row(id_))
        except UnreadableSample:
            return None
        return found if isinstance(found, str) else as_lines(found)

    def part(self, ids: ArrayLike) -> Pool:
        """Make the pool of some of the samples; its ids start at 0, the outer names stay."""
        return Pool(self._samples, self._names, self._rows_of(ids), raw=self._raw)

    def followed_by(self, other: Pool) -> Pool:
        """Make the pool of these samples and others after them; rows of the others count on from here."""
        samples = cast(NDArray[Any], JoinedArrays([self._samples, other._samples]))
        names = self._names if isinstance(self._names, str) else [*self._names, *map(other.name, range(len(other)))]
        raw = None if self._raw is None or other._raw is None else join([self._raw, other._raw])
        return Pool(samples, names, np.concatenate([self.rows, len(self._samples) + other.rows]), raw=raw)

    def _photograph(self, raw: RawSamples, id_: int, side: int) -> NDArray[np.uint8] | None:
        """Draw what features were computed from, no larger than it is shown: an image, or a series from left to right.

        None if its file is gone.
        """
        try:
            image = raw.read(self._raw_row(id_))
        except UnreadableSample:
            return None
        if raw.kind == "series":
            return _pixels(image.T[:side, :: max(1, len(image) // side)])
        image.thumbnail((side, side))
        return np.array(image)

    def _raw_row(self, id_: int) -> int:
        return int(self._rows_of([id_])[0])

    def _rows_of(self, ids: ArrayLike) -> Ids:
        given = np.asarray(ids)
        if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
            raise DataError(f"Sample ids are a list of whole numbers, not {given.dtype} of shape {given.shape}.")
        wrong = given[(given < 0) | (given >= len(self))]
        if len(wrong):
            raise DataError(f"Sample id {wrong[0]} does not exist: the pool has ids 0 to {len(self) - 1}.")
        ids = given.astype(np.int64)
        return ids if self._rows is None else self._rows[ids]


def _pixels(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Turn values of any kind into pixels: bytes stay, [0, 1] is stretched to a byte, so is any other range."""
    if values.dtype == np.uint8:
        return np.array(values, order="C")
    scaled = values.astype(np.float64)
    low, high = float(scaled.min()), float(scaled.max())
    if low >= 0.0 and high <= 1.0:
        low, high = 0.0, 1.0
    spread = high - low or 1.0  # a picture of one value has none
    return np.round((scaled - low) / spread * 255).astype(np.uint8)
