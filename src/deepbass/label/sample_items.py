"""Texts and rows as items: named as their source names them, read when somebody looks."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import ConfigError, DataError
from deepbass.core.raw_samples import RawSamples, UnreadableSample
from deepbass.data.joined_samples import HasBeside
from deepbass.data.listing import name_some
from deepbass.label.contents import Content, plain
from deepbass.label.inside import open_inside
from deepbass.label.pictures import Unpicturable

Read = Callable[[str], Content]  # by name

_WIDTH = 256  # numbers by which contents are told apart


def reader(samples: RawSamples, names: Sequence[str], show: Sequence[str] = (), folder: Path | None = None) -> Read:
    """Make what reads a sample by name, with the columns that people chose to see.

    Beside a text stand none but those that were chosen; of a row, all are shown unless some were. Where samples are
    files of a ``folder``, those that are none, or that lie outside of it by now, are not read.
    """
    root = folder.resolve() if folder is not None else None
    place = {name: row for row, name in enumerate(names)}
    if len(place) < len(names):
        double = [name for name, count in Counter(names).items() if count > 1]
        raise DataError(f"Two samples have one name: {name_some(double)}. Give every one its own.")
    _check_shown(samples, show)

    def read(name: str) -> Content:
        if name not in place:
            raise Unpicturable("it is not in the source any more")
        row = place[name]
        if folder is not None and root is not None:
            open_inside(folder / name, root).close()  # or say why not
        try:
            found = samples.read(row)
            if samples.kind == "text":
                others = samples.beside(row) if isinstance(samples, HasBeside) and show else {}
                return Content("text", found, tuple((column, plain(others.get(column))) for column in show))
        except UnreadableSample as error:
            raise Unpicturable(str(error)) from error
        return Content("row", "", tuple((column, plain(found.get(column))) for column in show or found))

    return read


def look(content: Content) -> NDArray[np.float32]:
    """Sum a content up in a few numbers, alike for alike ones: its words and values, and how large its numbers are.

    Words are hashed to places (Weinberger et al., 2009), and each text has the same length, however many it has.
    """
    words_D = np.zeros(_WIDTH, dtype=np.float32)
    numbers_D = np.zeros(_WIDTH, dtype=np.float32)
    for word, count in Counter(content.text.lower().split()).items():
        words_D[_place(word)] += count**0.5
    for column, cell in content.columns if content.kind == "row" else ():
        if isinstance(cell, int | float):
            numbers_D[_place(column)] += np.sign(cell) * np.log1p(abs(cell))
        else:
            words_D[_place(f"{column}={cell}")] += 1
    length = float(np.linalg.norm(words_D))
    return np.concatenate([words_D / length if length else words_D, numbers_D])


def _place(word: str) -> int:
    return zlib.crc32(word.encode(errors="replace")) % _WIDTH


def _check_shown(samples: RawSamples, show: Sequence[str]) -> None:
    """Refuse columns that a row does not have; those beside texts are looked up by who reads them."""
    if not show or (samples.kind == "text" and isinstance(samples, HasBeside)):
        return
    try:
        known: Mapping[str, object] = samples.read(0) if samples.kind == "row" else {}
    except UnreadableSample:
        return
    if lost := [column for column in show if column not in known]:
        there = f"it has {name_some([repr(column) for column in known])}" if known else "there are none beside the text"
        raise ConfigError(f"show = {', '.join(lost)!r} is no column of the source: {there}.")
