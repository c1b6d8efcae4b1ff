"""Read CSV, TSV and JSON Lines row by row, plain or .gz: nothing is trusted, and what is wrong is named by its row."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from deepbass.core.errors import DataError
from deepbass.core.foreign import excerpt, guarded, reason_of
from deepbass.core.raw_samples import Cell
from deepbass.data.parquet_rows import open_parquet
from deepbass.data.table_cells import to_cell

LONGEST = 1 << 24  # bytes of a line, and characters of a cell: an open quote must not swallow a whole file
BLOCK = 1 << 18  # bytes read at a time
LOOK_AHEAD = 1000  # lines of JSON that tell which columns there are
DELIMITERS = (",", ";", "\t")
BOM = b"\xef\xbb\xbf"  # a mark that spreadsheets put in front
KINDS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")


class NumberedRow(NamedTuple):
    """A row, and how to find it again."""

    number: int  # among the rows, from 1; a header is none
    line: int | None  # of the file that it begins on, if that has lines
    cells: Mapping[str, Cell]

    @property
    def place(self) -> str:
        """Name the row in an error."""
        return _place(self.number, self.line)


class RowFile(Protocol):
    """A file of rows, which may be read more than once."""

    @property
    def path(self) -> Path: ...

    @property
    def columns(self) -> tuple[str, ...]: ...

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[NumberedRow]:
        """Read the rows; who needs a few ``columns`` only need not get others."""


def kind_of(path: Path) -> str:
    """Tell a file's kind by its name's end, whether it is compressed or not: ".csv", ".jsonl", ..."""
    name = path.name.lower()
    return Path(name.removesuffix(".gz")).suffix


def open_rows(path: Path) -> RowFile:
    """Open a file of rows by its name's end; its header, or a few of its lines, are read at once."""
    match kind_of(path):
        case ".parquet":
            return open_parquet(path, NumberedRow)
        case ".jsonl" | ".ndjson":
            return _open_json(path)
        case ".tsv":
            return _open_csv(path, "\t")
    return _open_csv(path, None)


@dataclass(frozen=True)
class CsvRows:
    """The rows of a CSV or TSV file."""

    path: Path
    delimiter: str
    header: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that have a name: pandas leaves a row's number in one that has none."""
        return tuple(name for name in self.header if name)

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[NumberedRow]:
        """Read the rows; empty lines are none."""
        records = csv_records(self.path, self.delimiter, _texts(self.path))
        return named_rows(self.path, self.delimiter, self.header, itertools.islice(records, 1, None))


@dataclass(frozen=True)
class JsonRows:
    """The rows of a file that has a JSON object on every line."""

    path: Path
    columns: tuple[str, ...]

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[NumberedRow]:
        """Read the rows; empty lines are none, and a name that a line does not have is missing there."""
        number = 0
        for line, text in _lines(self.path):
            if not text.strip():
                continue
            number += 1
            yield NumberedRow(number, line, _json_cells(self.path, _place(number, line), text))


def _place(number: int, line: int | None) -> str:
    return f"row {number}" if line is None else f"row {number} (line {line})"


def named_rows(
    path: Path, delimiter: str, header: Sequence[str], records: Iterable[tuple[int, list[str]]]
) -> Iterator[NumberedRow]:
    """Put the names of a header to the cells of records."""
    unnamed = "" in header
    for number, (line, cells) in enumerate(records, 1):
        if len(cells) != len(header):
            raise DataError(
                f"{path}, {_place(number, line)}: {len(cells)} cells ({excerpt(delimiter.join(cells))!r}) under "
                f"{len(header)} columns: quote a cell that has {delimiter!r} in it."
            )
        named = dict(zip(header, cells))  # noqa: B905 (they are as many, and there may be millions)
        if unnamed:
            del named[""]
        yield NumberedRow(number, line, named)


def _open_csv(path: Path, delimiter: str | None) -> CsvRows:
    if delimiter is None:
        delimiter = delimiter_of(next(_texts(path), ""))
    return CsvRows(path, delimiter, header_of(path, csv_records(path, delimiter, _texts(path))))


def delimiter_of(first: str) -> str:
    """Tell by a table's first line what parts its cells."""
    return max(DELIMITERS, key=lambda each: _cells_of(first, each))  # the first of equals


def header_of(path: Path, records: Iterator[tuple[int, list[str]]]) -> tuple[str, ...]:
    """Take the names of the columns from the first record."""
    header = tuple(name.strip() for name in next(records, (1, []))[1])
    double = [name for name, count in Counter(header).items() if name and count > 1]
    if double:
        raise DataError(f"{path}: two columns are called {excerpt(double[0])!r}: rename one of them.")
    return header


def _cells_of(line: str, delimiter: str) -> int:
    return len(next(csv.reader([line], delimiter=delimiter), []))


def csv_records(path: Path, delimiter: str, lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Parse records, each with the line that it begins on."""
    if csv.field_size_limit() < LONGEST:
        csv.field_size_limit(LONGEST)  # of the whole process, but only ever raised
    begin = 1

    def refuse(cause: Exception) -> DataError:
        advice = "Is a quote left open, or not doubled inside of a cell?" if isinstance(cause, csv.Error) else ""
        return DataError(f"{path}, line {begin}, is not readable CSV in UTF-8 ({reason_of(cause)}). {advice}".rstrip())

    with guarded(refuse):
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        for cells in reader:
            if cells:
                yield begin, cells
            begin = reader.line_num + 1


def _open_json(path: Path) -> JsonRows:
    columns: dict[str, None] = {}
    for row in itertools.islice(JsonRows(path, ()).rows(), LOOK_AHEAD):
        columns.update(dict.fromkeys(row.cells))
    return JsonRows(path, tuple(columns))


def _json_cells(path: Path, place: str, text: str) -> dict[str, Cell]:
    def refuse(cause: Exception) -> DataError:
        return DataError(
            f"{path}, {place}, is not a readable JSON object in UTF-8 ({reason_of(cause)}). Mend the line."
        )

    with guarded(refuse):
        # numbers are floats from the start: digits without end are infinite, and so missing
        value = json.loads(text, parse_int=float)
        if not isinstance(value, dict):
            raise ValueError(f"it holds {excerpt(text)}")
        cells = {name: to_cell(cell) for name, cell in value.items()}
        if "\\" in text:  # an escape may stand for half of a character, or for a NUL
            "".join(itertools.chain(cells, (cell for cell in cells.values() if isinstance(cell, str)))).encode()
            if "\\u0000" in text and any("\0" in cell for cell in cells.values() if isinstance(cell, str)):
                raise ValueError("it holds a NUL character")
        return cells


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Read lines of UTF-8 with their numbers, and name the first that is none."""
    return enumerate(_texts(path), 1)


def _texts(path: Path) -> Iterator[str]:
    """Read lines of UTF-8, a block at a time: there may be millions."""
    done = 0

    def refuse(cause: Exception) -> DataError:
        return DataError(f"{path} cannot be read beyond line {done} ({reason_of(cause)}). Write it again.")

    with guarded(refuse), _bytes_of(path) as file:
        while content := _whole_lines(path, file, done):
            for line in _decoded(path, content if done else content.removeprefix(BOM), done):
                done += 1
                yield line


def _whole_lines(path: Path, file: io.BufferedIOBase, done: int) -> bytes:
    """Read a block, and on to the end of the line that it ends in."""
    content = file.read1(BLOCK)
    if not content or content.endswith(b"\n"):
        return content
    begun = len(content) - 1 - content.rfind(b"\n")
    rest = file.readline(LONGEST + 1 - begun)
    if begun + len(rest) > LONGEST:
        number = done + content.count(b"\n") + 1
        raise DataError(f"{path}, line {number}, has more than {LONGEST >> 20} MB: break it up.")
    return content + rest


def _decoded(path: Path, content: bytes, done: int) -> Iterable[str]:
    """Decode the lines after those ``done``; where one is no UTF-8, up to it, and name it."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" not in text:
        return io.StringIO(text, newline="\n")  # iterates over lines; "\r" ends none
    return (decoded_line(path, number, line) for number, line in enumerate(io.BytesIO(content), done + 1))


def _bytes_of(path: Path) -> io.BufferedIOBase:
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")


def decoded_line(path: Path, number: int, content: bytes) -> str:
    """Decode a line of UTF-8, or say where it is none."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}, line {number}, is not UTF-8: byte {content[error.start]:#04x} at place {error.start + 1}, after "
            f"{excerpt(content[max(0, error.start - 30) : error.start].decode(errors='replace'))!r}. Save it as UTF-8."
        ) from error
    if "\0" in text:
        raise DataError(f"{path}, line {number}, has a NUL byte in it, so it is no text: save it as UTF-8.")
    return text
