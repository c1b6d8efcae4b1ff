"""Tell from a name or a path what kind of source it is, and open it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.core.foreign import reason_of
from deepbass.data.arrays import from_npy, from_npz, is_array_folder
from deepbass.data.built_in import digits, toy
from deepbass.data.catalogue import NAMED, Named
from deepbass.data.cifar import from_cifar
from deepbass.data.featurised import Featurise, with_features, with_raw
from deepbass.data.fetch import fetch
from deepbass.data.idx import find_idx, from_idx, read_idx
from deepbass.data.image_folder import list_folder
from deepbass.data.image_table import is_image_table, list_table
from deepbass.data.listing import Listing, from_listing, raw_listing
from deepbass.data.row_files import KINDS as ROW_KINDS
from deepbass.data.row_files import kind_of, open_rows
from deepbass.data.row_source import Roles, from_rows, list_columns
from deepbass.data.sms import from_sms
from deepbass.data.source import Part, Source
from deepbass.data.text_folder import SUFFIXES as TEXT_SUFFIXES
from deepbass.data.text_folder import from_text_files

KINDS = (
    "a folder of images or of .txt files, a table (.csv, .tsv, .jsonl, .parquet) of images, texts or rows, .npy or "
    ".npz arrays, or IDX files"
)


def open_source(
    source: str,
    config: Config,
    folder: Path | None,
    progress: bool,
    *,
    raw: bool = False,
    featurise: Featurise | None = None,
) -> Source:
    """Open a named data set, or else whatever lies at a path, and decode what are images.

    With ``raw``, images come as they are, not decoded. With ``featurise``, features stand in the place of images, texts
    and rows of tables, unless it returns None: such images are decoded.
    """
    if source == "toy":
        return toy(config.seed)
    found = find_source(source, folder, progress=progress, text=config.text, target=config.target, id_=config.id)
    if raw or featurise is not None:
        as_found = with_raw(raw_listing(found) if isinstance(found, Listing) else found, config.features)
        if raw:
            return as_found
        featured = with_features(as_found, featurise) if featurise else None
        if featured is not None:
            return featured
    return from_listing(found, config, progress=progress) if isinstance(found, Listing) else found


def find_source(
    source: str,
    folder: Path | None,
    *,
    unlabelled: bool = False,
    progress: bool = False,
    text: str | None = None,
    target: str | None = None,
    show: Sequence[str] = (),
    id_: str | None = None,
) -> Source | Listing:
    """Find a named data set, or else what lies at a path; a name goes before a path that is spelled the same.

    The toy is not found here: it is drawn by a run's seed. Image files are listed but not opened. ``unlabelled`` is
    for those who want to label: arrays and texts need no labels beside them then, and a file that a table names may be
    gone. ``text`` and ``target`` are the columns of a table that hold texts and labels, ``show`` what people want to
    see beside a text, ``id_`` what names the rows. Parts of texts and rows have raw samples for their X.
    """
    roles = Roles(text, target, show=tuple(show), id=id_)
    if not source:
        raise DataError(f"No data was named. Known by name: {', '.join(NAMED)}. Or give {KINDS}.")
    if source in NAMED:
        _refuse_columns(source, roles)
    if source == "digits":
        return digits()
    if source in NAMED:
        return _from_named(NAMED[source], folder, progress)
    try:
        return _from_path(source, unlabelled, roles)
    except OSError as error:  # a folder without permission, a name too long, ...
        raise DataError(f"{source!r} cannot be read ({reason_of(error)}).") from error


def _from_named(named: Named, folder: Path | None, progress: bool) -> Source:
    files = fetch(named.name, folder=folder, progress=progress)
    match named.format:
        case "cifar":
            return from_cifar(files, named)
        case "jsonl":
            return replace(from_rows(open_rows(files[0]), Roles("text", "label", "part")), name=named.name)
        case "sms":
            return from_sms(files[0], named.name)
    images, labels, test_images, test_labels = files
    return Source(
        named.name,
        Part(read_idx(images), read_idx(labels), str(images), "train"),
        Part(read_idx(test_images), read_idx(test_labels), str(test_images), "validation"),
        named.classes,
    )


def _from_path(source: str, unlabelled: bool, roles: Roles) -> Source | Listing:
    path = Path(source).expanduser()
    if path.exists() and not (path.is_file() and kind_of(path) in ROW_KINDS):
        _refuse_columns(source, roles)
    if found := find_idx(path):
        return from_idx(*found, unlabelled=unlabelled)
    if path.is_dir():
        return from_npy(path, unlabelled=unlabelled) if is_array_folder(path) else _from_folder(path)
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
    if kind_of(path) in ROW_KINDS:
        return _from_table(path, unlabelled, roles)
    raise DataError(f"{source!r} is of no kind that can be read: give {KINDS}.")


def _refuse_columns(source: str, roles: Roles) -> None:
    """Refuse columns of what has none, so that nobody waits for them to count."""
    for name, column in (("text", roles.text), ("target", roles.target), ("id", roles.id)):
        if column is not None:
            raise DataError(
                f"{source!r} has no columns, so {name} = {column!r} means nothing to it: leave --{name} out. Columns "
                "are for tables: .csv, .tsv, .jsonl or .parquet."
            )


def _from_folder(folder: Path) -> Source | Listing:
    """List a folder's images; one that has none, but texts, is a folder of texts."""
    images = list_folder(folder)
    if images.images:
        return images
    texts = list_folder(folder, TEXT_SUFFIXES)
    return from_text_files(texts) if texts.images else images


def _from_table(path: Path, unlabelled: bool, roles: Roles) -> Source | Listing:
    """Read a table of texts or rows; a .csv that names image files is a table of images, unless told otherwise."""
    chosen = roles.text is not None or roles.target is not None
    if not chosen and path.suffix.lower() == ".csv" and is_image_table(path):
        if roles.id is not None:
            raise DataError(f"{path} is a table of images, which are called by their paths: leave --id {roles.id} out.")
        return list_table(path, missing_ok=unlabelled)
    rows = open_rows(path)
    if not chosen:
        images = " A table of images has the columns path,label, with a comma between." if path.suffix == ".csv" else ""
        raise DataError(
            f"{path}, line 1: the columns are {list_columns(rows)!r}. Say which of them holds the texts "
            "to learn from (--text COLUMN), or, to learn from the rows themselves, which holds the labels "
            f"(--target COLUMN).{images}"
        )
    return from_rows(rows, roles, unlabelled=unlabelled)
