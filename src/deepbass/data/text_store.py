"""Keep many texts in little memory: their UTF-8 in a file without a name, and where each of them begins."""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from array import array
from collections.abc import Iterable

IN_MEMORY = 1 << 25  # bytes of text, above which they go to the disk
_AT_ONCE = 1 << 16  # bytes written at a time


class TextStore:
    """Texts 0 to n - 1: appended one by one, then read by any number of threads."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 (closed when nobody needs it)
        self._ends = array("q")
        self._end = 0
        self._lock = threading.Lock()
        self._unwritten = bytearray()  # the end of the last texts
        weakref.finalize(self, self._file.close)
        for text in texts:
            self.append(text)

    def __len__(self) -> int:
        return len(self._ends)

    def append(self, text: str) -> None:
        """Add a text; halves of characters, which no file can hold, are a UnicodeEncodeError."""
        content = text.encode()
        with self._lock:
            self._unwritten += content
            self._end += len(content)
            self._ends.append(self._end)
            if len(self._unwritten) > _AT_ONCE:
                self._write()

    def content(self, row: int) -> bytes:
        """Read a text as UTF-8."""
        if not 0 <= row < len(self):
            raise IndexError(row)
        begin = self._ends[row - 1] if row else 0
        with self._lock:
            self._write()
            self._file.seek(begin)
            return self._file.read(self._ends[row] - begin)

    def read(self, row: int) -> str:
        """Read a text."""
        return self.content(row).decode()

    def _write(self) -> None:
        if self._unwritten:
            self._file.seek(0, os.SEEK_END)
            self._file.write(self._unwritten)
            self._unwritten.clear()
