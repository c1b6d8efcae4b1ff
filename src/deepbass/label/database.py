"""The SQLite file of a project: its tables, and the error for a disk that has no room for more of it.

Acts and classes are only ever added, and an item keeps its name for ever; triggers see to it, so that no other program
changes what people said by mistake either.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from deepbass.core.errors import StoreError
from deepbass.label.acts import KINDS, WHYS, WITH_CLASS
from deepbass.store.files import free_space
from deepbass.store.sqlite import Layout

FORMAT = 1  # of the tables; another number means another layout


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

PROJECT_DB = Layout(FORMAT, _TABLES + _TRIGGERS, "restore the project from a copy", threads=True)


def no_room(doing: str, path: Path, error: sqlite3.Error) -> StoreError:
    """Make the error for a write that found no room."""
    return StoreError(
        f"Cannot {doing} in {path}: {error}. Nothing of it was written, and all labels before it are safe: "
        f"make room ({free_space(path.parent)}), then try again."
    )
