"""Keep many texts in little memory: their UTF-8 in a file without a name, and where each of them begins."""

from __future__ import annotations

import tempfile
import threading
import weakref
from array import array
from collections.abc import Iterable

IN_MEMORY = 1 << 25  # bytes of text, above which they go to the disk


class TextStore:
    """Texts 0 to n - 1: appended one by one, then read by any number of threads."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 (closed when nobody needs it)
        self._ends = array("q")
        self._lock = threading.Lock()
        self._at_end = True  # whether the next text would be written at the right place
        weakref.finalize(self, self._file.close)
        for text in texts:
            self.append(text)

    def __len__(self) -> int:
        return len(self._ends)

    def append(self, text: str) -> None:
        """Add a text; halves of characters, which no file can hold, are a UnicodeEncodeError."""
        content = text.encode()
        with self._lock:
            end = self._ends[-1] if self._ends else 0
            if not self._at_end:
                self._file.seek(end)
                self._at_end = True
            self._file.write(content)
            self._ends.append(end + len(content))

    def content(self, row: int) -> bytes:
        """Read a text as UTF-8."""
        if not 0 <= row < len(self):
            raise IndexError(row)
        begin = self._ends[row - 1] if row else 0
        with self._lock:
            self._at_end = False
            self._file.seek(begin)
            return self._file.read(self._ends[row] - begin)

    def read(self, row: int) -> str:
        """Read a text."""
        return self.content(row).decode()
