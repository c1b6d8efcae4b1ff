"""Where computed features are kept: files by extractor, found again by the digest of a sample's key.

Every process appends to a segment of its own, so that nobody waits for anybody; all of them read all segments. One of
the same samples that nobody appends to any more is gone on with, so that samples which nobody reads make room.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from deepbass.features.extractor import Extractor, Features
from deepbass.features.segment import LOCK, ROWS, Digests, MemorySegment, Segment, fits_half
from deepbass.files import CACHE, cache_folder

SWITCH = "DEEPBASS_FEATURE_CACHE"  # 0: compute features into memory at every start, and keep nothing
FOLDER = "features"  # in the cache folder
FORMAT = 1  # to be raised when what is kept of features changes
UNUSED = 30 * 24 * 3600.0  # seconds until what nobody reads makes room
POLL = 0.3  # seconds between looks at what another process has computed

# what may be deleted: the cache might have been put into a folder that has other things in it
_OURS = re.compile(r"[0-9a-f]{32}(-f[24]-\d+)?\.(rows|index|lock)")


def folder_for(cache: Path | None) -> Path | None:
    """Name the folder that features are kept in; None if they are not to be kept."""
    if os.environ.get(SWITCH) == "0":
        return None
    return (cache or cache_folder()) / FOLDER


class FeatureFiles:
    """All segments of one extractor, those in memory included: numbered, and never closed while somebody reads."""

    def __init__(self, extractor: Extractor, folder: Path | None, most: int) -> None:
        """Open what is there. ``most`` is how many samples there are, should they have to be kept in memory."""
        self.notes: list[str] = []
        self._folder, self._most, self._width = folder, most, extractor.width
        self._identity = f"{FORMAT} {extractor.identity}"
        self._stem = hashlib.sha256(self._identity.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self._segments: list[Segment | MemorySegment] = []
        self._memory: int | None = None  # the number of the segment in memory
        self._appending: dict[int, int] = {}  # the segment to append to, by size of a number
        self._opened: set[Path] = set()
        self._ours: set[int] = set()  # segments that have some of these samples

    def news(self, wanted: Callable[[Digests], bool]) -> Iterator[tuple[int, Digests, int]]:
        """Read what was committed since the last time: segment, digests, position of the first of them.

        Of blocks with nothing that is ``wanted`` nothing is read.
        """
        if self._folder is not None:
            with suppress(OSError):
                self._open_segments(self._folder)
        for number, segment in enumerate(self._segments):
            if isinstance(segment, Segment):
                for digests, first in segment.news(wanted):
                    if number not in self._ours:
                        self._ours.add(number)
                        segment.used()
                    yield number, digests, first

    def _open_segments(self, folder: Path) -> None:
        for path in sorted(folder.glob(f"{self._stem}-*{ROWS}")):
            if path not in self._opened and _OURS.fullmatch(path.name):
                size = int(path.name.split("-")[1][1:])
                with suppress(OSError):
                    self._add(Segment(path, self._heading(size), self._width, _dtype(size)))

    def read(self, number: int, positions: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Features:
        """Read rows of a segment."""
        return self._segments[number].read(positions)

    def arrays(self) -> list[NDArray[Any]]:
        """List all rows of every segment."""
        return [segment.rows for segment in self._segments]

    def append(self, digests: Digests, rows: Features) -> tuple[int, int]:
        """Keep rows, on disk if that is possible; tell the segment and the position of the first."""
        size = 2 if fits_half(rows) else 4
        if self._folder is not None and self._memory is None:
            try:
                number = self._appendable(size)
                segment = self._segments[number]
                assert isinstance(segment, Segment)
                return number, segment.append(digests, rows)
            except OSError as error:
                self.notes.append(
                    f"the features cannot be kept in {self._folder} ({error.strerror or error}), so they are in memory "
                    f"and will be computed again next time: set {CACHE} to a folder that has room and may be written, "
                    f"or do without ({SWITCH}=0)"
                )
        if self._memory is None:
            self._segments.append(MemorySegment(self._most, self._width))
            self._memory = len(self._segments) - 1
        memory = self._segments[self._memory]
        assert isinstance(memory, MemorySegment)
        kept = rows.astype(np.float16).astype(np.float32) if size == 2 else rows  # the same numbers as from a file
        return self._memory, memory.append(kept)

    def _appendable(self, size: int) -> int:
        """Find a segment of these samples that nobody appends to, or begin one."""
        if size in self._appending:
            return self._appending[size]
        assert self._folder is not None
        for number in sorted(self._ours):
            segment = self._segments[number]
            if isinstance(segment, Segment) and f"-f{size}-" in segment.path.name and segment.lock():
                return self._take(number, size)
        number = 0
        while True:
            path = self._folder / f"{self._stem}-f{size}-{number}{ROWS}"
            made = (
                None if path in self._opened else Segment.create(path, self._heading(size), self._width, _dtype(size))
            )
            if made is not None:
                return self._take(self._add(made), size)
            number += 1

    def _take(self, number: int, size: int) -> int:
        segment = self._segments[number]
        assert isinstance(segment, Segment)
        for _ in segment.news(lambda _: False):  # what another process appended just before: found at the next start
            pass
        segment.cut()
        self._appending[size] = number
        self._ours.add(number)
        return number

    def _add(self, segment: Segment) -> int:
        self._segments.append(segment)
        self._opened.add(segment.path)
        return len(self._segments) - 1

    def _heading(self, size: int) -> bytes:
        facts = {"deepbass": "features", "identity": self._identity, "width": self._width, "bytes": size}
        return json.dumps(facts).encode("ascii") + b"\n"

    @contextmanager
    def alone(self, wanted: bytes) -> Iterator[bool]:
        """Be the only process that computes what is ``wanted``: yields False while another one is at it.

        To be entered again and again, reading `news` meanwhile, until it yields True. The lock dies with its process.
        """
        if self._folder is None or self._memory is not None:
            yield True
            return
        lock = None
        try:
            try:
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                _make_room(self._folder)
                name = hashlib.sha256(self._identity.encode("utf-8", "surrogatepass") + wanted).hexdigest()[:32]
                lock = FileLock(self._folder / f"{name}{LOCK}", mode=0o600)
                lock.acquire(timeout=POLL)
            except Timeout:
                yield False
                return
            except (OSError, NotImplementedError):  # what cannot be locked cannot be written: `append` will say so
                lock = None
            yield True
        finally:
            for number in self._appending.values():
                segment = self._segments[number]
                assert isinstance(segment, Segment)
                segment.release()
            self._appending.clear()
            if lock is not None:
                lock.release()


def _dtype(size: int) -> np.dtype[np.float16] | np.dtype[np.float32]:
    return np.dtype("<f2") if size == 2 else np.dtype("<f4")


def _make_room(folder: Path) -> None:
    """Remove what nobody has read for long. Whoever still has such a file open keeps it until the end."""
    long_ago = time.time() - UNUSED
    for path in folder.iterdir():
        with suppress(OSError):  # gone already, or held by Windows
            if _OURS.fullmatch(path.name) and path.stat().st_mtime < long_ago:
                path.unlink()
