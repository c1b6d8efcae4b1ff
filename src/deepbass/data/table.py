"""Read a CSV table of images: path, label, and maybe split."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.data.listing import Listed, from_listing
from deepbass.data.source import Source

SPLITS = {"": False, "train": False, "val": True, "validation": True, "test": True}


def from_table(path: Path, config: Config, *, progress: bool = False) -> Source:
    """Read the images that a table names, with whole paths or paths relative to the table's folder."""
    listing: dict[str, Listed] = {}
    lines: dict[str, int] = {}
    for line, row in _rows(path):
        image = _listed(path, line, row)
        if image.name in listing:
            raise DataError(f"{path}, line {line}: {image.name!r} is listed on line {lines[image.name]} already.")
        listing[image.name], lines[image.name] = image, line
    return from_listing(path, list(listing.values()), [], config, progress)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Read the rows with their line numbers; empty lines are skipped."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:  # -sig: spreadsheets put a mark in front
            reader = csv.reader(file, strict=True)
            header = [name.strip().lower() for name in next(reader, [])]
            if not {"path", "label"} <= set(header):
                raise DataError(
                    f"{path}, line 1: the columns are {', '.join(header) or 'missing'!r}, "
                    "but should be path,label or path,label,split."
                )
            for cells in reader:
                if cells and len(cells) != len(header):
                    raise DataError(
                        f"{path}, line {reader.line_num}: {len(cells)} cells ({','.join(cells)!r}) "
                        f"under {len(header)} columns: quote a cell that has a comma in it."
                    )
                if cells:
                    yield reader.line_num, dict(zip(header, (cell.strip() for cell in cells), strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} is not a readable CSV table in UTF-8 ({error}).") from error


def _listed(table: Path, line: int, row: dict[str, str]) -> Listed:
    name, split = row["path"], row.get("split", "").lower()
    if split not in SPLITS:
        raise DataError(f"{table}, line {line}: split {row['split']!r} is none of train, val.")
    if not name or not (table.parent / name).is_file():  # a whole path stands for itself
        raise DataError(f"{table}, line {line}: there is no file {name!r} in {table.parent}.")
    return Listed(SPLITS[split], Path(name).as_posix(), row["label"])
