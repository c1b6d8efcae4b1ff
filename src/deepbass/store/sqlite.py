"""SQLite files that lose nothing: how they are opened, and what their errors mean to the person who reads them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from deepbass.core.errors import StoreError
from deepbass.core.foreign import excerpt, reason_of
from deepbass.store.write_errors import advice_for

Mode = Literal["rwc", "rw", "ro"]  # SQLite's own names: make it, write, read

_BUSY_SECONDS = 30.0
_DAMAGED = "The file is damaged:"


@dataclass(frozen=True)
class Layout:
    """What a kind of file holds."""

    format: int  # of the tables; another number means another layout
    script: str  # that makes them
    mended: str  # what to do about a damaged file
    threads: bool = False  # whether several may use a connection; who lets them sees to it that it is one at a time


def connect(path: Path, mode: Mode, layout: Layout, *, checked: bool = True) -> sqlite3.Connection:
    """Open a file, in mode "rwc" after making its tables, else after a check of all that it holds.

    Without ``checked`` it is open at once, for a glance at what the process that writes it has just written.
    """
    with explained(path, "open the database", layout):
        try:
            return _connect(path, f"mode={mode}", layout, checked)
        except sqlite3.OperationalError as error:
            # on a read-only disk SQLite cannot make its -shm file; without a -wal file nothing is lost by doing without
            wal = path.with_name(path.name + "-wal")
            if mode != "ro" or not _is(error, "READONLY", "CANTOPEN") or (wal.exists() and wal.stat().st_size):
                raise
            return _connect(path, "mode=ro&immutable=1", layout, checked)


def _connect(path: Path, options: str, layout: Layout, checked: bool) -> sqlite3.Connection:
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
        _check(db, path, layout, checked)
    except BaseException:
        db.close()
        raise
    return db


def _check(db: sqlite3.Connection, path: Path, layout: Layout, thoroughly: bool) -> None:
    """Refuse a file of another format, with other tables, or with rows that these tables do not take.

    What SQLite reads from a damaged page may be of any type and size; after this it is what the tables say.
    """
    (found,) = db.execute("PRAGMA user_version").fetchone()
    if found != layout.format or not _schema(layout.script) <= set(db.execute(_SCHEMA)):
        has = "has not the tables of format" if found == layout.format else f"has format {found}, not"
        raise StoreError(
            f"{path} {has} {layout.format}: it belongs to another version of deepbass, was swapped, or is damaged. "
            f"Use that version, or {layout.mended}."
        )
    if thoroughly and (wrong := db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
        raise StoreError(f"{path} is damaged ({excerpt(wrong)}): {layout.mended}.")


_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_schema"


@cache
def _schema(script: str) -> set[tuple[str, ...]]:
    """List the tables, views and triggers that a script makes, to the letter."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(script)
        return set(db.execute(_SCHEMA))


@contextmanager
def explained(
    path: Path, doing: str, layout: Layout, not_written: Callable[[sqlite3.Error], StoreError] | None = None
) -> Iterator[None]:
    """Turn SQLite's errors into ones that say what was being done, where, and what to do next."""
    try:
        yield
    except sqlite3.ProgrammingError:  # a mistake in the calling code, such as a closed database; not in the file
        raise
    except (MemoryError, UnicodeDecodeError) as error:  # of a damaged page, which may announce and quote anything
        raise StoreError(f"Cannot {doing} in {path}: {reason_of(error)}. {_DAMAGED} {layout.mended}.") from error
    except sqlite3.DatabaseError as error:
        if not_written is not None and _is(error, "FULL", "IOERR", "READONLY"):
            raise not_written(error) from error
        raise StoreError(f"Cannot {doing} in {path}: {error}. {_advice(error, layout)}") from error


def _advice(error: sqlite3.Error, layout: Layout) -> str:
    if _is(error, "BUSY", "LOCKED"):
        return f"Another process has been writing for {_BUSY_SECONDS:.0f} s: wait for it or end it, then try again."
    if _is(error, "CORRUPT", "NOTADB"):
        return f"{_DAMAGED} {layout.mended}."
    if _is(error, "CONSTRAINT"):
        return "Nothing was written."
    if _is(error, "FULL", "IOERR"):
        return f"What helps: {advice_for(error)}."
    return "Check that the file exists, and that you may read and write it and its folder."


def _is(error: sqlite3.Error, *kinds: str) -> bool:
    # extended names such as SQLITE_READONLY_DIRECTORY begin with the kind
    name = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_")
    return name.startswith(kinds)
