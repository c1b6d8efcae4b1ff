"""Names of rows that a column of their table has: one for each row, and none twice."""

from __future__ import annotations

from pathlib import Path

from deepbass.core.errors import DataError
from deepbass.core.foreign import excerpt
from deepbass.core.raw_samples import Cell
from deepbass.data.listing import name_some
from deepbass.data.row_files import NumberedRow
from deepbass.data.table_cells import as_text, is_missing

LONGEST = 200  # characters: what is longer is no name


class RowIds:
    """Takes the names of rows as they come, and tells which rows have none, or one that another row has."""

    def __init__(self, path: Path, column: str) -> None:
        self._path, self._column = path, column
        self._first: dict[str, int] = {}  # the row that has a name, by its number
        self._missing: list[str] = []
        self._double: list[str] = []

    def take(self, row: NumberedRow) -> str:
        """Read the name of a row; what is wrong with it is told by `check`, with all others."""
        name = id_of(row.cells.get(self._column))
        first = self._first.setdefault(name, row.number)
        if not name:
            self._missing.append(f"row {row.number}")
        elif first != row.number:
            self._double.append(f"rows {first} and {row.number} ({excerpt(name)!r})")
        elif objection := objection_to(name):
            raise DataError(f"{self._path}, {row.place}: {excerpt(name)!r} in {self._column!r} {objection}.")
        return name

    def check(self) -> None:
        """Refuse rows without a name, and two of one name."""
        for wrong, what in ((self._missing, "name nothing"), (self._double, "have the same name")):
            if wrong:
                raise DataError(
                    f"{self._path}: the column {self._column!r} is to name every row, each once, but {len(wrong)} "
                    f"{what}: {name_some(wrong)}. Mend them, choose another column, or leave --id out."
                )


def id_of(cell: Cell) -> str:
    """Write a cell as the name of a row; "" where there is none."""
    return "" if is_missing(cell) else as_text(cell).strip()


def objection_to(name: str) -> str | None:
    """Tell why a text cannot be a name."""
    if len(name) > LONGEST:
        return f"has {len(name)} characters: a name has {LONGEST} at most"
    return None if name.isprintable() else "is no name: it has line breaks or other characters that cannot be shown"
