"""Labels as a CSV table, a row per label.

Cells are data, exactly as they are. A spreadsheet may take a cell that begins with = + - @ for a formula: import the
file as text there. Putting a mark in front, as some do, would change class names for every other reader.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from deepbass.core.errors import DataError
from deepbass.core.raw_samples import Cell
from deepbass.exchange.records import PSEUDO, ItemRecord, LabelsRead, ReadLabel, Records
from deepbass.exchange.text import excerpt
from deepbass.label.contents import Content

COLUMNS = ("path", "label", "source", "annotator", "created_at", "iteration", "entropy", "confidence", "note")


def write_csv(file: TextIO, records: Records) -> None:
    """Write a row for every label, with the text or the columns that it is about, where there are such."""
    writer = csv.writer(file)  # quotes whatever has commas, quotes or line ends in it
    labelled = records.labelled()
    first = next((found for found in map(records.content, labelled) if found is not None), None)
    said = [] if first is None else list(said_of(first))
    writer.writerow([*COLUMNS, *_apart(said)])
    for record in labelled:
        row, content = columns_of(record), records.content(record) if said else None
        given = {} if content is None else said_of(content)
        writer.writerow([*(row[column] for column in COLUMNS), *(given.get(column) for column in said)])


def said_of(content: Content) -> dict[str, Cell]:
    """List what an item says by column: its text, and the columns of a table."""
    return {**({"text": content.text} if content.kind == "text" else {}), **dict(content.columns)}


def _apart(columns: Iterable[str]) -> list[str]:
    """Name columns of a table so that none is taken for one of ours, or for another, whatever the case of letters."""
    taken = set(COLUMNS)
    names = []
    for column in columns:
        name = column
        while name.strip().lower() in taken:
            name = f"{name}_"
        taken.add(name.strip().lower())
        names.append(name)
    return names


def columns_of(record: ItemRecord) -> dict[str, Any]:
    """Lay out a label by column. Entropy and confidence are those of guesses: people's labels have none."""
    guess = record.guess if record.is_guess else None
    return {
        "path": record.path,
        "label": record.label,
        "source": record.source,
        "annotator": record.annotator,
        "created_at": record.created_at,
        "iteration": record.iteration,
        "entropy": _short(guess.entropy) if guess else None,
        "confidence": _short(guess.confidence) if guess else None,
        "note": record.note or None,
    }


def read_csv(file: Path, text: str) -> LabelsRead:
    """Read path and label, maybe annotator; rows of ours that the model labelled are no labels by people."""
    found = LabelsRead()
    for line, row in _rows(file, text):
        if row.get("source", "").strip() == PSEUDO:
            found.skipped["pseudo-labels"] += 1
        elif not row["label"].strip():
            found.skipped["rows without a label"] += 1
        elif not row["path"]:
            raise DataError(f"{file}, line {line}: there is a label, {row['label']!r}, but no path.")
        else:
            annotator = row.get("annotator", "").strip() or None
            found.labels.append(ReadLabel(f"line {line}", (row["path"],), row["label"], annotator))
    return found


def _rows(file: Path, text: str) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        if not {"path", "label"} <= set(header):
            advice = " Separate columns with commas, not with ';'." if ";" in "".join(header) else ""
            raise DataError(
                f"{file}, line 1: the columns are {', '.join(header) or 'missing'!r}, but should be path,label or "
                f"path,label,annotator.{advice}"
            )
        if len(set(header)) < len(header):
            raise DataError(f"{file}, line 1: a column is there twice: {', '.join(header)!r}.")
        for cells in reader:
            if cells and len(cells) != len(header):
                raise DataError(
                    f"{file}, line {reader.line_num}: {len(cells)} cells ({excerpt(','.join(cells))}) under "
                    f"{len(header)} columns: quote a cell that has a comma in it."
                )
            if cells:
                yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise DataError(f"{file}, line {reader.line_num}: not a readable row of CSV ({error}).") from error


def _short(number: float) -> float:
    """Keep the digits that a single-precision number has."""
    return float(f"{number:.7g}")
