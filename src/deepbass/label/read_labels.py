"""Read labels from a file: a CSV table, JSON Lines, or the JSON of Label Studio."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deepbass.core.errors import DataError
from deepbass.label.read_studio import read_task
from deepbass.label.records import PSEUDO

LARGEST = 1 << 29  # bytes: as much as can be held in memory several times over


@dataclass(frozen=True)
class Labelled:
    """A label as a file has it."""

    where: str  # in the file, as in "line 12"
    paths: tuple[str, ...]  # that may name the item, the likeliest first
    label: str
    annotator: str | None = None


@dataclass
class Content:
    """What a file holds."""

    labels: list[Labelled] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)  # what is no label by a person, by kind


def read_labels(file: Path) -> Content:
    """Read a file; what kind it is shows in how it begins, and JSON Lines in its name."""
    text = _read(file)
    if file.suffix.lower() in (".jsonl", ".ndjson"):
        return _lines(file, text)
    if text.lstrip()[:1] in ("[", "{"):
        return _studio(file, text)
    return _table(file, text)


def _read(file: Path) -> str:
    try:
        size = file.stat().st_size
        if not file.is_file():
            raise DataError(f"{file} cannot be read: it is no file.")
        if size > LARGEST:
            raise DataError(
                f"{file} has {size / 1e6:,.0f} MB, more than the {LARGEST / 1e6:,.0f} MB that can be read: split it."
            )
        content = file.read_bytes()
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}.") from error
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{file} is UTF-16 text: save it as UTF-8.")
    try:
        return content.decode("utf-8-sig")  # -sig: spreadsheets put a mark in front
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(f"{file}, line {line}: not UTF-8 text ({error.reason}): save the file as UTF-8.") from error


def _table(file: Path, text: str) -> Content:
    """Read path and label, maybe annotator; rows of ours that the model labelled are no labels by people."""
    found = Content()
    for line, row in _rows(file, text):
        if row.get("source", "").strip() == PSEUDO:
            found.skipped["pseudo-labels"] += 1
        elif not row["label"].strip():
            found.skipped["rows without a label"] += 1
        elif not row["path"]:
            raise DataError(f"{file}, line {line}: there is a label, {row['label']!r}, but no path.")
        else:
            who = row.get("annotator", "").strip() or None
            found.labels.append(Labelled(f"line {line}", (row["path"],), row["label"], who))
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
                    f"{file}, line {reader.line_num}: {len(cells)} cells ({_some(','.join(cells))}) under "
                    f"{len(header)} columns: quote a cell that has a comma in it."
                )
            if cells:
                yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise DataError(f"{file}, line {reader.line_num}: not a readable row of CSV ({error}).") from error


def _lines(file: Path, text: str) -> Content:
    """Read our own JSON Lines: the label that holds, where people gave one."""
    found = Content()
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        row = _json(file, line, f"line {number}: ")
        if not isinstance(row, dict) or not isinstance(row.get("path"), str):
            raise DataError(f"{file}, line {number}: not an object with a path ({_some(line)}).")
        label, who = row.get("label"), row.get("annotator")
        if row.get("source") == PSEUDO:
            found.skipped["pseudo-labels"] += 1
        elif label is None:
            found.skipped["rows without a label"] += 1
        elif not isinstance(label, str) or not isinstance(who, str | None):
            raise DataError(f"{file}, line {number}: label and annotator must be text, not {label!r} and {who!r}.")
        else:
            found.labels.append(Labelled(f"line {number}", (row["path"],), label, who or None))
    return found


def _studio(file: Path, text: str) -> Content:
    tasks = _json(file, text)
    found = Content()
    for number, task in enumerate(tasks if isinstance(tasks, list) else [tasks], 1):
        where = f"task {number}"
        try:
            spoken, skipped = read_task(task)
        except DataError as error:
            raise DataError(f"{file}, {where}: {error}") from error
        found.labels += [Labelled(where, spoken.paths, label, who) for who, label in spoken.labels]
        found.skipped += skipped
    return found


def _json(file: Path, text: str, where: str = "") -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = where or f"line {error.lineno}, column {error.colno}: "
        raise DataError(f"{file}, {place}not valid JSON ({error.msg}).") from error
    except RecursionError as error:
        raise DataError(f"{file}, {where or 'line 1: '}JSON that is nested too deeply to be read.") from error


def _some(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:80] + "...")
