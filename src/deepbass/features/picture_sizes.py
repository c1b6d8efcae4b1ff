"""At what size a picture is looked at, and what numbers a network sees of it: all of it, and not squashed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DataError
from deepbass.core.raw_samples import RawSamples, UnreadableSample

LOOKED_AT = 24  # pictures that are opened to choose a size
MOST_ELONGATED = 3.0  # times as long as wide; what is longer gets a border
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
GREY = (124, 116, 104)  # of borders: the mean colour of photographs


def look_at(samples: RawSamples, most: int = LOOKED_AT) -> list[Any]:
    """Read a few pictures, evenly spread over all."""
    pictures = []
    for row in np.unique(np.linspace(0, len(samples) - 1, min(len(samples), most)).astype(int)):
        try:
            pictures.append(samples.read(int(row)))
        except UnreadableSample:
            continue
    if not pictures:
        raise DataError("None of the pictures that were tried can be read.")
    return pictures


def shorter_side(pictures: Sequence[Any]) -> int:
    """Tell the shorter side of the picture in the middle, in pixels."""
    return int(np.median([min(picture.size) for picture in pictures]))


def shape_for(size: tuple[int, int], side: int, unit: int) -> tuple[int, int]:
    """Choose width and height, multiples of a unit, of about a square's area and nearly the picture's shape."""
    ratio = min(max(size[0] / size[1], 1 / MOST_ELONGATED), MOST_ELONGATED)
    units = side // unit

    def misfit(shape: tuple[int, int]) -> float:
        across, down = shape
        return abs(math.log(across / down / ratio)) + 0.3 * abs(math.log(across * down / units**2))

    most = math.ceil(units * math.sqrt(MOST_ELONGATED)) + 1
    across, down = min(((a, d) for a in range(1, most + 1) for d in range(1, most + 1)), key=misfit)
    return across * unit, down * unit


def fitted(picture: Any, size: tuple[int, int], tolerance: float) -> NDArray[np.uint8]:
    """Bring a picture to a size, in three channels (height x width x 3).

    Its shape is changed by no more than the tolerance (1.2 is a fifth longer); beyond that it gets a border.
    """
    from PIL import Image

    scale = [target / given for target, given in zip(size, picture.size, strict=True)]
    smaller = min(scale) * tolerance
    inner = tuple(max(1, round(given * min(own, smaller))) for given, own in zip(picture.size, scale, strict=True))
    resized = picture.convert("RGB").resize(inner, Image.Resampling.BICUBIC, reducing_gap=3.0)
    if inner != size:
        framed = Image.new("RGB", size, GREY)
        framed.paste(resized, ((size[0] - inner[0]) // 2, (size[1] - inner[1]) // 2))
        resized = framed
    return np.asarray(resized)


def as_square(picture: Any, side: int) -> NDArray[np.uint8]:
    """Bring a picture to a square, with a border rather than squashed."""
    return fitted(picture, (side, side), 1.0)


def normalised(pictures_N_H_W_3: NDArray[np.uint8], mean: Sequence[float], std: Sequence[float]) -> NDArray[np.float32]:
    """Scale pixels as networks are trained on them, channels first (N x 3 x H x W) in name, last in memory."""
    scale = np.array([1 / (255 * spread) for spread in std], dtype=np.float32)
    shift = np.array([middle / spread for middle, spread in zip(mean, std, strict=True)], dtype=np.float32)
    pixels_N_H_W_3 = pictures_N_H_W_3.astype(np.float32)
    pixels_N_H_W_3 *= scale
    pixels_N_H_W_3 -= shift
    return np.moveaxis(pixels_N_H_W_3, 3, 1)
