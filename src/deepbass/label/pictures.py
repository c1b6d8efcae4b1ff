"""Show a sample: upright, no larger than asked for, encoded for a browser, and free of all that is not picture."""

from __future__ import annotations

import io
import threading
from contextlib import nullcontext
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DeepBassError
from deepbass.data.images import UnreadableError, as_grey_or_rgb, draft, opened
from deepbass.data.quiet import quiet

if TYPE_CHECKING:
    from PIL import Image

SMALLEST, LARGEST = 32, 2048  # pixels of the longer side that may be asked for
PIXEL_ART = 128  # pixels of the longer side up to which every single one may matter, so JPEG would be a pity
QUALITY = 85  # of JPEG
HEAVY = 1 << 24  # pixels from which on only one picture is decoded at a time, so that memory stays in bounds

_heavy = threading.Lock()


class Unpicturable(DeepBassError):  # noqa: N818
    """A sample that cannot be shown, and why in a few words that may be read by anybody."""


@dataclass(frozen=True)
class Picture:
    """What a browser can show."""

    content: bytes
    media_type: str


@dataclass(frozen=True, eq=False)
class Sight:
    """A picture before it is encoded."""

    image: Image.Image  # L or RGB, upright, its longer side as asked for or shorter
    exact: bool  # whether every pixel must stay as it is


def see_file(file: IO[bytes], side: int) -> Sight:
    """Decode an image file, of whatever kind, so that its longer side has ``side`` pixels at most."""
    try:
        with quiet(), opened(file) as image:
            exact = image.mode == "P" or max(image.size) <= PIXEL_ART
            draft(image, side)
            with _heavy if image.width * image.height > HEAVY else nullcontext():
                return Sight(_shrink(as_grey_or_rgb(image), side), exact)
    except UnreadableError as error:
        raise Unpicturable(str(error)) from error


def see_pixels(pixels: NDArray[np.uint8], side: int) -> Sight:
    """Take H x W (grey) or H x W x 3 pixels for a picture."""
    from PIL import Image

    image = Image.fromarray(pixels)
    return Sight(_shrink(image, side), max(image.size) <= PIXEL_ART)


def encode(sight: Sight) -> Picture:
    """Encode a picture: without loss where that is small or matters, else as JPEG."""
    image, buffer = sight.image, io.BytesIO()
    image.info.clear()  # comments, profiles and the place where a photo was taken are nobody's business
    if sight.exact or image.mode == "L":
        image.save(buffer, "PNG")
        return Picture(buffer.getvalue(), "image/png")
    image.save(buffer, "JPEG", quality=QUALITY)
    return Picture(buffer.getvalue(), "image/jpeg")


def _shrink(image: Image.Image, side: int) -> Image.Image:
    """Scale an image down, never up, until its longer side is ``side``."""
    from PIL import Image

    scale = min(1.0, side / max(image.size))
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    return image if size == image.size else image.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)
