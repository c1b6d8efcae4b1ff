"""What can be labelled: the samples of a source by name, shown one at a time. Nothing is decoded at the start."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import ConfigError, DataError
from deepbass.core.raw_samples import Kind, RawSamples
from deepbass.data.catalogue import NAMED
from deepbass.data.classes import UNKNOWN_TEXT, as_labels, is_unknown
from deepbass.data.images import need_pillow
from deepbass.data.joined_samples import join
from deepbass.data.listing import Listing, name_some
from deepbass.data.pool import Pool
from deepbass.data.source import Source, is_raw, name_of
from deepbass.label.contents import Content
from deepbass.label.inside import open_inside
from deepbass.label.item_pool import find_samples, finite, load_pool, parts_of
from deepbass.label.pictures import LARGEST, SMALLEST, Picture, Sight, Unpicturable, encode, see_file, see_pixels
from deepbass.label.sample_items import Read, look, reader
from deepbass.label.settings import Columns

__all__ = ["Items", "Picture", "Unpicturable", "load_pool", "open_items"]

See = Callable[[str, int], Sight]  # by name, and the pixels of the longer side


def _no_picture(name: str, side: int) -> Sight:
    raise Unpicturable("this is no picture")


def _no_content(name: str) -> Content:
    raise Unpicturable("this is a picture")


@dataclass(frozen=True, eq=False)
class Items:
    """The samples of a source, all of one kind. It may be asked for what they show by many threads at a time."""

    name: str  # of the source, for a title
    names: list[str]  # one per sample, in the order in which the source is loaded
    labels: dict[int, str]  # that the source brings, by place in ``names``
    notes: tuple[str, ...]  # what the user should be told
    see: See = _no_picture
    kind: Kind = "image"
    read: Read = _no_content  # of texts and rows

    def picture(self, name: str, side: int) -> Picture:
        """Show a sample upright, its longer side ``side`` pixels at most, or raise Unpicturable with the reason."""
        return encode(self.see(name, min(max(side, SMALLEST), LARGEST)))

    def thumbnail(self, name: str, side: int) -> NDArray[np.uint8]:
        """Draw a sample in ``side`` x ``side`` grey pixels; proportions give way."""
        from PIL import Image

        small = self.see(name, 4 * side).image.convert("L")
        return np.asarray(small.resize((side, side), Image.Resampling.BILINEAR))

    def look(self, name: str, side: int) -> NDArray[np.float32]:
        """Sum a sample up in numbers that are alike for alike ones, or raise Unpicturable."""
        if self.kind == "image":
            return self.thumbnail(name, side).ravel().astype(np.float32)
        return look(self.read(name))


def open_items(source: str, folder: Path | None = None, columns: Columns | None = None) -> Items:
    """Open what is to be labelled: images, arrays, IDX files, texts, rows of a table, or a data set by name.

    ``folder`` is where the user keeps files of named data sets. These come without their labels: they are for trying
    out what labelling is like. ``columns`` are those of a table that texts and labels stand in.
    """
    found = find_samples(source, folder, columns)
    labelled = source not in NAMED
    if not isinstance(found, Listing) and is_raw(found.train.X):
        samples = join([part.X for part in (found.train, found.validation) if part is not None and is_raw(part.X)])
        labels = _labels_of(found) if labelled else {}
        root = Path(source).expanduser()
        show = columns.show if columns is not None else ()
        return from_samples(found.name, samples, labels, found.notes, show, root if root.is_dir() else None)
    if columns is not None and columns.show:
        raise ConfigError(f"show = {', '.join(columns.show)!r} is for texts and rows, and {source} has images.")
    need_pillow()
    if isinstance(found, Listing):
        return _from_listing(found)
    return _from_arrays(found, labelled)


def from_samples(
    name: str,
    samples: RawSamples,
    labels: Mapping[int, str],
    notes: Sequence[str] = (),
    show: Sequence[str] = (),
    folder: Path | None = None,
) -> Items:
    """Take texts or rows for items; ``labels`` are those that the source brings, by row; ``show`` columns to see.

    Where they are files of a ``folder``, none is read that a link leads out of it.
    """
    if not len(samples):
        raise DataError(f"{name} has no {samples.kind}s to label: add some.")
    names = [samples.name(row) for row in range(len(samples))]
    read = reader(samples, names, show, folder)
    return Items(name, names, dict(labels), tuple(notes), kind=samples.kind, read=read)


def _from_listing(listing: Listing) -> Items:
    images = [image for image in listing.images if _is_text(image.name)]
    notes = list(listing.notes)
    if odd := [ascii(image.name) for image in listing.images if not _is_text(image.name)]:
        notes.append(f"files whose names are no valid text were left out, so rename them: {name_some(odd)}")
    if not images:
        reasons = f" ({'; '.join(notes)})" if notes else ""
        raise DataError(f"{listing.path} has no images to label{reasons}: add some.")
    labels = {i: image.label for i, image in enumerate(images) if image.label not in UNKNOWN_TEXT}
    names = [image.name for image in images]
    return Items(name_of(listing.path), names, labels, tuple(notes), _look_into(listing, names))


def _is_text(name: str) -> bool:
    """Tell whether a name can be written to a database or a page: the system may hand out any bytes for a name."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _look_into(listing: Listing, names: list[str]) -> See:
    """Show image files: those that were listed, and wherever links lead later on, only what the folder holds."""
    folder = listing.folder.resolve()
    is_table = listing.path != listing.folder
    roots = _roots(folder, names) if is_table else dict.fromkeys(names, folder)

    def see(name: str, side: int) -> Sight:
        if name not in roots:
            raise Unpicturable("the file is not there any more")
        with open_inside(folder / name, roots[name]) as file:
            return see_file(file, side)

    return see


def _roots(folder: Path, names: list[str]) -> dict[str, Path]:
    """Find the folder that each file of a table must not leave: the table's, or its own where the table led out of it.

    What the table names now is what its author meant; what a link is turned to later is not.
    """

    def root_of(parent: Path) -> Path:
        return folder if parent.is_relative_to(folder) else parent

    roots = {}
    shared: dict[str, Path] = {}  # resolving is slow, and files share their folders
    for name in names:
        path = os.path.join(folder, name)  # noqa: PTH118 (pathlib takes three times as long, and there may be many)
        parent = os.path.dirname(path)  # noqa: PTH120
        if parent not in shared:
            shared[parent] = root_of(Path(parent).resolve())
        roots[name] = root_of(Path(path).resolve().parent) if os.path.islink(path) else shared[parent]  # noqa: PTH114
    return roots


def _labels_of(source: Source) -> dict[int, str]:
    """List the labels that a source brings, by place."""
    labels: dict[int, str] = {}
    start = 0
    for part in (source.train, source.validation):
        if part is not None:
            count = len(part.X)  # type: ignore[arg-type]
            given = as_labels(part.y, count, part.where)
            labels |= {start + row: str(given[row]) for row in np.flatnonzero(~is_unknown(given)).tolist()}
            start += count
    return labels


def _from_arrays(source: Source, labelled: bool) -> Items:
    parts = [(f"{part.names}/", samples) for part, samples in parts_of(source)]
    names = [f"{prefix}{row}" for prefix, samples in parts for row in range(len(samples))]
    labels = _labels_of(source) if labelled else {}

    def see(name: str, side: int) -> Sight:
        prefix, slash, number = name.rpartition("/")
        samples, row = dict(parts).get(prefix + slash), _row_of(number)
        if samples is None or row is None or row >= len(samples):
            raise Unpicturable("the sample is not there any more")
        return see_pixels(_pixels(samples[row : row + 1]), side)

    return Items(source.name, names, labels, source.notes, see)


def _row_of(number: str) -> int | None:
    """Read the row from the end of a name, as names of rows have it: no zeros in front, no digits of other scripts."""
    row = int(number) if number.isdecimal() and len(number) < 20 else None
    return row if str(row) == number else None


def _pixels(one: NDArray[Any]) -> NDArray[np.uint8]:
    if not finite(one).all():
        raise Unpicturable("this sample is no image: it holds what is not a finite number")
    pixels = Pool(one, "one").picture(0)
    if pixels is None:
        raise Unpicturable(f"this sample is no image: it has the shape {' x '.join(map(str, one.shape[1:]))}")
    return pixels
