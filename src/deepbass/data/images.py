"""Read one image file: one size, grey or colour, upright, and nothing trusted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DataError

if TYPE_CHECKING:
    from PIL import Image

# Pillow may look at these formats only: others, such as EPS, run programs
FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")
SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".pbm", ".pnm"}
)
GREY_MODES = frozenset({"1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "I;16N"})
ORIENTATION = 0x0112  # EXIF's tag; 5 to 8 swap width and height


class UnreadableError(Exception):
    """An image file that cannot be decoded, and why in a few words."""

    lasting = True  # False: it is no fault of the file's content, and the next try may be luckier


class Look(NamedTuple):
    """What an image's header says: enough to choose a size and to rule colour out."""

    size: tuple[int, int]  # width and height
    grey: bool


def need_pillow() -> None:
    """Refuse to go on without Pillow, and say how to get it."""
    try:
        import PIL  # noqa: F401
    except ImportError as error:
        raise DataError("Reading images takes pillow, which is missing: pip install 'deepbass[images]'.") from error


def rules() -> tuple[object, ...]:
    """List what decides, besides a file and the settings, whether it can be read and what comes out."""
    import PIL
    from PIL import Image, ImageFile

    return PIL.__version__, tuple(_formats()), Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES


def look(path: Path) -> Look:
    """Read an image's header."""
    with opened(path) as image:
        width, height = image.size
        # asking a PNG for its orientation would decode it, and hardly any has one
        turned = image.format != "PNG" and image.getexif().get(ORIENTATION) in (5, 6, 7, 8)
        return Look((height, width) if turned else (width, height), image.mode in GREY_MODES)


def draw(path: Path, size: tuple[int, int], grey: bool) -> NDArray[np.uint8]:
    """Decode one image to C x H x W. Proportions give way to the size; alpha is dropped."""
    from PIL import Image, ImageOps

    with opened(path) as image:
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


def _formats() -> list[str]:
    from PIL import Image

    Image.init()  # fills Image.OPEN; a Pillow may be built without one or the other format
    return [name for name in FORMATS if name in Image.OPEN]


@contextmanager
def opened(file: Path | IO[bytes]) -> Iterator[Image.Image]:
    """Open an image and turn whatever goes wrong with it into UnreadableError."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(file, formats=_formats()) as image:
            _check_pixels(image)
            yield image
    except UnreadableError:
        raise
    except UnidentifiedImageError as error:
        raise UnreadableError("not an image") from error
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise UnreadableError("too many pixels") from error
    except Exception as error:  # damaged bytes can make a decoder raise anything
        reason = str(error) or type(error).__name__
        unreadable = UnreadableError("truncated" if "truncated" in reason.lower() else reason)
        # the system's errors have a number, a decoder's have none
        unreadable.lasting = getattr(error, "errno", None) is None and not isinstance(error, MemoryError)
        raise unreadable from error


def _check_pixels(image: Image.Image) -> None:
    """Refuse an image from Pillow's limit on, before it is decoded: up to twice the limit, Pillow itself only warns.

    Turning the warning into an error would not do: warning filters belong to all threads together.
    """
    from PIL import Image

    limit = Image.MAX_IMAGE_PIXELS
    if limit is not None and image.width * image.height > limit:
        raise UnreadableError("too many pixels")
