"""The SQLite file of a run: its tables, how it is opened, and what its errors mean.

Rows are only ever added. What a resume abandons is not deleted but hidden: a row in ``rewinds`` says up to which row
ids everything after its iteration no longer counts, and the ``live_`` views leave that out. What a person said is
never hidden.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from deepbass.core.errors import StoreError
from deepbass.store.files import write_failed

FORMAT = 1  # of the run directory; another number means another layout
DB_FILE = "run.db"

Mode = Literal["rwc", "rw", "ro"]  # SQLite's own names: make it, write, read

_BUSY_SECONDS = 30.0
_EVENTS = ("questions", "answers", "steps", "rewinds")

_TABLES = """
CREATE TABLE questions (
    id INTEGER PRIMARY KEY,
    sample INTEGER NOT NULL CHECK (sample >= 0),
    iteration INTEGER NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE TABLE answers (
    id INTEGER PRIMARY KEY,
    sample INTEGER NOT NULL CHECK (sample >= 0),
    class INTEGER NOT NULL CHECK (class >= -1), -- -1 takes earlier answers back
    source TEXT NOT NULL,
    annotator TEXT,
    iteration INTEGER, -- NULL: given outside of any iteration
    at TEXT NOT NULL
) STRICT;
CREATE TABLE steps (
    id INTEGER PRIMARY KEY,
    iteration INTEGER NOT NULL CHECK (iteration >= 0),
    metrics TEXT NOT NULL,
    seconds TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE TABLE rewinds (
    id INTEGER PRIMARY KEY,
    iteration INTEGER NOT NULL,
    questions_until INTEGER NOT NULL,
    answers_until INTEGER NOT NULL,
    steps_until INTEGER NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE TABLE samples (
    sample INTEGER PRIMARY KEY CHECK (sample >= 0),
    name TEXT NOT NULL,
    picture BLOB -- an .npy file
) STRICT;
CREATE VIEW live_questions AS SELECT * FROM questions AS row WHERE NOT EXISTS (
    SELECT 1 FROM rewinds WHERE row.iteration > rewinds.iteration AND row.id <= questions_until);
CREATE VIEW live_answers AS SELECT * FROM answers AS row WHERE source = 'person' OR NOT EXISTS (
    SELECT 1 FROM rewinds WHERE row.iteration > rewinds.iteration AND row.id <= answers_until);
CREATE VIEW live_steps AS SELECT * FROM steps AS row WHERE NOT EXISTS (
    SELECT 1 FROM rewinds WHERE row.iteration > rewinds.iteration AND row.id <= steps_until);
"""

_TRIGGERS = "".join(
    f"CREATE TRIGGER {table}_no_{verb} BEFORE {verb} ON {table} "
    f"BEGIN SELECT RAISE(ABORT, '{table} are only ever added'); END;\n"
    for table in _EVENTS
    for verb in ("UPDATE", "DELETE")
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
    # isolation_level None: transactions begin where the code says BEGIN, nowhere else
    db = sqlite3.connect(f"{path.resolve().as_uri()}?{options}", uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        if options == "mode=rwc":
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(f"BEGIN; {_TABLES} {_TRIGGERS} PRAGMA user_version = {FORMAT}; COMMIT;")
        db.execute("PRAGMA synchronous = FULL")  # a commit that returned is on the disk
        (found,) = db.execute("PRAGMA user_version").fetchone()
        if found != FORMAT:
            raise StoreError(
                f"{path} has format {found}, not {FORMAT}: it was swapped or damaged. Restore it from a copy."
            )
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def explained(path: Path, doing: str, db: sqlite3.Connection | None = None) -> Iterator[None]:
    """Turn SQLite's errors into ones that say what was being done, where, and what to do next."""
    try:
        yield
    except sqlite3.ProgrammingError:  # a mistake in the calling code, such as a second thread; not in the file
        raise
    except sqlite3.DatabaseError as error:
        if db is not None and _is(error, "FULL", "IOERR"):
            raise write_failed(doing, path.parent, error, _last_iteration(db)) from error
        advice = "Check that the file exists, that you may read and write it, and that the disk has room."
        if _is(error, "BUSY", "LOCKED"):
            advice = (
                f"Another process has been writing for {_BUSY_SECONDS:.0f} s: wait for it or end it, then try again."
            )
        elif _is(error, "CORRUPT", "NOTADB"):
            advice = "The file is damaged: restore the run directory from a copy, or start a new run."
        elif _is(error, "CONSTRAINT"):
            advice = "Nothing was written."
        raise StoreError(f"Cannot {doing} in {path}: {error}. {advice}") from error


def _is(error: sqlite3.Error, *kinds: str) -> bool:
    # extended names such as SQLITE_READONLY_DIRECTORY begin with the kind
    name = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_")
    return name.startswith(kinds)


def _last_iteration(db: sqlite3.Connection) -> int | None:
    with suppress(sqlite3.Error):
        last: int | None = db.execute("SELECT max(iteration) FROM live_steps").fetchone()[0]
        return last
    return None
