"""Images as they were found, read one at a time: files, and arrays of pixels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from deepbass.core.raw_samples import Kind, UnreadableSample
from deepbass.data.content_keys import ContentKeys
from deepbass.data.images import as_grey_or_rgb, draft, opened
from deepbass.data.quiet import quiet
from deepbass.data.raw_rows import RowNumbers, key_of
from deepbass.data.sample_arrays import CHUNK_BYTES, view_samples

if TYPE_CHECKING:
    from PIL import Image


class NamedFile(NamedTuple):
    """A picture that is still in its file; with a ``side``, it may be decoded at a fraction of its size."""

    path: Path
    side: int | None


@runtime_checkable
class HasFiles(Protocol):
    """Samples some of which are pictures in files."""

    def file(self, row: int) -> NamedFile | None:
        """Tell where a picture is, for whoever decodes it elsewhere; None: it is in no file of its own."""


class ImageFiles:
    """Image files, decoded when they are asked for."""

    kind: Kind = "image"

    def __init__(self, paths: Sequence[Path], names: Sequence[str], side: int | None = None) -> None:
        """Take files; with a ``side``, big JPEGs are decoded at a fraction of their size, at least twice the side."""
        self._paths = paths
        self._names = names
        self._side = side
        self._keys = ContentKeys()

    def __len__(self) -> int:
        return len(self._paths)

    def file(self, row: int) -> NamedFile:
        """Tell where an image is, for whoever decodes it elsewhere."""
        return NamedFile(self._paths[row], self._side)

    def drafted(self, side: int) -> ImageFiles:
        """Take the same files for whoever needs them no larger than ``side`` pixels: several times as fast."""
        return ImageFiles(self._paths, self._names, side)

    def name(self, row: int) -> str:
        """Name an image by its file."""
        return self._names[row]

    def read(self, row: int) -> Image.Image:
        """Decode an image: grey or RGB, 8 bits, opaque, upright."""
        with quiet(), opened(self._paths[row]) as image:
            if self._side is not None:
                draft(image, self._side)
            return as_grey_or_rgb(image)

    def key(self, row: int) -> bytes:
        """Sum a file's content up: the same for copies, whatever they are called."""
        return self._keys.key(self._paths[row])


class ArrayImages:
    """The images of an array: N x H x W, N x H x W x C or N x C x H x W, of bytes or of other numbers."""

    kind: Kind = "image"

    def __init__(self, array: NDArray[Any], names: Sequence[str] | RowNumbers | None = None) -> None:
        """Take an array, which is neither copied nor changed; ``names`` are its rows' names."""
        self._array = view_samples(array, "the array")
        self._names = RowNumbers("train/") if names is None else names

    def __len__(self) -> int:
        return len(self._array)

    def name(self, row: int) -> str:
        """Name an image."""
        return self._names[row]

    def read(self, row: int) -> Image.Image:
        """Make a picture of an image's numbers."""
        from PIL import Image

        values_C_H_W = np.asarray(self._array[row])
        if values_C_H_W.dtype.kind == "f" and not np.isfinite(values_C_H_W).all():
            raise UnreadableSample("it holds what is not a finite number")
        pixels = self._bytes(values_C_H_W)
        return Image.fromarray(np.ascontiguousarray(pixels[0] if len(pixels) == 1 else np.moveaxis(pixels, 0, -1)))

    def key(self, row: int) -> bytes:
        """Sum an image up, and what its numbers are measured by."""
        values = np.ascontiguousarray(self._array[row])
        return key_of(repr((values.shape, values.dtype.str, self._range)).encode(), values.tobytes())

    def _bytes(self, values: NDArray[Any]) -> NDArray[np.uint8]:
        if values.dtype == np.uint8:
            return values
        low, high = self._range
        scaled = (values.astype(np.float64) - low) / ((high - low) or 1.0)
        return np.round(scaled * 255).clip(0, 255).astype(np.uint8)

    @cached_property
    def _range(self) -> tuple[float, float]:
        """Tell what is black and what is white, for the whole array: 0 and 1, 0 and 255, or the ends of its numbers."""
        if self._array.dtype == np.uint8:
            return 0.0, 255.0
        low, high = 0.0, 1.0
        step = max(1, CHUNK_BYTES // max(1, self._array[:1].nbytes))
        for start in range(0, len(self._array), step):
            chunk = np.asarray(self._array[start : start + step], dtype=np.float64)
            finite = chunk[np.isfinite(chunk)]
            if len(finite):
                low, high = min(low, float(finite.min())), max(high, float(finite.max()))
        return (0.0, 255.0) if low == 0.0 and 1.0 < high <= 255.0 else (low, high)


def is_picture(X: Any) -> bool:
    """Tell whether an array's samples are pictures: grey or RGB, and more than a row of numbers."""
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "biuf" or X.ndim not in (3, 4) or not X.size:
        return False
    return view_samples(X, "the array").shape[1] in (1, 3)
