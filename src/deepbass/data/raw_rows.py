"""Texts and rows of tables as they were found, read one at a time."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from deepbass.core.errors import DataError
from deepbass.core.foreign import reason_of
from deepbass.core.raw_samples import Kind, Row, UnreadableSample
from deepbass.data.table_cells import Categories, ColumnTypes, Numbers, as_text, to_cell
from deepbass.data.text_store import TextStore

KEY_BYTES = 16
LONGEST_FILE = 1 << 24  # bytes of a text file


def key_of(*content: bytes) -> bytes:
    """Sum content up in a few bytes."""
    digest = hashlib.blake2b(digest_size=KEY_BYTES)
    for part in content:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


class RowNumbers:
    """Names of rows by their number in the file that they come from: "row 12"; without a file, by their place."""

    def __init__(self, prefix: str = "row ", numbers: Sequence[int] | None = None) -> None:
        self._prefix = prefix
        self._numbers = numbers

    def __getitem__(self, row: int) -> str:
        return f"{self._prefix}{row if self._numbers is None else self._numbers[row]}"


class Texts:
    """Texts, kept as UTF-8 in little memory; maybe with other columns of their rows beside them."""

    kind: Kind = "text"

    def __init__(
        self,
        texts: Iterable[str] | TextStore,
        names: Sequence[str] | RowNumbers | None = None,
        beside: TableRows | None = None,
    ) -> None:
        """Take texts; ``names`` are theirs, and None numbers them in the part "train"."""
        self._store = texts if isinstance(texts, TextStore) else _stored(texts)
        self._names = RowNumbers("train/") if names is None else names
        self._beside = beside

    def __len__(self) -> int:
        return len(self._store)

    def name(self, row: int) -> str:
        """Name a text."""
        return self._names[row]

    def read(self, row: int) -> str:
        """Read a text."""
        return self._store.read(row)

    def key(self, row: int) -> bytes:
        """Sum a text up."""
        return key_of(self._store.content(row))

    def beside(self, row: int) -> Row:
        """Read the columns that people chose to see beside a text; a column that holds nothing is None."""
        return {} if self._beside is None else self._beside.read(row)


class TextFiles:
    """Text files, read when they are asked for."""

    kind: Kind = "text"

    def __init__(self, paths: Sequence[Path], names: Sequence[str]) -> None:
        self._paths = paths
        self._names = names

    def __len__(self) -> int:
        return len(self._paths)

    def name(self, row: int) -> str:
        """Name a text by its file."""
        return self._names[row]

    def read(self, row: int) -> str:
        """Read a text: UTF-8 with or without a mark in front."""
        content = self._content(row)
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise UnreadableSample(f"not UTF-8: byte {content[error.start]:#04x} on line {line}") from error
        if "\0" in text:
            raise UnreadableSample("no text: it has a NUL byte in it")
        if not text.strip():
            raise UnreadableSample("no text in it")
        return text

    def key(self, row: int) -> bytes:
        """Sum a file's content up."""
        try:
            return key_of(self._content(row))
        except UnreadableSample as error:
            return key_of(str(error).encode(), b"unreadable")

    def _content(self, row: int) -> bytes:
        try:
            with self._paths[row].open("rb") as file:
                content = file.read(LONGEST_FILE + 1)
        except OSError as error:
            raise UnreadableSample(f"cannot be read: {reason_of(error)}") from error
        if len(content) > LONGEST_FILE:
            raise UnreadableSample(f"more than {LONGEST_FILE >> 20} MB")
        return content


class TableRows:
    """Rows of a table, kept by column: eight bytes for a number, four for a word."""

    kind: Kind = "row"

    def __init__(
        self, columns: Mapping[str, Numbers | Categories], count: int, names: Sequence[str] | RowNumbers | None = None
    ) -> None:
        self._columns = columns
        self._count = count
        self._names = RowNumbers("train/") if names is None else names

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, object]], names: Sequence[str] | RowNumbers | None = None) -> TableRows:
        """Take rows from memory: numbers, words, true or false, and None or NaN for what is missing."""
        order = list(dict.fromkeys(column for row in rows for column in row))
        types = ColumnTypes(order)
        for row in rows:
            types.look(to_cell(row.get(column)) for column in order)
        columns = dict(types.made())
        for row in rows:
            for column, cells in columns.items():
                cells.append(to_cell(row.get(column)))
        return cls(columns, len(rows), names)

    def __len__(self) -> int:
        return self._count

    def name(self, row: int) -> str:
        """Name a row."""
        return self._names[row]

    def read(self, row: int) -> Row:
        """Read a row: a number, a word or None for every column."""
        return {column: cells.read(row) for column, cells in self._columns.items()}

    def key(self, row: int) -> bytes:
        """Sum a row up, its columns' names included."""
        return key_of(repr(list(self.read(row).items())).encode(errors="surrogatepass"))

    @property
    def columns(self) -> dict[str, str]:
        """Every column's kind: "number" or "category"."""
        return {name: "number" if isinstance(cells, Numbers) else "category" for name, cells in self._columns.items()}


def as_lines(row: Row) -> str:
    """Write a row for people: a line for every column that holds something."""
    return "\n".join(f"{column}: {as_text(cell)}" for column, cell in row.items() if cell is not None)


def row_numbers(numbers: array[int]) -> RowNumbers:
    """Name rows by their numbers in a file."""
    return RowNumbers("row ", numbers)


def _stored(texts: Iterable[str]) -> TextStore:
    store = TextStore()
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f"Sample {row} is {text!r}, not a text like the others: give a str for every sample.")
        try:
            store.append(text)
        except UnicodeEncodeError as error:
            raise DataError(
                f"Sample {row} holds half of a character, which no file can hold: {error.reason}."
            ) from error
    return store
