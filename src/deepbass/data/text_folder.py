"""Make a source of a folder of text files: a subfolder per class, as with images."""

from __future__ import annotations

from deepbass.core.errors import DataError
from deepbass.data.listing import ListedImage, Listing
from deepbass.data.raw_rows import TextFiles
from deepbass.data.source import Part, Source, name_of

SUFFIXES = frozenset({".txt"})


def from_text_files(listing: Listing) -> Source:
    """Take listed files for texts; they are opened when they are read."""
    if not listing.images:
        raise DataError(f"{listing.path} has no texts: add some, one subfolder per class.")
    train = [file for file in listing.images if not file.validation]
    if not train:
        raise DataError(f"{listing.path} has no texts to train with: add some, one subfolder per class.")

    def part(files: list[ListedImage]) -> Part:
        names = [file.name for file in files]
        samples = TextFiles([listing.folder / name for name in names], names)
        return Part(samples, [file.label for file in files], str(listing.path), names)

    validation = listing.images[len(train) :]
    return Source(
        name_of(listing.path), part(train), part(validation) if validation else None, notes=tuple(listing.notes)
    )
