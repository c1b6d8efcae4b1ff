"""Make a source of a file of rows: its texts with their labels, or its rows themselves."""

from __future__ import annotations

import difflib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from deepbass.core.errors import DataError
from deepbass.core.foreign import excerpt, guarded, reason_of
from deepbass.core.raw_samples import Cell, RawSamples
from deepbass.data.image_table import SPLITS
from deepbass.data.listing import name_some
from deepbass.data.raw_rows import TableRows, Texts, row_numbers
from deepbass.data.row_files import NumberedRow, RowFile, kind_of
from deepbass.data.row_ids import RowIds
from deepbass.data.source import Part, RawNames, Source, name_of
from deepbass.data.table_cells import (
    Categories,
    ColumnTypes,
    Numbers,
    as_classes,
    as_number,
    as_text,
    is_missing,
    with_point,
)
from deepbass.data.text_store import TextStore

LABEL = "label"  # the column of labels, unless another is named
SPLIT = "split"
LONGEST_LABEL = 200  # characters: what is longer is no name of a class
MANY = 100  # words of a column that hardly ever come twice: a name or a text, of no use as a category


class ColumnNames(Protocol):
    """What has named columns, and a place to name in errors."""

    @property
    def path(self) -> Path: ...

    @property
    def columns(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Roles:
    """What the columns of a table are for."""

    text: str | None = None  # holds the texts to learn from; None: all columns are learned from
    target: str | None = None  # holds the labels; None: the column "label", if it is there
    split: str = SPLIT  # tells train from val
    show: tuple[str, ...] = ()  # stand beside a text where people see it
    id: str | None = None  # names the rows; None: their numbers do


@dataclass
class _Gathered:
    """The rows of one part, as they come."""

    numbers: array[int] = field(default_factory=lambda: array("q"))
    names: list[str] = field(default_factory=list)  # where a column has them
    labels: list[str] = field(default_factory=list)
    texts: TextStore = field(default_factory=TextStore)
    columns: dict[str, Numbers | Categories] = field(default_factory=dict)


def from_rows(file: RowFile, roles: Roles, *, unlabelled: bool = False) -> Source:
    """Read a file of rows. With ``unlabelled``, texts need no column of labels."""
    for name in (roles.text, *roles.show, roles.id):
        if name is not None:
            need_column(file, name)
    target = _target(file, roles, unlabelled)
    split = next((name for name in file.columns if name.lower() == roles.split), None)
    if roles.text is not None and roles.text == target:
        raise DataError(f"{file.path}: the column {target!r} cannot hold both the texts and their labels: name two.")
    if roles.id is not None and roles.id in (roles.text, target, split):
        raise DataError(
            f"{file.path}: the column {roles.id!r} cannot name the rows and be something else: name another."
        )
    reader = _RowReader(file, roles, target, split)
    train, validation = reader.read()
    if not len(train.numbers):
        what = "rows" if roles.text is None else f"rows with text in the column {roles.text!r}"
        raise DataError(f"{file.path} has no {what} to train with: add some.")
    return Source(
        name_of(file.path).removesuffix(kind_of(file.path)),  # what .gz leaves
        reader.part(train),
        reader.part(validation) if len(validation.numbers) else None,
        notes=tuple(reader.notes),
    )


def need_column(file: ColumnNames, name: str) -> None:
    """Refuse a column that is not there, and suggest the nearest."""
    if name not in file.columns:
        lowered = {column.lower(): column for column in file.columns}
        near = difflib.get_close_matches(name.lower(), lowered, n=1)
        hint = f" Did you mean {lowered[near[0]]!r}?" if near else ""
        raise DataError(f"{file.path} has no column {name!r}.{hint} Its columns: {list_columns(file)}.")


def list_columns(file: ColumnNames) -> str:
    """Name the columns of a file."""
    return name_some([excerpt(column) for column in file.columns]) or "none"


def _target(file: RowFile, roles: Roles, unlabelled: bool) -> str | None:
    if roles.target is not None:
        need_column(file, roles.target)
        return roles.target
    if LABEL in file.columns:
        return LABEL
    if unlabelled:
        return None
    raise DataError(
        f"{file.path} has no column {LABEL!r}: name the one that holds the labels with --target COLUMN. "
        f"Its columns: {list_columns(file)}."
    )


class _RowReader:
    """Reads all rows of a file into two parts, and notes what should be told."""

    def __init__(self, file: RowFile, roles: Roles, target: str | None, split: str | None) -> None:
        self.notes: list[str] = []
        self._file = file
        self._text = roles.text
        self._target = target
        self._split = split
        self._ids = None if roles.id is None else RowIds(file.path, roles.id)
        self._comma = getattr(file, "delimiter", ",") == ";"  # where a comma parts no cells, it may part a number
        self._labels: set[str] = set()  # that there are in both parts
        self._columns = list(roles.show)
        if roles.text is None:  # labels and parts are no part of what is learned from
            self._columns = [name for name in file.columns if name not in (target, split, roles.id)]
        if roles.text is None and not self._columns:
            raise DataError(f"{file.path} has no column but {list_columns(file)}: there is nothing to learn from.")
        own = (roles.text, target, split, roles.id, *self._columns)
        self._needed = [name for name in file.columns if name in own]

    def read(self) -> tuple[_Gathered, _Gathered]:
        """Read the file: once for the types of its columns, once for its rows."""
        parts = _Gathered(), _Gathered()
        self._make_columns(parts)
        empty: list[str] = []
        words = False
        row = NumberedRow(0, 0, {})
        with guarded(lambda cause: self._refuse(row, reason_of(cause))):
            for row in self._file.rows(self._needed):
                part = parts[0 if self._split is None else self._is_validation(row, self._split)]
                if self._text is not None:
                    text = as_text(row.cells.get(self._text))
                    if not text.strip():
                        empty.append(f"row {row.number}")
                        continue
                    words = words or as_number(row.cells[self._text]) is None
                    part.texts.append(text)
                if self._ids is not None:
                    part.names.append(self._ids.take(row))
                part.numbers.append(row.number)
                label = "" if self._target is None else self._label(row, self._target)
                part.labels.append(label)
                self._labels.add(label)
                if self._columns:
                    for cells, cell in zip(part.columns.values(), self._cells(row, part.columns), strict=True):
                        cells.append(cell)
        if self._ids is not None:
            self._ids.check()
        if self._text is not None and not words and any(len(part.numbers) for part in parts):
            raise DataError(
                f"{self._file.path}: the column {self._text!r} holds numbers, not texts. To learn from a table of "
                "numbers and words, leave --text out and name the column of its labels with --target COLUMN."
            )
        self._note(parts, empty)
        return parts

    def part(self, gathered: _Gathered) -> Part:
        """Make a part of what was gathered."""
        names = row_numbers(gathered.numbers) if self._ids is None else gathered.names
        count = len(gathered.numbers)
        rows = TableRows(gathered.columns, count, names)
        samples: RawSamples = rows if self._text is None else Texts(gathered.texts, names, rows)
        return Part(samples, as_classes(gathered.labels, self._labels), str(self._file.path), RawNames(samples))

    def _make_columns(self, parts: Sequence[_Gathered]) -> None:
        if not self._columns:
            return
        types = ColumnTypes(self._columns)
        for row in self._file.rows(self._needed):
            types.look(self._cells(row, self._columns))
        for part in parts:
            part.columns = dict(types.made())
        if self._text is None and types.empty:
            self.notes.append(f"columns with nothing in them were left out: {name_some(types.empty)}")
        if self._text is None and not parts[0].columns:
            raise DataError(f"{self._file.path} has nothing in its columns: there is nothing to learn from.")

    def _cells(self, row: NumberedRow, columns: Iterable[str]) -> list[Cell]:
        cells = [row.cells.get(column) for column in columns]
        return [with_point(cell) for cell in cells] if self._comma else cells

    def _is_validation(self, row: NumberedRow, split: str) -> bool:
        word = as_text(row.cells.get(split)).strip().lower()
        if word not in SPLITS:
            raise self._refuse(row, f"{split} {excerpt(word)!r} is none of train, val")
        return SPLITS[word]

    def _label(self, row: NumberedRow, target: str) -> str:
        cell = row.cells.get(target)
        if is_missing(cell):
            return ""
        label = as_text(cell).strip()
        if len(label) > LONGEST_LABEL:
            raise self._refuse(row, f"the label has {len(label)} characters: is {target!r} the column of labels?")
        return label

    def _refuse(self, row: NumberedRow, why: str) -> DataError:
        return DataError(f"{self._file.path}, {row.place}: {why}.")

    def _note(self, parts: Sequence[_Gathered], empty: Sequence[str]) -> None:
        if empty:
            self.notes.append(f"{_count(len(empty))} without text in {self._text!r} skipped: {name_some(empty)}")
        total = sum(len(part.labels) for part in parts)
        unknown = sum(label in ("", "-1") for part in parts for label in part.labels)
        if self._target is not None and 0 < unknown < total:
            self.notes.append(f"{_count(unknown)} without a label in {self._target!r} (empty, NA, nan, null or -1)")
        for name, cells in parts[0].columns.items() if self._text is None else ():
            if isinstance(cells, Categories) and cells.distinct > max(MANY, len(parts[0].numbers) // 2):
                self.notes.append(
                    f"the column {name!r} has {cells.distinct} different words in {len(parts[0].numbers)} rows, too "
                    f"many for categories: if it holds texts, learn from them with --text {name}"
                )


def _count(rows: int) -> str:
    return f"{rows} row{'s' if rows > 1 else ''}"
