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
from deepbass.data.images import GREY_MODES, ORIENTATION, UnreadableError, opened
from deepbass.data.quiet import quiet

if TYPE_CHECKING:
    from PIL import Image

SMALLEST, LARGEST = 32, 2048  # pixels of the longer side that may be asked for
PIXEL_ART = 128  # pixels of the longer side up to which every single one may matter, so JPEG would be a pity
QUALITY = 85  # of JPEG
BEHIND = (128, 128, 128)  # what transparent pictures are laid on: black and white drawings both show on grey
HEAVY = 1 << 24  # pixels from which on only one picture is decoded at a time, so that memory stays in bounds
REASON_LENGTH = 120  # of a decoder's own words

_heavy = threading.Lock()
_ALPHA_MODES = frozenset({"LA", "PA", "RGBA", "La", "RGBa"})
_OWN_WORDS = frozenset({"not an image", "too many pixels", "truncated", "float pixels: save them as .npy"})


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
            image.draft(None, _fit(image.size, 2 * side))  # big JPEGs decode at a fraction of their size, and time
            with _heavy if image.width * image.height > HEAVY else nullcontext():
                image.load()
                turn = image.getexif().get(ORIENTATION)  # asked after loading: a TIFF is turned by that
                small = _shrink(_plain(image), side)
            return Sight(_upright(_opaque(small, image.mode in GREY_MODES), turn), exact)
    except UnreadableError as error:
        reason = str(error)
        if reason not in _OWN_WORDS:
            reason = f"cannot be decoded: {' '.join(reason.split())[:REASON_LENGTH]}"
        raise Unpicturable(reason) from error


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


def _fit(size: tuple[int, int], side: int) -> tuple[int, int]:
    """Scale width and height down, never up, until the longer one is ``side``."""
    scale = min(1.0, side / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _shrink(image: Image.Image, side: int) -> Image.Image:
    from PIL import Image

    size = _fit(image.size, side)
    return image if size == image.size else image.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)


def _plain(image: Image.Image) -> Image.Image:
    """Bring an image to a mode that can be resized well: L, LA, RGB or RGBA."""
    if image.mode == "F":
        raise UnreadableError("float pixels: save them as .npy")
    if image.mode.startswith("I"):
        return _eight_bits(image)
    if image.mode in _ALPHA_MODES or "transparency" in image.info:
        mode = "RGBA"
    else:
        mode = "L" if image.mode in GREY_MODES else "RGB"
    return image if image.mode == mode else image.convert(mode)


def _eight_bits(image: Image.Image) -> Image.Image:
    """Scale deep grey down to bytes by a power of two, so that what has 12 bits in 16 is not all but black."""
    from PIL import Image

    values = np.asarray(image).clip(0, 0xFFFF)
    unused = max(0, int(values.max()).bit_length() - 8)
    return Image.fromarray((values >> unused).astype(np.uint8))


def _opaque(image: Image.Image, grey: bool) -> Image.Image:
    """Lay a transparent picture on a ground on which dark and light show."""
    from PIL import Image

    if image.mode != "RGBA":
        return image
    ground = Image.new("RGBA", image.size, (*BEHIND, 255))
    return Image.alpha_composite(ground, image).convert("L" if grey else "RGB")


def _upright(image: Image.Image, orientation: object) -> Image.Image:
    """Turn a picture the way that its camera was held."""
    from PIL import Image

    turns = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_270,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_90,
    }
    turn = turns.get(orientation) if isinstance(orientation, int) else None
    return image if turn is None else image.transpose(turn)
