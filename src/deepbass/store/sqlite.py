"""SQLite files that lose nothing: how they are opened, and what their errors mean to the person who reads them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from deepbass.core.errors import StoreError

Mode = Literal["rwc", "rw", "ro"]  # SQLite's own names: make it, write, read

_BUSY_SECONDS = 30.0


@dataclass(frozen=True)
class Layout:
    """What a kind of file holds."""

    format: int  # of the tables; another number means another layout
    script: str  # that makes them
    mended: str  # what to do about a damaged file
    threads: bool = False  # whether several may use a connection; who lets them sees to it that it is one at a time


def connect(path: Path, mode: Mode, layout: Layout) -> sqlite3.Connection:
    """Open a file, in mode "rwc" after making its tables."""
    with explained(path, "open the database", layout):
        try:
            return _connect(path, f"mode={mode}", layout)
        except sqlite3.OperationalError as error:
            # on a read-only disk SQLite cannot make its -shm file; without a -wal file nothing is lost by doing without
            wal = path.with_name(path.name + "-wal")
            if mode != "ro" or not _is(error, "READONLY", "CANTOPEN") or (wal.exists() and wal.stat().st_size):
                raise
            return _connect(path, "mode=ro&immutable=1", layout)


def _connect(path: Path, options: str, layout: Layout) -> sqlite3.Connection:
    db = sqlite3.connect(
        f"{path.resolve().as_uri()}?{options}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,  # transactions begin where the code says BEGIN, nowhere else
        check_same_thread=not layout.threads,
    )
    try:
        if options == "mode=rwc":
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(f"BEGIN; {layout.script} PRAGMA user_version = {layout.format}; COMMIT;")
        db.execute("PRAGMA synchronous = FULL")  # a commit that returned is on the disk
        db.execute("PRAGMA foreign_keys = ON")
        (found,) = db.execute("PRAGMA user_version").fetchone()
        if found != layout.format:
            raise StoreError(
                f"{path} has format {found}, not {layout.format}: it belongs to another version of deepbass, was "
                f"swapped, or is damaged. Use that version, or {layout.mended}."
            )
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def explained(
    path: Path, doing: str, layout: Layout, no_room: Callable[[sqlite3.Error], StoreError] | None = None
) -> Iterator[None]:
    """Turn SQLite's errors into ones that say what was being done, where, and what to do next."""
    try:
        yield
    except sqlite3.ProgrammingError:  # a mistake in the calling code, such as a closed database; not in the file
        raise
    except sqlite3.DatabaseError as error:
        if no_room is not None and _is(error, "FULL", "IOERR"):
            raise no_room(error) from error
        raise StoreError(f"Cannot {doing} in {path}: {error}. {_advice(error, layout)}") from error


def _advice(error: sqlite3.Error, layout: Layout) -> str:
    if _is(error, "BUSY", "LOCKED"):
        return f"Another process has been writing for {_BUSY_SECONDS:.0f} s: wait for it or end it, then try again."
    if _is(error, "CORRUPT", "NOTADB"):
        return f"The file is damaged: {layout.mended}."
    if _is(error, "CONSTRAINT"):
        return "Nothing was written."
    return "Check that the file exists, that you may read and write it and its folder, and that the disk has room."


def _is(error: sqlite3.Error, *kinds: str) -> bool:
    # extended names such as SQLITE_READONLY_DIRECTORY begin with the kind
    name = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_")
    return name.startswith(kinds)
