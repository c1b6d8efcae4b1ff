"""Features of a table's rows: numbers scaled, categories spread out, what is missing filled in and marked.

Fitted on the rows at hand, without labels. Columns of which every row has another text (names, dates, remarks) say
nothing about a new row: they are left out, and named.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DataError
from deepbass.core.raw_samples import Cell, RawSamples, Row, UnreadableSample
from deepbass.features.extractor import Features, PreparingExtractor, State, digest_of_arrays

VERSION = 1  # to be raised when a row becomes other numbers
MOST_ROWS = 50_000  # that are fitted on: evenly spread over all, if there are more
MOST_LEVELS = 32  # of a category that count for themselves, the commonest
RARE = 0.002  # share of the rows below which a level is among the others, and at least two of them
NUMERIC = 0.9  # share of a column's cells that must be numbers
DISTINCT = 0.5  # share of a column's texts that are distinct, above which they are no categories
FEW = 20  # distinct texts that are categories in any case
CLIP = 5.0  # standard deviations: further outliers are no further away
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]\d{1,2}:\d{2}.*)?")


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers."""

    column: str
    median: float
    mean: float
    spread: float
    marked: bool  # whether a further number says if the cell is empty

    @property
    def width(self) -> int:
        return 1 + self.marked

    def fill(self, cells: Sequence[Cell], out: Features) -> None:
        """Write the features of cells."""
        found = [number_of(cell) for cell in cells]
        values = np.array([self.median if number is None else number for number in found])
        out[:, 0] = np.clip((values - self.mean) / self.spread, -CLIP, CLIP)
        if self.marked:
            out[:, 1] = [number is None for number in found]


@dataclass(frozen=True)
class CategoryColumn:
    """A column of categories: one feature a level, then one for all others and one for empty cells."""

    column: str
    levels: tuple[str, ...]

    @property
    def width(self) -> int:
        return len(self.levels) + 2

    def fill(self, cells: Sequence[Cell], out: Features) -> None:
        """Write the features of cells."""
        places = {level: place for place, level in enumerate(self.levels)}
        others = len(self.levels)
        out[:] = 0
        for row, cell in enumerate(cells):
            level = level_of(cell)
            out[row, others + 1 if level is None else places.get(level, others)] = 1


class TableFeatures(PreparingExtractor):
    """A row becomes its numbers, on one scale, and its categories, as zeros and ones."""

    name = "table"
    kind: Literal["row"] = "row"
    batch = 1024

    def __init__(self) -> None:
        self._columns: list[NumberColumn | CategoryColumn] = []
        self._left_out: dict[str, str] = {}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return tuple(column.column for column in self._columns)

    @property
    def width(self) -> int:
        """How many numbers a row becomes."""
        return sum(column.width for column in self._columns)

    @property
    def identity(self) -> str:
        """The columns, and what was fitted of them."""
        return f"table {VERSION} {digest_of_arrays(json.dumps(self.state()))}"

    def describe(self) -> str:
        """Say what it sees of a row, and which columns it does not see."""
        numbers = sum(isinstance(column, NumberColumn) for column in self._columns)
        categories = len(self._columns) - numbers
        told = f"table: {self.width} numbers a row from {numbers} columns of numbers and {categories} of categories"
        if self._left_out:
            told += "; left out: " + ", ".join(f"{column} ({why})" for column, why in self._left_out.items())
        return told

    def fit(self, samples: RawSamples, rows: NDArray[np.int64]) -> None:
        """Learn which columns are numbers and categories, their scales and their levels."""
        spread = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS)).astype(np.int64))]
        found = [row for row in (_read(samples, int(number)) for number in spread) if row is not None]
        if not found:
            raise DataError("No row of the table could be read.")
        self._columns, self._left_out = [], {}
        for column in dict.fromkeys(name for row in found for name in row):
            made = _fit_column(column, [row.get(column) for row in found], len(rows))
            if isinstance(made, str):
                self._left_out[column] = made
            else:
                self._columns.append(made)
        if not self._columns:
            told = ", ".join(f"{column} ({why})" for column, why in self._left_out.items())
            raise DataError(f"No column of the table can be learned from: {told}.")

    def compute_prepared(self, prepared: Sequence[Row]) -> Features:
        """Put the features of all columns side by side; a column that a row does not have is empty there."""
        out = np.empty((len(prepared), self.width), dtype=np.float32)
        start = 0
        for column in self._columns:
            column.fill([row.get(column.column) for row in prepared], out[:, start : start + column.width])
            start += column.width
        return out

    def state(self) -> State:
        """The columns, and what was fitted of them."""
        return {
            "name": self.name,
            "version": VERSION,
            "numbers": [[place, asdict(c)] for place, c in enumerate(self._columns) if isinstance(c, NumberColumn)],
            "categories": [
                [place, asdict(c)] for place, c in enumerate(self._columns) if isinstance(c, CategoryColumn)
            ],
            "left_out": self._left_out,
        }

    @classmethod
    def from_state(cls, state: State) -> TableFeatures:
        """Make the extractor that a model was trained with."""
        if state["version"] != VERSION:
            raise DataError(
                f"These columns were read by another version of deepbass ({state['version']}): train again."
            )
        columns: dict[int, NumberColumn | CategoryColumn] = {}
        for place, facts in state["numbers"]:
            columns[place] = NumberColumn(**facts)
        for place, facts in state["categories"]:
            columns[place] = CategoryColumn(facts["column"], tuple(facts["levels"]))
        extractor = cls()
        extractor._columns = [columns[place] for place in range(len(columns))]
        extractor._left_out = dict(state["left_out"])
        return extractor


def number_of(cell: Cell) -> float | None:
    """Read a cell as a number; None if it is empty or none."""
    try:
        number = float(cell) if cell is not None else math.nan
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def level_of(cell: Cell) -> str | None:
    """Read a cell as a category: 1 and 1.0 are the same; None if it is empty."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip() or None


def _read(samples: RawSamples, row: int) -> Row | None:
    try:
        found: Row = samples.read(row)
    except UnreadableSample:
        return None
    return found


def _fit_column(column: str, cells: Sequence[Cell], rows: int) -> NumberColumn | CategoryColumn | str:
    """Find out what a column of so many rows is, from some of its cells; a text says why it is left out."""
    levels = Counter(level for level in map(level_of, cells) if level is not None)
    filled = levels.total()
    if not filled:
        return "empty"
    numbers = np.array([number for number in map(number_of, cells) if number is not None])
    if len(numbers) >= NUMERIC * filled:
        return _fit_numbers(column, numbers, rows, empty=len(numbers) < len(cells))
    if len(levels) > FEW and len(levels) > DISTINCT * filled:
        dates = sum(_DATE.fullmatch(level) is not None for level in levels)
        return "dates" if dates > len(levels) / 2 else "texts, nearly all distinct"
    if len(levels) == 1 and filled == len(cells):
        return "always the same"
    often = [level for level, times in levels.most_common(MOST_LEVELS) if times >= max(2, RARE * filled)]
    return CategoryColumn(column, tuple(sorted(often)))


def _fit_numbers(column: str, numbers: NDArray[np.float64], rows: int, *, empty: bool) -> NumberColumn | str:
    low, high = np.quantile(numbers, [0.01, 0.99])
    inner = np.clip(numbers, low, high)  # so that a few outliers do not set the scale for all
    spread = float(inner.std()) or float(numbers.std())
    if spread == 0 and not empty:
        return "always the same"
    whole = bool((numbers == np.round(numbers)).all())
    if len(numbers) > FEW and whole and len(np.unique(numbers)) == len(numbers) and np.ptp(numbers) < 2 * rows:
        return "counts the rows"
    return NumberColumn(column, float(np.median(numbers)), float(inner.mean()), spread or 1.0, empty)
