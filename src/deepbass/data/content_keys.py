"""Sum up what files hold, and remember it while they stay as they are."""

from __future__ import annotations

import hashlib
import threading
import time
from pathlib import Path

from deepbass.data.image_state import COARSE_TICK
from deepbass.data.raw_rows import KEY_BYTES

State = tuple[int, int, int]  # size, and the times of the last change to content and inode


class ContentKeys:
    """Digests of files, by path; a file is read again only when its size or one of its times has changed.

    Sizes and times alone would not do: many files are written within one tick of the clock, and images without
    compression are all of one size.
    """

    def __init__(self) -> None:
        self._known: dict[Path, tuple[State, bytes]] = {}
        self._lock = threading.Lock()

    def key(self, path: Path) -> bytes:
        """Sum a file's content up; one that cannot be read has a key of its own, until it can."""
        try:
            stat = path.stat()
            state = stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
            with self._lock:
                known = self._known.get(path)
            if known is not None and known[0] == state:
                return known[1]
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=KEY_BYTES)).digest()
        except (OSError, RuntimeError) as error:  # RuntimeError: a ring of links, up to Python 3.12
            return hashlib.blake2b(repr(("unreadable", str(error))).encode(), digest_size=KEY_BYTES).digest()
        if max(state[1:]) + COARSE_TICK < time.time_ns():  # later changes get times of their own
            with self._lock:
                self._known[path] = state, digest
        return digest
