"""Read a CSV table of images: path, label, and maybe split."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from deepbass.core.errors import DataError
from deepbass.core.foreign import decoding, excerpt
from deepbass.data.listing import ListedImage, Listing, name_some

HEAD = 1 << 16  # characters that hold any header
SPLITS = {"": False, "train": False, "val": True, "validation": True, "test": True}


def list_table(path: Path, *, missing_ok: bool = False) -> Listing:
    """List the images that a table names, with whole paths or paths relative to the table's folder.

    ``missing_ok`` leaves out what is not there, and notes it, instead of refusing the table.
    """
    listing: dict[str, ListedImage] = {}
    lines: dict[str, int] = {}
    missing = []
    for line, row in _rows(path):
        image = _listed(path, line, row)
        if image.name in lines:
            raise DataError(
                f"{path}, line {line}: {excerpt(image.name)!r} is listed on line {lines[image.name]} already."
            )
        lines[image.name] = line
        if (path.parent / image.name).is_file():  # a whole path stands for itself
            listing[image.name] = image
        elif missing_ok:
            missing.append(f"{excerpt(row['path'])!r} (line {line})")
        else:
            raise DataError(f"{path}, line {line}: there is no file {excerpt(row['path'])!r} in {path.parent}.")
    notes = [f"files that {path} names are not there: {name_some(missing)}"] if missing else []
    return Listing(path, path.parent, sorted(listing.values()), notes)


def is_image_table(path: Path) -> bool:
    """Tell whether a table names image files; what cannot be read at all is left to those who say why."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            header = next(csv.reader([file.readline(HEAD)]), [])
    except csv.Error:
        return True
    return not header or "path" in {name.strip().lower() for name in header}


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Read the rows with their line numbers; empty lines are skipped."""
    with (
        decoding(path, "CSV table in UTF-8", "Save it again as such.", DataError),
        path.open(encoding="utf-8-sig", newline="") as file,  # -sig: spreadsheets put a mark in front
    ):
        reader = csv.reader(file, strict=True)
        header = [name.strip().lower() for name in next(reader, [])]
        if not {"path", "label"} <= set(header):
            raise DataError(
                f"{path}, line 1: the columns are {excerpt(', '.join(header)) or 'missing'!r}, "
                "but should be path,label or path,label,split."
            )
        for cells in reader:
            if cells and len(cells) != len(header):
                raise DataError(
                    f"{path}, line {reader.line_num}: {len(cells)} cells ({excerpt(','.join(cells))!r}) "
                    f"under {len(header)} columns: quote a cell that has a comma in it."
                )
            if cells:
                yield reader.line_num, dict(zip(header, (cell.strip() for cell in cells), strict=True))


def _listed(table: Path, line: int, row: dict[str, str]) -> ListedImage:
    name, split = row["path"], row.get("split", "").lower()
    if split not in SPLITS:
        raise DataError(f"{table}, line {line}: split {excerpt(row['split'])!r} is none of train, val.")
    if not name:
        raise DataError(f"{table}, line {line}: there is no file '' in {table.parent}.")
    return ListedImage(SPLITS[split], Path(name).as_posix(), row["label"])
