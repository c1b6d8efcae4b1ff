"""Tell what the cells of a table are: numbers, categories, or nothing."""

from __future__ import annotations

import json
import math
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.raw_samples import Cell

MISSING = frozenset({"", "na", "nan", "null"})  # in any case of letters: what spreadsheets, R and pandas leave
_DIGITS = "0123456789"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_COMMA = re.compile(r"[+-]?\d*,\d+", re.ASCII)


def is_missing(cell: Cell) -> bool:
    """Tell whether nothing stands in a cell."""
    if not isinstance(cell, str):
        return cell is None
    if cell[:1] in _DIGITS:  # most cells of most tables, so look no further
        return not cell
    return cell.strip().lower() in MISSING


def as_number(cell: Cell) -> float | None:
    """Read a number, or NaN for what is infinite; None if the cell holds none."""
    if not isinstance(cell, str):
        return cell
    text = cell.strip()
    if not _NUMBER.fullmatch(text):
        return math.nan if _INFINITE.fullmatch(text) else None
    number = float(text)
    return number if math.isfinite(number) else math.nan


def with_point(cell: Cell) -> Cell:
    """Write a number with a point that has a comma, as half of Europe does; others stay as they are."""
    return cell.replace(",", ".") if isinstance(cell, str) and _COMMA.fullmatch(cell.strip()) else cell


def as_text(cell: Cell) -> str:
    """Write a cell as people would; nothing for what is missing, whole numbers without a point."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    return str(int(cell)) if cell.is_integer() else repr(cell)


def to_cell(value: Any) -> Cell:
    """Bring a value of JSON, Parquet or Python into a cell: true and false become words, what is nested its JSON."""
    match value:
        case None | str():
            return value
        case bool() | np.bool_():
            return "true" if value else "false"
        case int() | float() | np.number():
            return _finite_number(value)
        case bytes():
            return value.decode()
        case list() | tuple() | dict():
            return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)  # dates, decimals, ...


def _finite_number(value: Any) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


class Numbers:
    """A column of numbers; NaN where one is missing."""

    def __init__(self) -> None:
        self._values = array("d")

    def append(self, cell: Cell) -> None:
        """Add a cell, which must be a number or missing."""
        number = math.nan if is_missing(cell) else as_number(cell)
        if number is None:
            raise ValueError(f"{cell!r} is no number, though the cells of this column were numbers a moment ago")
        self._values.append(number)

    def read(self, row: int) -> Cell:
        """Read a cell."""
        number = self._values[row]
        return None if math.isnan(number) else number


class Categories:
    """A column of words, each of them kept once."""

    def __init__(self) -> None:
        self._codes = array("i")
        self._words: list[str] = []
        self._code_of: dict[str, int] = {}

    def append(self, cell: Cell) -> None:
        """Add a cell."""
        if is_missing(cell):
            self._codes.append(-1)
            return
        word = as_text(cell).strip()
        code = self._code_of.setdefault(word, len(self._words))
        if code == len(self._words):
            self._words.append(word)
        self._codes.append(code)

    def read(self, row: int) -> Cell:
        """Read a cell."""
        code = self._codes[row]
        return None if code < 0 else self._words[code]

    @property
    def distinct(self) -> int:
        """How many different words there are."""
        return len(self._words)


class ColumnTypes:
    """Which columns hold numbers and which hold anything: told by all of their cells, before any of them is kept."""

    def __init__(self, columns: Iterable[str]) -> None:
        self._columns = list(columns)
        self._numbers = dict.fromkeys(self._columns, True)
        self._filled = dict.fromkeys(self._columns, False)

    def look(self, cells: Iterable[Cell]) -> None:
        """Look at the cells of a row, in the order of the columns."""
        for column, cell in zip(self._columns, cells, strict=True):
            if self._numbers[column] or not self._filled[column]:
                if is_missing(cell):
                    continue
                self._filled[column] = True
                self._numbers[column] = self._numbers[column] and as_number(cell) is not None

    def made(self) -> Iterator[tuple[str, Numbers | Categories]]:
        """Make the columns that hold anything, empty and of the right kind."""
        for column in self._columns:
            if self._filled[column]:
                yield column, Numbers() if self._numbers[column] else Categories()

    @property
    def empty(self) -> list[str]:
        """The columns with nothing in them."""
        return [column for column in self._columns if not self._filled[column]]


def as_classes(labels: Sequence[str], among: Iterable[str]) -> NDArray[Any] | Sequence[str]:
    """Make whole numbers of labels if all ``among`` which they are can be, so that 10 comes after 9; or leave text."""
    numbers = {label: _whole(label) for label in set(among)}
    known = [number for number in numbers.values() if number is not None]
    if len(known) < len(numbers) or max(known, default=-1) < 0 or min(known) < -1:
        return labels
    return np.array([numbers[label] for label in labels], dtype=np.int64)


def _whole(label: str) -> int | None:
    """Read a whole number, also one that pandas wrote as 3.0; -1 for an unknown label. 007 is a name."""
    if not label:
        return -1
    match = re.fullmatch(r"(-?(?:0|[1-9]\d{0,14}))(\.0+)?", label, re.ASCII)
    return int(match[1]) if match else None
