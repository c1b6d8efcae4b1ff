"""Pictures that are read one at a time, as one array of pixels."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DataError
from deepbass.core.raw_samples import RawSamples, UnreadableSample
from deepbass.data.images import fit_pixels

_LOOKED_AT = 200  # pictures that the size is chosen by
LARGEST_SIDE = 64  # pixels: larger pictures are for features, or for a network of one's own


def pictures_as_pixels(pictures: RawSamples, shape: tuple[int, ...] | None = None) -> NDArray[np.uint8]:
    """Read all pictures, N x C x H x W, brought to a shape: the commonest, if none is wanted."""
    channels, height, width = shape or _commonest(pictures)
    pixels = np.empty((len(pictures), channels, height, width), dtype=np.uint8)
    for row in range(len(pictures)):
        try:
            pixels[row] = fit_pixels(pictures.read(row), (width, height), grey=channels == 1)
        except UnreadableSample as error:
            raise DataError(f"Row {row}, {pictures.name(row)}, cannot be read: {error}.") from error
    return pixels


def _commonest(pictures: RawSamples) -> tuple[int, int, int]:
    sizes: Counter[tuple[int, int]] = Counter()
    grey = True
    for row in np.unique(np.linspace(0, len(pictures) - 1, _LOOKED_AT).astype(int)).tolist():
        try:
            picture = pictures.read(row)
        except UnreadableSample:
            continue
        sizes[picture.size] += 1
        grey = grey and picture.mode == "L"
    if not sizes:
        raise DataError(f"None of the {len(pictures)} pictures can be read, beginning with {pictures.name(0)}.")
    width, height = sizes.most_common(1)[0][0]
    longest = max(width, height)
    if longest > LARGEST_SIDE:
        width, height = (max(1, round(side * LARGEST_SIDE / longest)) for side in (width, height))
    return 1 if grey else 3, height, width
