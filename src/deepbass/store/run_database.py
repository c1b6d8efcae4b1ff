"""The SQLite file of a run: its tables, and the error for a disk that does not take more of it.

Rows are only ever added. What a resume abandons is not deleted but hidden: a row in ``rewinds`` says up to which row
ids everything after its iteration no longer counts, and the ``live_`` views leave that out.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

from deepbass.core.errors import StoreError
from deepbass.store.sqlite import Layout
from deepbass.store.write_errors import write_failed

FORMAT = 1  # of the run directory; another number means another layout

_EVENTS = ("questions", "answers", "steps", "rewinds")

# A file is opened if its tables are these to the letter, so they stay as they are until FORMAT changes: an annotator,
# answers outside of iterations and those of a 'person' are no longer written, but such runs may still be opened.
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

RUN_DB = Layout(FORMAT, _TABLES + _TRIGGERS, "restore the run directory from a copy, or start a new run")


def not_written(doing: str, run: Path, db: sqlite3.Connection, error: sqlite3.Error) -> StoreError:
    """Make the error for a write that the disk did not take; it tells up to which iteration everything is safe."""
    last: int | None = None
    with suppress(sqlite3.Error):
        last = db.execute("SELECT max(iteration) FROM live_steps").fetchone()[0]
    return write_failed(doing, run, error, last)
