"""The items of a project as its database has them: read by column, and brought up to what the source has now."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from deepbass.core.errors import DataError


class ItemRow(NamedTuple):
    """A sample: its id, which never changes its meaning, its name in the source, and whether it is there no more."""

    id: int
    name: str
    gone: bool


@dataclass(frozen=True)
class ItemChanges:
    """The ids of items that are new, that vanished, and that came back; and all items, as they are now."""

    new: list[int]
    gone: list[int]
    back: list[int]
    names: Sequence[str] = field(default=(), compare=False, repr=False)  # by id
    missing: frozenset[int] = field(default=frozenset(), compare=False, repr=False)  # all that are not there


def item_names(db: sqlite3.Connection) -> list[str]:
    """List the names of all items there ever were; the place in the list is the id."""
    return [name for (name,) in db.execute("SELECT name FROM items ORDER BY id")]


def update_items(db: sqlite3.Connection, names: Sequence[str]) -> ItemChanges:
    """Take up what the source has now: new names get the next ids, others are marked gone or there again."""
    rows = db.execute("SELECT name, gone FROM items ORDER BY id").fetchall()
    known = [name for name, _ in rows]
    were_gone = frozenset(id_ for id_, (_, gone) in enumerate(rows) if gone)
    if not were_gone and known == names:  # by far the most frequent case, and there may be millions
        return ItemChanges([], [], [], names)
    there, before = set(names), set(known)
    missing = frozenset(id_ for id_, name in enumerate(known) if name not in there)
    gone, back = sorted(missing - were_gone), sorted(were_gone - missing)
    new = [name for name in dict.fromkeys(names) if name not in before]
    _check_names(new)
    ids = range(len(known), len(known) + len(new))
    db.executemany("UPDATE items SET gone = 1 WHERE id = ?", [(id_,) for id_ in gone])
    db.executemany("UPDATE items SET gone = 0 WHERE id = ?", [(id_,) for id_ in back])
    db.executemany("INSERT INTO items (id, name) VALUES (?, ?)", zip(ids, new, strict=True))
    return ItemChanges(list(ids), gone, back, [*known, *new], missing)


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise DataError(f"The name of {name!r} is not valid UTF-8: rename the file.") from None
