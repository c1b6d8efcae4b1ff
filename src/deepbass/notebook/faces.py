"""What a person sees of a sample: a picture, a text, or the columns of a row."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from deepbass.data.pool import Pool
from deepbass.label.pictures import encode, see_pixels
from deepbass.report.markup import data_uri
from deepbass.report.words import shorten

_COLUMNS = 60  # of a row of plain numbers


@dataclass(frozen=True)
class Face:
    """One of the two is empty; both are, if there is nothing to see."""

    picture: str = ""  # an address that holds it
    text: str = ""


def face_of(pool: Pool, id_: int, side: int, letters: int) -> Face:
    """Show a sample, its longer side no longer than ``side`` pixels, its text no longer than so many letters."""
    pixels = pool.picture(id_, side)
    if pixels is not None and find_spec("PIL") is not None:
        shown = encode(see_pixels(pixels, side))
        return Face(picture=data_uri(shown.media_type, shown.content))
    text = pool.text(id_)
    if text is None and len(pool.shape) == 1 and pixels is None:
        text = _numbers(pool, id_)
    return Face(text=shorten(text, letters) if text else "")


def _numbers(pool: Pool, id_: int) -> str:
    """Write the columns of a sample that is nothing but numbers."""
    numbers = pool.read([id_])[0].tolist()
    more = " …" if len(numbers) > _COLUMNS else ""
    return "  ".join(f"{number:.4g}" for number in numbers[:_COLUMNS]) + more
