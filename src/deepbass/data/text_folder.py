"""Make a source of a folder of text files: a subfolder per class, as with images."""

from __future__ import annotations

from deepbass.core.errors import DataError
from deepbass.data.listing import ListedImage, Listing, name_some
from deepbass.data.raw_rows import TextFiles
from deepbass.data.source import Part, Source, name_of

SUFFIXES = frozenset({".txt"})


def from_text_files(listing: Listing) -> Source:
    """Take listed files for texts; they are opened when they are read."""
    files = [file for file in listing.images if _is_valid(file.name)]
    notes = list(listing.notes)
    if odd := [ascii(file.name) for file in listing.images if not _is_valid(file.name)]:
        notes.append(f"files whose names are no valid text were left out, so rename them: {name_some(odd)}")
    train = [file for file in files if not file.validation]
    if not train:
        raise DataError(f"{listing.path} has no texts to train with: add some, one subfolder per class.")

    def part(files: list[ListedImage]) -> Part:
        names = [file.name for file in files]
        samples = TextFiles([listing.folder / name for name in names], names)
        return Part(samples, [file.label for file in files], str(listing.path), names)

    validation = files[len(train) :]
    return Source(name_of(listing.path), part(train), part(validation) if validation else None, notes=tuple(notes))


def _is_valid(name: str) -> bool:
    """Tell whether a name can be written anywhere: the system may hand out any bytes for a name."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
