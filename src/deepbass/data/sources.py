"""Tell from a name or a path what kind of source it is, and open it."""

from __future__ import annotations

import difflib
from pathlib import Path

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.core.foreign import reason_of
from deepbass.data.arrays import from_npy, from_npz, is_array_folder
from deepbass.data.built_in import digits, toy
from deepbass.data.catalogue import NAMED, Named
from deepbass.data.fetch import fetch
from deepbass.data.idx import find_idx, from_idx, read_idx
from deepbass.data.image_folder import list_folder
from deepbass.data.image_table import list_table
from deepbass.data.listing import Listing, from_listing
from deepbass.data.source import Part, Source

KINDS = "a folder of images, a .csv table of images, .npy or .npz arrays, or IDX files"


def open_source(source: str, config: Config, folder: Path | None, progress: bool) -> Source:
    """Open a named data set, or else whatever lies at a path, and decode what are images."""
    if source == "toy":
        return toy(config.seed)
    found = find_source(source, folder, progress=progress)
    return from_listing(found, config, progress=progress) if isinstance(found, Listing) else found


def find_source(
    source: str, folder: Path | None, *, unlabelled: bool = False, progress: bool = False
) -> Source | Listing:
    """Find a named data set, or else what lies at a path; a name goes before a path that is spelled the same.

    The toy is not found here: it is drawn by a run's seed. Image files are listed but not opened. ``unlabelled`` is
    for those who want to label: arrays need no labels beside them then, and a file that a table names may be gone.
    """
    if not source:
        raise DataError(f"No data was named. Known by name: {', '.join(NAMED)}. Or give {KINDS}.")
    if source == "digits":
        return digits()
    if source in NAMED:
        return _from_named(NAMED[source], folder, progress)
    try:
        return _from_path(source, unlabelled)
    except OSError as error:  # a folder without permission, a name too long, ...
        raise DataError(f"{source!r} cannot be read ({reason_of(error)}).") from error


def _from_named(named: Named, folder: Path | None, progress: bool) -> Source:
    images, labels, test_images, test_labels = fetch(named.name, folder=folder, progress=progress)
    return Source(
        named.name,
        Part(read_idx(images), read_idx(labels), str(images), "train"),
        Part(read_idx(test_images), read_idx(test_labels), str(test_images), "validation"),
        named.classes,
    )


def _from_path(source: str, unlabelled: bool) -> Source | Listing:
    path = Path(source).expanduser()
    if found := find_idx(path):
        return from_idx(*found, unlabelled=unlabelled)
    if path.is_dir():
        return from_npy(path, unlabelled=unlabelled) if is_array_folder(path) else list_folder(path)
    if not path.exists():
        near = difflib.get_close_matches(source, NAMED, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise DataError(
            f"There is no data set and no file {source!r}.{hint} Known by name: {', '.join(NAMED)}. Or give {KINDS}."
        )
    match path.suffix.lower():
        case ".npy":
            return from_npy(path, unlabelled=unlabelled)
        case ".npz":
            return from_npz(path, unlabelled=unlabelled)
        case ".csv":
            return list_table(path, missing_ok=unlabelled)
    raise DataError(f"{source!r} is of no kind that can be read: give {KINDS}.")
