"""Standard input, line by line, with a word about when there is nothing more for the moment."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from io import BufferedIOBase
from pathlib import Path
from typing import cast

from deepbass.core.errors import DataError
from deepbass.data.row_files import (
    BOM,
    LONGEST,
    NumberedRow,
    csv_records,
    decoded_line,
    delimiter_of,
    header_of,
    named_rows,
)

HERE = Path("standard input")  # for errors
AT_ONCE = 1 << 16  # bytes


class StdinLines:
    """Lines of UTF-8 text. After one of them, ``drained`` tells whether the next would have to be waited for.

    So a program at the other end of a pipe gets its answers when it waits for them, and else many at a time.
    """

    def __init__(self, stream: BufferedIOBase | None = None) -> None:
        self.drained = False
        self._stream = stream or cast(BufferedIOBase, sys.stdin.buffer)

    def __iter__(self) -> Iterator[str]:
        rest, number = b"", 0
        while chunk := self._stream.read1(AT_ONCE):  # returns as soon as there is any
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            for left, line in enumerate(lines, 1 - len(lines)):
                number += 1
                self.drained = left == 0
                yield decoded_line(HERE, number, (line.removeprefix(BOM) if number == 1 else line) + b"\n")
            if len(rest) > LONGEST:
                raise DataError(f"{HERE}, line {number + 1}, has more than {LONGEST >> 20} MB: break it up.")
        self.drained = True
        if rest:
            yield decoded_line(HERE, number + 1, rest.removeprefix(BOM) if not number else rest)


class StdinTable:
    """The rows of a CSV table on standard input, which can be read once; None among them: nothing more for now."""

    path = HERE

    def __init__(self, stream: BufferedIOBase | None = None) -> None:
        """Read the header."""
        self._lines = StdinLines(stream)
        lines = iter(self._lines)
        first = next(lines, "")
        self.delimiter = delimiter_of(first)
        self._records = csv_records(HERE, self.delimiter, _chained(first, lines))
        self._header = header_of(HERE, self._records)
        self.columns = tuple(name for name in self._header if name)

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[NumberedRow | None]:
        """Read the rows that follow."""
        for row in named_rows(HERE, self.delimiter, self._header, self._records):
            yield row
            if self._lines.drained:
                yield None


def _chained(first: str, lines: Iterator[str]) -> Iterator[str]:
    yield first
    yield from lines
