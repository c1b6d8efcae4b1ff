"""Sum up what files hold, and remember it while they stay as they are, from one start to the next."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import time
import weakref
from contextlib import suppress
from pathlib import Path

from deepbass.data.fetch import cache_folder
from deepbass.data.image_cache import SWITCH
from deepbass.data.image_state import COARSE_TICK
from deepbass.data.raw_rows import KEY_BYTES, key_of

AT_ONCE = 100  # keys that are written together; those of a start that is killed before are made again
MOST = 2_000_000  # keys that are remembered; then all are forgotten
TABLE = "CREATE TABLE IF NOT EXISTS digests (state BLOB PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID"


class ContentKeys:
    """Digests of files; a file is read again only when its path, its size or one of its times has changed.

    Sizes and times alone would not do: many files are written within one tick of the clock, and images without
    compression are all of one size.
    """

    def __init__(self, memory: DigestMemory | None = None) -> None:
        """Take what remembers digests; None: the one in the cache."""
        self._memory = memory

    def key(self, path: Path) -> bytes:
        """Sum a file's content up; one that cannot be read has a key of its own, until it can."""
        try:
            stat = path.stat()
            times = stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
            state = key_of(repr((str(path.resolve()), times)).encode(errors="surrogatepass"))
            if self._memory is None:
                keep = os.environ.get(SWITCH) != "0"
                self._memory = DigestMemory(cache_folder() / "digests.db" if keep else None)
            known = self._memory.recall(state)
            if known is not None:
                return known
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=KEY_BYTES)).digest()
        except (OSError, RuntimeError) as error:  # RuntimeError: a ring of links, up to Python 3.12
            return key_of(b"unreadable", str(error).encode(errors="surrogatepass"))
        if max(times[1:]) + COARSE_TICK < time.time_ns():  # any later change gets times of its own
            self._memory.remember(state, digest)
        return digest


class DigestMemory:
    """A small database of digests, for many threads and processes. What goes wrong with it costs time, nothing else."""

    def __init__(self, path: Path | None) -> None:
        """Take a file to remember in; None: nothing outlasts the process."""
        self._lock = threading.Lock()
        self._fresh: dict[bytes, bytes] = {}  # not written yet
        self._written = 0
        self._database = None if path is None else _open(path)
        if self._database is not None:
            weakref.finalize(self, self._database.close)

    def recall(self, state: bytes) -> bytes | None:
        """Tell the digest of a file in some state, if it is known."""
        with self._lock, suppress(sqlite3.Error):
            if state in self._fresh:
                return self._fresh[state]
            if self._database is not None:
                row = self._database.execute("SELECT digest FROM digests WHERE state = ?", (state,)).fetchone()
                if row is not None and isinstance(row[0], bytes) and len(row[0]) == KEY_BYTES:
                    return row[0]
        return None

    def remember(self, state: bytes, digest: bytes) -> None:
        """Keep the digest of a file in some state."""
        with self._lock:
            self._fresh[state] = digest
            if self._database is None or len(self._fresh) - self._written < AT_ONCE:
                return
            self._written = len(self._fresh)
            with suppress(sqlite3.Error), self._database as database:  # locked by others, full, damaged: do without
                database.executemany("INSERT OR REPLACE INTO digests VALUES (?, ?)", self._fresh.items())
                self._fresh, self._written = {}, 0


def _open(path: Path) -> sqlite3.Connection | None:
    """Open the database, or make it; None where it cannot be. A damaged one is removed."""
    database = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(path, timeout=1.0, check_same_thread=False)
        path.chmod(0o600)
        database.execute("PRAGMA synchronous = OFF")  # what a crash of the machine damages is made again
        database.execute(TABLE)
        if database.execute("SELECT count(*) FROM digests").fetchone()[0] > MOST:
            database.execute("DELETE FROM digests")
        database.commit()
    except (sqlite3.Error, OSError) as error:
        if database is not None:
            database.close()
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
            with suppress(OSError):
                path.unlink()
        return None
    return database
