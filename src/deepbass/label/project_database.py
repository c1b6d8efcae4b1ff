"""The SQLite file of a project: its tables, how an older one becomes one of today, what a failed write means.

Acts, classes and their changes are only ever added, and an item keeps its name for ever; triggers see to it, so that no
other program changes what people did by mistake either.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from deepbass.core.errors import StoreError
from deepbass.label.acts import KINDS, WHYS, WITH_CLASS
from deepbass.label.class_list import CHANGE_KINDS, ClassChange, ClassList
from deepbass.store.sqlite import Layout, Mode, connect, explained
from deepbass.store.write_errors import advice_for, free_space

FORMAT = 4  # of the tables; another number means another layout
BEFORE_CHANGES = 1  # the format in which a class had one name for ever: read as it is, upgraded by whoever writes
BEFORE_NOTES = 2  # the same of the one in which there were no notes
BEFORE_REASONS = 3  # and of the one that did not say why the model asked


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"'{word}'" for word in sorted(words))


# classes: all ids there ever were, for acts to name; what became of each is told by the changes
_OF_CLASSES = f"""
CREATE TABLE classes (id INTEGER PRIMARY KEY CHECK (id >= 0)) STRICT;
CREATE TABLE class_changes (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ({_listed(CHANGE_KINDS)})),
    class INTEGER REFERENCES classes (id),
    name TEXT CHECK (name <> ''),
    "into" INTEGER REFERENCES classes (id),
    undoes INTEGER UNIQUE REFERENCES class_changes (id), -- nothing is undone twice
    by TEXT NOT NULL,
    at TEXT NOT NULL,
    CHECK ((class IS NULL) = (kind = 'undo')),
    CHECK ((name IS NOT NULL) = (kind IN ('add', 'rename'))),
    CHECK (("into" IS NOT NULL) = (kind = 'merge')),
    CHECK ((undoes IS NOT NULL) = (kind = 'undo'))
) STRICT;
"""

# what the file of an item looked like when the project was last opened
_FILES = """
CREATE TABLE files (
    item INTEGER PRIMARY KEY REFERENCES items (id),
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL
) STRICT;
"""

# why the model asked what was answered by an act (reasons.py)
_REASONS = """
CREATE TABLE reasons (
    act INTEGER PRIMARY KEY REFERENCES acts (id),
    rule TEXT NOT NULL,
    first INTEGER NOT NULL REFERENCES classes (id),
    first_share REAL NOT NULL,
    second INTEGER REFERENCES classes (id),
    second_share REAL,
    CHECK ((second IS NULL) = (second_share IS NULL))
) STRICT;
"""

_TABLES = """
CREATE TABLE items (
    id INTEGER PRIMARY KEY CHECK (id >= 0),
    name TEXT NOT NULL UNIQUE,
    gone INTEGER NOT NULL DEFAULT 0 CHECK (gone IN (0, 1))
) STRICT;
CREATE TABLE people (
    name TEXT PRIMARY KEY NOT NULL CHECK (name <> ''),
    password TEXT NOT NULL, -- its hash
    at TEXT NOT NULL
) STRICT;
"""

_ACTS_AND_LEASES = f"""
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
    note TEXT,
    CHECK ((class IS NOT NULL) = (kind IN ({_listed(WITH_CLASS)}))),
    CHECK ((undoes IS NOT NULL) = (kind = 'undo')),
    CHECK ((note IS NOT NULL) = (kind = 'note'))
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
def _only_added(table: str, keys: tuple[str, ...], columns: str) -> str:
    return (
        _refuse(f"{table}_no_delete", f"DELETE ON {table}", f"{table} are only ever added")
        + _refuse(f"{table}_no_update", f"UPDATE OF {columns} ON {table}", f"{table} are only ever added")
        + _refuse(
            f"{table}_no_replace",
            f"INSERT ON {table}",
            f"{table} are only ever added, and this one is there already",
            f"EXISTS (SELECT 1 FROM {table} WHERE {' OR '.join(f'{key} = NEW.{key}' for key in keys)})",
        )
    )


_ACTS_ADDED = _only_added(
    "acts", ("id", "uid", "undoes"), "id, uid, item, kind, annotator, why, class, undoes, seconds, saw_guess, at, note"
)
_ITEMS_ADDED = _only_added("items", ("id", "name"), "id, name")
_CLASSES_ADDED = _only_added("classes", ("id",), "id") + _only_added(
    "class_changes", ("id", "undoes"), 'id, kind, class, name, "into", undoes, by, at'
)
_REASONS_ADDED = _only_added("reasons", ("act",), "act, rule, first, first_share, second, second_share")

PROJECT_DB = Layout(
    FORMAT,
    _OF_CLASSES
    + _TABLES
    + _ACTS_AND_LEASES
    + _FILES
    + _REASONS
    + _ACTS_ADDED
    + _ITEMS_ADDED
    + _CLASSES_ADDED
    + _REASONS_ADDED,
    "restore the project from a copy",
    threads=True,
)

# the classes of format 1 become the changes that added them; acts are left as they are
_NAMED_CLASSES = f"""
CREATE TEMP TABLE named AS SELECT id, name, by, at FROM main.classes;
DROP TABLE main.classes;
{_OF_CLASSES}
{_FILES}
INSERT INTO classes (id) SELECT id FROM temp.named ORDER BY id;
INSERT INTO class_changes (id, kind, class, name, by, at)
    SELECT id + 1, 'add', id, name, by, at FROM temp.named ORDER BY id;
DROP TABLE temp.named;
{_CLASSES_ADDED}
"""

# SQLite cannot change what a table checks: acts and leases are made anew, with every row as it was
_WITHOUT_NOTES = "id, uid, item, kind, annotator, why, class, undoes, seconds, saw_guess, at"
_WITH_NOTES = f"""
CREATE TEMP TABLE old_acts AS SELECT {_WITHOUT_NOTES} FROM main.acts;
CREATE TEMP TABLE old_leases AS SELECT place, item, annotator, why, until FROM main.leases;
DROP TABLE main.acts;
DROP TABLE main.leases;
{_ACTS_AND_LEASES}
INSERT INTO acts ({_WITHOUT_NOTES}) SELECT {_WITHOUT_NOTES} FROM temp.old_acts ORDER BY id;
INSERT INTO leases (place, item, annotator, why, until)
    SELECT place, item, annotator, why, until FROM temp.old_leases ORDER BY place;
DROP TABLE temp.old_acts;
DROP TABLE temp.old_leases;
{_ACTS_ADDED}
"""

_WITH_REASONS = _REASONS + _REASONS_ADDED
_UPGRADES = {
    BEFORE_CHANGES: _NAMED_CLASSES + _WITH_NOTES + _WITH_REASONS,
    BEFORE_NOTES: _WITH_NOTES + _WITH_REASONS,
    BEFORE_REASONS: _WITH_REASONS,
}


def open_database(path: Path, mode: Mode) -> sqlite3.Connection:
    """Open the file; to open an older one for writing makes one of today's of it, whole or not at all."""
    try:
        return connect(path, mode, PROJECT_DB)
    except StoreError:
        older = None if mode == "rwc" else _open_older(path, mode)
        if older is None:
            raise
    if mode == "rw":
        _upgrade(older, path)
    return older


def _open_older(path: Path, mode: Mode) -> sqlite3.Connection | None:
    for format_ in _UPGRADES:
        with suppress(StoreError):
            # no script: its tables are not held to the letter of today's; the upgrade makes those that differ
            return connect(path, mode, replace(PROJECT_DB, format=format_, script=""))
    return None


def _upgrade(db: sqlite3.Connection, path: Path) -> None:
    found = _format(db)
    doing = f"upgrade the labels from format {found} to {FORMAT}"
    try:
        with explained(path, doing, PROJECT_DB, partial(not_written, doing, path)):
            db.execute("PRAGMA foreign_keys = OFF")  # tables that others refer to are made anew
            try:
                db.executescript(f"BEGIN IMMEDIATE; {_UPGRADES[found]} PRAGMA user_version = {FORMAT}; COMMIT;")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            db.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        db.close()
        raise


def _format(db: sqlite3.Connection) -> int:
    """Tell the format; asked anew each time, since whoever writes may have upgraded the file."""
    (found,) = db.execute("PRAGMA user_version").fetchone()
    return int(found)


def has_notes(db: sqlite3.Connection) -> bool:
    """Tell whether acts have the column of notes, which older files lack until somebody writes."""
    return _format(db) > BEFORE_NOTES


def has_reasons(db: sqlite3.Connection) -> bool:
    """Tell whether there is a table of reasons."""
    return _format(db) > BEFORE_REASONS


def read_class_list(db: sqlite3.Connection) -> ClassList:
    """Fold the changes of the classes; those of format 1 were added and never changed."""
    changes = 'id, kind, class, name, "into", undoes, by, at FROM class_changes'
    if _format(db) == BEFORE_CHANGES:
        changes = "id + 1, 'add', id, name, NULL, NULL, by, at FROM classes"
    return ClassList(ClassChange(*row) for row in db.execute(f"SELECT {changes} ORDER BY id"))


def not_written(doing: str, path: Path, error: sqlite3.Error) -> StoreError:
    """Make the error for a write that the disk did not take."""
    return StoreError(
        f"Cannot {doing} in {path}: {error}. Nothing of it was written, and all labels before it are safe: "
        f"{advice_for(error)} ({free_space(path.parent)}), then try again."
    )
