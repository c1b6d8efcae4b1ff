"""Decode image files into one array of pixels: one size, grey or colour, upright, and nothing trusted."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.data.progress import track

if TYPE_CHECKING:
    from PIL import Image

# Pillow may look at these formats only: others, such as EPS, run programs
FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")
SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".pbm", ".pnm"}
)
GREY_MODES = frozenset({"1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "I;16N"})
SIDE = 64  # the chosen size when any image is larger
ORIENTATION = 0x0112  # EXIF's tag; 5 to 8 swap width and height


@dataclass(frozen=True, eq=False)
class Decoded:
    """The readable ones of some image files."""

    pixels: NDArray[np.uint8]  # N x C x H x W
    kept: list[int]  # which of the files the rows are, in order
    skipped: list[str]  # "a.png (truncated)", one an unreadable file


class UnreadableError(Exception):
    """An image file that cannot be decoded, and why in a few words."""


class _Look(NamedTuple):
    """What an image's header says: enough to choose a size and to rule colour out."""

    size: tuple[int, int]
    grey: bool


def decode(paths: Sequence[Path], names: Sequence[str], config: Config, *, progress: bool = False) -> Decoded:
    """Decode images into one array of one size, grey or colour; unreadable ones are skipped and named."""
    try:
        import PIL  # noqa: F401
    except ImportError as error:
        raise DataError("Reading images takes pillow, which is missing: pip install 'deepbass[images]'.") from error

    looks: dict[int, _Look] = {}
    failed: dict[int, str] = {}
    for i, path in enumerate(track(paths, "Looking at images", progress)):
        try:
            looks[i] = _look(path)
        except UnreadableError as error:
            failed[i] = str(error)

    size = _choose_size([look.size for look in looks.values()], config.image_size)
    grey = config.colour == "grey" or (config.colour == "auto" and all(look.grey for look in looks.values()))
    pixels = np.empty((len(looks), 1 if grey else 3, size[1], size[0]), dtype=np.uint8)
    kept: list[int] = []
    for i in track(list(looks), "Decoding images", progress):
        try:
            pixels[len(kept)] = _draw(paths[i], size, grey)
            kept.append(i)
        except UnreadableError as error:
            failed[i] = str(error)

    skipped = [f"{names[i]} ({failed[i]})" for i in sorted(failed)]
    pixels = pixels[: len(kept)]
    if config.colour == "auto" and not grey and not _has_colour(pixels):
        pixels = np.ascontiguousarray(pixels[:, :1])  # colour files whose every pixel is grey
    return Decoded(pixels, kept, skipped)


def _look(path: Path) -> _Look:
    with _opened(path) as image:
        width, height = image.size
        # asking a PNG for its orientation would decode it, and hardly any has one
        turned = image.format != "PNG" and image.getexif().get(ORIENTATION) in (5, 6, 7, 8)
        return _Look((height, width) if turned else (width, height), image.mode in GREY_MODES)


def _draw(path: Path, size: tuple[int, int], grey: bool) -> NDArray[np.uint8]:
    """Decode one image to C x H x W. Proportions give way to the size; alpha is dropped."""
    from PIL import Image, ImageOps

    with _opened(path) as image:
        image.draft(None, (2 * max(size), 2 * max(size)))  # big JPEGs decode at a fraction of their size, and time
        upright = _eight_bits(ImageOps.exif_transpose(image))
        resized = upright.convert("L" if grey else "RGB").resize(size, Image.Resampling.BILINEAR)
        pixels_H_W_C = np.asarray(resized).reshape(size[1], size[0], -1)
        return np.moveaxis(pixels_H_W_C, -1, 0)


def _eight_bits(image: Image.Image) -> Image.Image:
    """Scale 16-bit grey down to bytes: Pillow alone would cut it off at 255."""
    from PIL import Image

    if image.mode == "F":
        raise UnreadableError("float pixels: save them as .npy")
    if not image.mode.startswith("I"):
        return image
    return Image.fromarray((np.asarray(image).clip(0, 0xFFFF) >> 8).astype(np.uint8))


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    """Open an image and turn whatever goes wrong with it into UnreadableError."""
    from PIL import Image, UnidentifiedImageError

    Image.init()  # fills Image.OPEN; a Pillow may be built without one or the other format
    formats = [name for name in FORMATS if name in Image.OPEN]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd metadata, which nobody asked for
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=formats) as image:
                yield image
    except UnreadableError:
        raise
    except UnidentifiedImageError as error:
        raise UnreadableError("not an image") from error
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise UnreadableError("too many pixels") from error
    except Exception as error:  # damaged bytes can make a decoder raise anything
        reason = str(error) or type(error).__name__
        raise UnreadableError("truncated" if "truncated" in reason.lower() else reason) from error


def _choose_size(sizes: Sequence[tuple[int, int]], side: int | None) -> tuple[int, int]:
    """Choose width and height: as configured, else the most common size if all are small, else 64 x 64."""
    if side is not None:
        return side, side
    if not sizes or max(max(size) for size in sizes) > SIDE:
        return SIDE, SIDE
    return Counter(sorted(sizes)).most_common(1)[0][0]


def _has_colour(pixels: NDArray[np.uint8]) -> bool:
    return any((image != image[0]).any() for image in pixels)
