"""List image files with their labels, which a folder or a table comes down to, and turn them into samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.data.image_cache import read_images
from deepbass.data.images import need_pillow
from deepbass.data.raw_images import ImageFiles
from deepbass.data.source import Part, Source, name_of

NAMED_AT_MOST = 20  # so that a note stays readable when thousands are skipped


class ListedImage(NamedTuple):
    """One image file; sorts training images first, each part by name, so that ids are stable."""

    validation: bool
    name: str  # relative to the folder, with forward slashes
    label: str  # empty: unknown


@dataclass(frozen=True)
class Listing:
    """The image files that were found; none of them has been opened."""

    path: Path  # of the folder or the table that lists them
    folder: Path  # that their names are relative to
    images: list[ListedImage]  # sorted
    notes: list[str]  # what the user should be told


def from_listing(listing: Listing, config: Config, *, progress: bool = False) -> Source:
    """Decode all images together, so that both parts get one size, and colour or not."""
    path, ordered = listing.path, listing.images
    if not ordered:
        raise DataError(f"{path} has no images: add some, one subfolder per class.")
    names = [image.name for image in ordered]
    paths = [listing.folder / name for name in names]
    decoded = read_images(path.resolve(), names, paths, config, progress=progress)
    skipped = [f"{names[i]} ({reason})" for i, reason in decoded.failed.items()]
    if skipped and config.strict:
        raise DataError(f"Unreadable images, and strict is on: {name_some(skipped)}. Repair or remove them.")
    kept = [image for i, image in enumerate(ordered) if i not in decoded.failed]
    train = sum(not image.validation for image in kept)
    if not train:
        reason = f": {name_some(skipped)}" if skipped else ""
        raise DataError(f"{path} has no readable images to train with{reason}. Add some, one subfolder per class.")

    def part(rows: slice) -> Part:
        labels = [image.label for image in kept[rows]]
        return Part(decoded.pixels[rows], labels, str(path), [image.name for image in kept[rows]])

    notes = [*listing.notes, *decoded.notes]
    if skipped:
        notes.append(f"{_count(skipped, 'image')} skipped: {name_some(skipped)}")
    validation = part(slice(train, None)) if train < len(kept) else None
    return Source(name_of(path), part(slice(train)), validation, notes=tuple(notes))


def raw_listing(listing: Listing) -> Source:
    """Take the images as they are: they are decoded when somebody reads them."""
    need_pillow()
    train = [image for image in listing.images if not image.validation]
    if not train:
        raise DataError(f"{listing.path} has no images to train with: add some, one subfolder per class.")

    def part(images: list[ListedImage]) -> Part:
        names = [image.name for image in images]
        files = ImageFiles([listing.folder / name for name in names], names)
        return Part(files, [image.label for image in images], str(listing.path), names)

    validation = listing.images[len(train) :]
    return Source(
        name_of(listing.path), part(train), part(validation) if validation else None, notes=tuple(listing.notes)
    )


def name_some(things: Sequence[str]) -> str:
    """Name things, up to a number that can be read."""
    more = len(things) - NAMED_AT_MOST
    return ", ".join(things[:NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")


def _count(things: Sequence[str], what: str) -> str:
    return f"{len(things)} {what}{'s' if len(things) > 1 else ''}"
