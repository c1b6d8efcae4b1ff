"""The SQLite file of a project: its tables, how it is opened, and what its errors mean.

Acts and classes are only ever added, and an item keeps its name for ever; triggers see to it, so that no other program
changes what people said by mistake either.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from deepbass.core.errors import StoreError
from deepbass.label.acts import KINDS, WHYS, WITH_CLASS

FORMAT = 1  # of the tables; another number means another layout

Mode = Literal["rwc", "rw", "ro"]  # SQLite's own names: make it, write, read

_BUSY_SECONDS = 30.0


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"'{word}'" for word in sorted(words))


_TABLES = f"""
CREATE TABLE items (
    id INTEGER PRIMARY KEY CHECK (id >= 0),
    name TEXT NOT NULL UNIQUE,
    gone INTEGER NOT NULL DEFAULT 0 CHECK (gone IN (0, 1))
) STRICT;
CREATE TABLE classes (
    id INTEGER PRIMARY KEY CHECK (id >= 0),
    name TEXT NOT NULL UNIQUE CHECK (name <> ''),
    by TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE TABLE people (
    name TEXT PRIMARY KEY NOT NULL CHECK (name <> ''),
    password TEXT NOT NULL, -- its hash
    at TEXT NOT NULL
) STRICT;
CREATE TABLE acts (
    id INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE CHECK (uid <> ''),
    item INTEGER NOT NULL REFERENCES items (id),
    kind TEXT NOT NULL CHECK (kind IN ({_listed(KINDS)})),
    annotator TEXT NOT NULL CHECK (annotator <> ''),
    why TEXT NOT NULL CHECK (why IN ({_listed(WHYS)})),
    class INTEGER REFERENCES classes (id),
    undoes TEXT UNIQUE REFERENCES acts (uid), -- nothing is undone twice
    seconds REAL CHECK (seconds >= 0),
    saw_guess INTEGER NOT NULL CHECK (saw_guess IN (0, 1)),
    at TEXT NOT NULL,
    CHECK ((class IS NOT NULL) = (kind IN ({_listed(WITH_CLASS)}))),
    CHECK ((undoes IS NOT NULL) = (kind = 'undo'))
) STRICT;
CREATE TABLE leases (
    place INTEGER PRIMARY KEY, -- in the order in which they were handed out
    item INTEGER NOT NULL UNIQUE REFERENCES items (id),
    annotator TEXT NOT NULL,
    why TEXT NOT NULL CHECK (why IN ({_listed(WHYS)})),
    until REAL NOT NULL
) STRICT;
"""


def _refuse(name: str, when: str, words: str, condition: str = "true") -> str:
    return f"CREATE TRIGGER {name} BEFORE {when} BEGIN SELECT RAISE(ABORT, '{words}') WHERE {condition}; END;\n"


# INSERT OR REPLACE deletes without a word to the triggers on DELETE, so what is there is guarded against INSERT as well
_TRIGGERS = "".join(
    _refuse(f"{table}_no_delete", f"DELETE ON {table}", f"{table} are only ever added")
    + _refuse(f"{table}_no_update", f"UPDATE OF {columns} ON {table}", f"{table} are only ever added")
    + _refuse(
        f"{table}_no_replace",
        f"INSERT ON {table}",
        f"{table} are only ever added, and this one is there already",
        f"EXISTS (SELECT 1 FROM {table} WHERE {' OR '.join(f'{key} = NEW.{key}' for key in keys)})",
    )
    for table, keys, columns in (
        ("acts", ("id", "uid", "undoes"), "id, uid, item, kind, annotator, why, class, undoes, seconds, saw_guess, at"),
        ("classes", ("id", "name"), "id, name, by, at"),
        ("items", ("id", "name"), "id, name"),
    )
)


def connect(path: Path, mode: Mode) -> sqlite3.Connection:
    """Open the database, in mode "rwc" after making its tables."""
    with explained(path, "open the database"):
        try:
            return _connect(path, f"mode={mode}")
        except sqlite3.OperationalError as error:
            # on a read-only disk SQLite cannot make its -shm file; without a -wal file nothing is lost by doing without
            wal = path.with_name(path.name + "-wal")
            if mode != "ro" or not _is(error, "READONLY", "CANTOPEN") or (wal.exists() and wal.stat().st_size):
                raise
            return _connect(path, "mode=ro&immutable=1")


def _connect(path: Path, options: str) -> sqlite3.Connection:
    db = sqlite3.connect(
        f"{path.resolve().as_uri()}?{options}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,  # transactions begin where the code says BEGIN, nowhere else
        check_same_thread=False,  # the journal lets one thread in at a time
    )
    try:
        if options == "mode=rwc":
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(f"BEGIN; {_TABLES} {_TRIGGERS} PRAGMA user_version = {FORMAT}; COMMIT;")
        db.execute("PRAGMA synchronous = FULL")  # a commit that returned is on the disk
        db.execute("PRAGMA foreign_keys = ON")
        (found,) = db.execute("PRAGMA user_version").fetchone()
        if found != FORMAT:
            raise StoreError(
                f"{path} has format {found}, not {FORMAT}: it belongs to another version of deepbass, was swapped, or "
                "is damaged. Use that version, or restore the project from a copy."
            )
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def explained(path: Path, doing: str) -> Iterator[None]:
    """Turn SQLite's errors into ones that say what was being done, where, and what to do next."""
    try:
        yield
    except sqlite3.ProgrammingError:  # a mistake in the calling code, such as a closed database; not in the file
        raise
    except sqlite3.DatabaseError as error:
        raise StoreError(f"Cannot {doing} in {path}: {error}. {_advice(error, path)}") from error


def _advice(error: sqlite3.Error, path: Path) -> str:
    if _is(error, "FULL", "IOERR"):
        return (
            f"Nothing of it was written, and all labels before it are safe: make room ({_free(path)}), then try again."
        )
    if _is(error, "BUSY", "LOCKED"):
        return f"Another process has been writing for {_BUSY_SECONDS:.0f} s: wait for it or end it, then try again."
    if _is(error, "CORRUPT", "NOTADB"):
        return "The file is damaged: restore the project from a copy."
    if _is(error, "CONSTRAINT"):
        return "Nothing was written."
    return "Check that the file exists, that you may read and write it and its folder, and that the disk has room."


def _free(path: Path) -> str:
    try:
        return f"{shutil.disk_usage(path.parent).free / 1e6:,.1f} MB free"
    except OSError:
        return "free space unknown"


def _is(error: sqlite3.Error, *kinds: str) -> bool:
    # extended names such as SQLITE_READONLY_DIRECTORY begin with the kind
    name = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_")
    return name.startswith(kinds)
