"""Read one image file: one size, grey or colour, upright, and nothing trusted."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DataError
from deepbass.core.foreign import guarded, reason_of
from deepbass.core.raw_samples import UnreadableSample

if TYPE_CHECKING:
    from PIL import Image, ImageFile

# Pillow may look at these formats only: others, such as EPS, run programs
FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")
SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".pbm", ".pnm"}
)
GREY_MODES = frozenset({"1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "I;16N"})
ALPHA_MODES = frozenset({"LA", "PA", "RGBA", "La", "RGBa"})
BEHIND = (128, 128, 128)  # what transparent pictures are laid on: black and white drawings both show on grey
DEPTHS = (8, 12, 16)  # bits that deep grey may have
ORIENTATION = 0x0112  # EXIF's tag; 5 to 8 swap width and height
BITS_PER_SAMPLE = 0x0102  # TIFF's tag
PLAIN = (b"P1", b"P2", b"P3")  # what PBM, PGM and PPM begin with when their numbers are written as text
SLOW = 1 << 23  # bytes of a file that Pillow decodes in Python, at about a second for two million
TOO_SLOW = f"of a kind that is slow to decode, and over {SLOW >> 20} MB: save it as PNG"


class UnreadableError(UnreadableSample):
    """An image file that cannot be decoded, and why in a few words that may be read by anybody: they name no path."""

    lasting = True  # False: it is no fault of the file's content, and the next try may be luckier


class ImageHeader(NamedTuple):
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


def read_header(path: Path) -> ImageHeader:
    """Read an image's header."""
    with opened(path) as image:
        width, height = image.size
        # asking a PNG for its orientation would decode it, and hardly any has one
        turned = image.format != "PNG" and image.getexif().get(ORIENTATION) in (5, 6, 7, 8)
        return ImageHeader((height, width) if turned else (width, height), image.mode in GREY_MODES)


def draw(path: Path, size: tuple[int, int], grey: bool) -> NDArray[np.uint8]:
    """Decode one image to C x H x W. Proportions give way to the size."""
    with opened(path) as image:
        draft(image, max(size))
        return fit_pixels(as_grey_or_rgb(image), size, grey)


def fit_pixels(image: Image.Image, size: tuple[int, int], grey: bool) -> NDArray[np.uint8]:
    """Bring a decoded image to C x H x W, for training and for predictions alike."""
    from PIL import Image

    resized = image.convert("L" if grey else "RGB").resize(size, Image.Resampling.BILINEAR)
    pixels_H_W_C = np.asarray(resized).reshape(size[1], size[0], -1)
    return np.moveaxis(pixels_H_W_C, -1, 0)


def draft(image: Image.Image, side: int) -> None:
    """Have a big JPEG decoded at a fraction of its size, and time, but well above what it will be shrunk to."""
    image.draft(None, (2 * side, 2 * side))


def as_grey_or_rgb(image: Image.Image) -> Image.Image:
    """Decode an opened image to L or RGB: 8 bits, opaque, upright. Networks and people see what comes out here."""
    from PIL import ImageOps

    ImageOps.exif_transpose(image, in_place=True)
    if image.mode == "F":
        raise UnreadableError("float pixels: save them as .npy")
    if image.mode.startswith("I"):
        return _eight_bits(image)
    grey = image.mode in GREY_MODES
    if image.mode in ALPHA_MODES or "transparency" in image.info:
        image = _opaque(image.convert("RGBA"))
    return image.convert("L" if grey else "RGB")


def _eight_bits(image: Image.Image) -> Image.Image:
    """Scale deep grey down to bytes: Pillow alone would cut it off at 255."""
    from PIL import Image

    values = np.asarray(image).clip(0, 0xFFFF)
    return Image.fromarray((values >> (_depth(image, int(values.max())) - 8)).astype(np.uint8))


def _depth(image: Image.Image, highest: int) -> int:
    """Tell how many bits the values of deep grey have: as the file announces, else 8, 12 or 16, by its highest value.

    Cameras keep 12 bits in files of 16, and hardly any program notes it down: divided by 256, their images are all but
    black. (PNG has sBIT, but with values that were scaled up to all bits; TIFF has MaxSampleValue, which must not be
    used for this, says TIFF 6.0.) The file alone decides, not its folder, so that an image is the same wherever it
    lies: when others are added, on the page, and for a trained model. The steps are large, so that the images of one
    camera are scaled alike: only one that leaves 15/16 of its range unused is taken for a shallower one.
    """
    if image.format == "PPM":  # Pillow has scaled the maximum that the file announces to 16 bits
        return 16
    announced = getattr(image, "tag_v2", {}).get(BITS_PER_SAMPLE, (16,))[0]
    return announced if 8 <= announced < 16 else next(depth for depth in DEPTHS if highest < 1 << depth)


def _opaque(image: Image.Image) -> Image.Image:
    """Lay a transparent picture on a ground on which dark and light show."""
    from PIL import Image

    return Image.alpha_composite(Image.new("RGBA", image.size, (*BEHIND, 255)), image)


def _formats() -> list[str]:
    from PIL import Image

    Image.init()  # fills Image.OPEN; a Pillow may be built without one or the other format
    return [name for name in FORMATS if name in Image.OPEN]


@contextmanager
def opened(file: Path | IO[bytes]) -> Iterator[Image.Image]:
    """Open an image and turn whatever goes wrong with it into UnreadableError."""
    from PIL import Image

    with (
        guarded(_unreadable),
        file.open("rb") if isinstance(file, Path) else nullcontext(file) as content,
        Image.open(_without_comments(content), formats=_formats()) as image,
    ):
        _check_pixels(image)
        _check_decoder(image)
        yield image


def _unreadable(cause: Exception) -> UnreadableError:
    from PIL import Image, UnidentifiedImageError

    if isinstance(cause, UnidentifiedImageError):
        return UnreadableError("not an image")
    if isinstance(cause, (Image.DecompressionBombWarning, Image.DecompressionBombError)):
        return UnreadableError("too many pixels")
    reason = reason_of(cause)
    unreadable = UnreadableError("truncated" if "truncated" in reason.lower() else f"cannot be read: {reason}")
    # the system's errors have a number, a decoder's have none
    unreadable.lasting = getattr(cause, "errno", None) is None and not isinstance(cause, MemoryError)
    return unreadable


def _check_pixels(image: Image.Image) -> None:
    """Refuse an image from Pillow's limit on, before it is decoded: up to twice the limit, Pillow itself only warns.

    Turning the warning into an error would not do: warning filters belong to all threads together.
    """
    from PIL import Image

    limit = Image.MAX_IMAGE_PIXELS
    if limit is not None and image.width * image.height > limit:
        raise UnreadableError("too many pixels")


def _check_decoder(image: ImageFile.ImageFile) -> None:
    """Refuse what would take very long: a few kinds, such as plain (ASCII) PPM, Pillow decodes in Python."""
    from PIL import Image

    if image.fp and image.tile and image.tile[0][0] in Image.DECODERS and _size(image.fp) > SLOW:
        raise UnreadableError(TOO_SLOW)


def _without_comments(file: IO[bytes]) -> IO[bytes]:
    """Take the comments out of a plain PPM, PGM or PBM: Pillow's time grows with the square of their number."""
    magic = file.read(2)
    file.seek(0)
    if magic not in PLAIN:
        return file
    if _size(file) > SLOW:
        raise UnreadableError(TOO_SLOW)
    return io.BytesIO(re.sub(rb"#[^\r\n]*", b"", file.read()))


def _size(file: IO[bytes]) -> int:
    here = file.tell()
    size = file.seek(0, io.SEEK_END)
    file.seek(here)
    return size
