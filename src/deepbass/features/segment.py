"""A file of feature rows that only ever grows, and its index, which says which rows are whole.

A block of rows is appended to the rows first, then its record to the index: how many, a checksum of the rows, the
samples' digests, a checksum of the record. What was cut off by a kill or damaged since has no valid record, and is
computed again. Rows are read through a memory map.
"""

from __future__ import annotations

import errno
import io
import os
import struct
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from deepbass.features.extractor import Features

ROWS, INDEX, LOCK = ".rows", ".index", ".lock"  # how the names of the files end
DIGEST = 16  # bytes that stand for a sample
Digests = NDArray[np.bytes_]  # of dtype S16
_COUNT = struct.Struct("<II")  # rows of a block, checksum of their bytes
_CHECKSUM = struct.Struct("<I")  # of all else in a record
MOST_ROWS = 1 << 16  # of a block: a damaged count must not allocate much


class Segment:
    """One such pair of files. Any number of processes may read it, the one that has its lock may append.

    Both files stay open: if somebody empties the cache meanwhile, what was read or written here goes on to exist.
    """

    def __init__(self, path: Path, heading: bytes, width: int, dtype: np.dtype[np.floating[Any]]) -> None:
        """Open a segment that is there; an OSError if it is not. ``path`` is that of the rows."""
        self.path = path
        self.committed = 0  # rows whose records were read
        self._heading = heading  # of the index: says of what the rows are features, and how they are written
        self._width, self._dtype = width, dtype
        self._stride = width * dtype.itemsize
        self._index_end = 0  # in bytes
        self._map: NDArray[np.floating[Any]] | None = None
        self._lock: FileLock | None = None
        self._rows = self._open(path)
        self._index = self._open(path.with_suffix(INDEX))

    @classmethod
    def create(cls, path: Path, heading: bytes, width: int, dtype: np.dtype[np.floating[Any]]) -> Segment | None:
        """Make a segment, for this process to append to; None if another one has just done so."""
        lock = _try_lock(path)
        if lock is None:
            return None
        for file in (path, path.with_suffix(INDEX)):
            os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))  # for the eyes of its owner only
        segment = cls(path, heading, width, dtype)
        segment._lock = lock
        return segment

    def news(self, wanted: Callable[[Digests], bool]) -> Iterator[tuple[Digests, int]]:
        """Read the records that came since the last time: the digests of each sound block, and its first row.

        Blocks with nothing that is ``wanted`` are passed over, and their rows not read.
        """
        if self._index_end == 0:
            self._index.seek(0)
            if self._index.read(len(self._heading)) != self._heading:
                return
            self._index_end = len(self._heading)
        while (record := self._next_record(wanted)) is not None:
            yield from record

    def _next_record(self, wanted: Callable[[Digests], bool]) -> list[tuple[Digests, int]] | None:
        """Read one record: None if there is no valid one, nothing in it if its rows are damaged or not wanted."""
        self._index.seek(self._index_end)
        head = self._index.read(_COUNT.size)
        if len(head) < _COUNT.size:
            return None
        count, checksum = _COUNT.unpack(head)
        if not 0 < count <= MOST_ROWS:
            return None
        digests, end = self._index.read(count * DIGEST), self._index.read(_CHECKSUM.size)
        if len(end) < _CHECKSUM.size or _CHECKSUM.unpack(end)[0] != zlib.crc32(digests, zlib.crc32(head)):
            return None
        first = self.committed
        if os.fstat(self._rows.fileno()).st_size < (first + count) * self._stride:
            return None
        self._index_end += len(head) + len(digests) + len(end)
        self.committed += count
        block = np.frombuffer(digests, dtype=f"S{DIGEST}")
        if not wanted(block):
            return []
        self._rows.seek(first * self._stride)
        sound = zlib.crc32(self._rows.read(count * self._stride)) == checksum
        return [(block, first)] if sound else []

    def lock(self) -> bool:
        """Become the one that appends, if nobody is, the files may be written, and are still those of the name."""
        self._lock = _try_lock(self.path)
        if self._lock is None:
            return False
        with suppress(OSError):
            if self._rows.writable() and os.path.samestat(os.fstat(self._rows.fileno()), self.path.stat()):
                return True
        self.release()
        return False

    def cut(self) -> None:
        """Cut off what follows the last valid record, or begin anew; for who has the lock and has read all news."""
        if self._index_end == 0:
            _write(self._index, 0, self._heading)
            self._index_end = len(self._heading)
        self._index.truncate(self._index_end)
        self._rows.truncate(self.committed * self._stride)

    def append(self, digests: Digests, rows: Features) -> int:
        """Write a block and commit it; tell its first row. An OSError leaves the segment as it was."""
        content = np.ascontiguousarray(rows, dtype=self._dtype).tobytes()
        record = _COUNT.pack(len(rows), zlib.crc32(content)) + digests.tobytes()
        first = self.committed
        _write(self._rows, first * self._stride, content)
        _write(self._index, self._index_end, record + _CHECKSUM.pack(zlib.crc32(record)))
        self._index_end += len(record) + _CHECKSUM.size
        self.committed += len(rows)
        return first

    def release(self) -> None:
        """Let others append."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def read(self, positions: NDArray[np.int64]) -> Features:
        """Read rows by position."""
        return self.rows[positions].astype(np.float32)

    @property
    def rows(self) -> NDArray[np.floating[Any]]:
        """All rows, in the file."""
        if self._map is None or len(self._map) < self.committed:
            self._map = np.memmap(self._rows, self._dtype, "r", 0, (self.committed, self._width))
        return self._map

    def used(self) -> None:
        """Note that somebody reads this, so that it is not removed as forgotten."""
        for path in (self.path, self.path.with_suffix(INDEX)):
            with suppress(OSError):  # a cache that is read-only cannot note when it was used
                os.utime(path)

    def _open(self, path: Path) -> io.FileIO:
        try:
            file = io.FileIO(str(path), "r+")  # a text: so that a map of it knows its file
        except PermissionError:
            file = io.FileIO(str(path), "r")
        weakref.finalize(self, file.close)
        return file


class MemorySegment:
    """Rows in memory, for when no file can be written."""

    def __init__(self, most: int, width: int) -> None:
        self._rows = np.empty((most, width), dtype=np.float32)  # the system gives memory as it is filled
        self.committed = 0

    def append(self, rows: Features) -> int:
        """Keep rows, and tell the first one's position."""
        first = self.committed
        self._rows[first : first + len(rows)] = rows
        self.committed += len(rows)
        return first

    def read(self, positions: NDArray[np.int64]) -> Features:
        """Read rows by position."""
        return self._rows[positions]

    @property
    def rows(self) -> Features:
        """All rows."""
        return self._rows[: self.committed]


def fits_half(rows: Features) -> bool:
    """Tell whether 16 bits lose nothing that matters: no value is off by more than 0.1 % of it or of its column."""
    with np.errstate(over="ignore"):
        half = rows.astype(np.float16).astype(np.float32)
    size = np.maximum(np.abs(rows), np.sqrt(np.mean(np.square(rows, dtype=np.float64), axis=0)))
    return bool((np.abs(half - rows) <= 1e-3 * size).all())


def _write(file: io.FileIO, at: int, content: bytes) -> None:
    """Write bytes at a place of a file; on error they are cut off again."""
    try:
        file.seek(at)
        view = memoryview(content)
        while view:
            view = view[file.write(view) :]
    except OSError:
        with suppress(OSError):
            file.truncate(at)
        raise


def _try_lock(path: Path) -> FileLock | None:
    lock = FileLock(path.with_suffix(LOCK), mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    except NotImplementedError as error:  # a file system without locks
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK)) from error
    return lock
