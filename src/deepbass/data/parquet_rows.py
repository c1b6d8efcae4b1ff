"""Read Parquet files row by row, through pyarrow where it is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from deepbass.core.errors import DataError
from deepbass.core.foreign import decoding
from deepbass.core.raw_samples import Cell
from deepbass.data.table_cells import to_cell

BATCH = 1000  # rows that are unpacked at a time

R = TypeVar("R")


@dataclass(frozen=True)
class ParquetRows(Generic[R]):
    """The rows of a Parquet file."""

    path: Path
    columns: tuple[str, ...]
    make: Callable[[int, None, Mapping[str, Cell]], R]

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[R]:
        """Read the rows, a batch at a time, and no column that nobody needs."""
        from pyarrow import parquet

        number = 0
        with _reading(self.path), parquet.ParquetFile(self.path) as file:
            for batch in file.iter_batches(BATCH, columns=list(columns or self.columns)):
                for row in batch.to_pylist():
                    number += 1
                    with decoding(f"{self.path}, row {number}", "row of text and numbers", "Mend it.", DataError):
                        cells = {name: to_cell(value) for name, value in row.items()}
                    yield self.make(number, None, cells)


def open_parquet(path: Path, make: Callable[[int, None, Mapping[str, Cell]], R]) -> ParquetRows[R]:
    """Open a Parquet file; ``make`` is called for every row with its number, no line, and its cells."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise DataError(f"{path}: reading Parquet takes pyarrow, which is missing: pip install pyarrow.") from error
    with _reading(path), parquet.ParquetFile(path) as file:
        columns = tuple(file.schema_arrow.names)
    if len(set(columns)) < len(columns):
        raise DataError(f"{path}: two columns have one name: rename one of them.")
    return ParquetRows(path, tuple(name for name in columns if not _is_index(name)), make)


def _reading(path: Path) -> AbstractContextManager[None, bool | None]:
    return decoding(path, "Parquet file", "Write it again.", DataError)


def _is_index(name: str) -> bool:
    """Tell pandas's own column, which numbers the rows."""
    return not name or (name.startswith("__index_level_") and name.endswith("__"))
