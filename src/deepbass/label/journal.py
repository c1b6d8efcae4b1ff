"""All that a project knows of people, in one SQLite file: acts, items, classes, names and passwords, leases."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any, Literal, NamedTuple, Self

from deepbass.core.errors import DataError, StoreError
from deepbass.label.act_writer import COLUMNS, ActWriter, RefusedAct, next_id, to_act
from deepbass.label.acts import Act, NewAct, Why
from deepbass.label.class_list import MOST_CLASSES, ChangeKind, ClassChange, ClassList
from deepbass.label.clean_names import clean_name
from deepbass.label.item_table import ItemChanges, ItemRow, item_names, update_items
from deepbass.label.leases import Lease
from deepbass.label.project_database import (
    PROJECT_DB,
    has_notes,
    has_reasons,
    not_written,
    open_database,
    read_class_list,
)
from deepbass.label.reasons import Reason
from deepbass.store.sqlite import Mode, explained
from deepbass.store.write_errors import now

__all__ = ["ItemChanges", "ItemRow", "Journal", "Lease", "RefusedAct"]


class FileState(NamedTuple):
    """What tells that a file is another one, without reading it."""

    size: int
    mtime_ns: int


class Journal:
    """An open file. One process writes, any number read; threads of a process take turns by themselves."""

    def __init__(self, path: Path, mode: Mode) -> None:
        self.path = path
        self._turn = RLock()
        self._joined = False  # whether a transaction is open that writes join
        self._db = open_database(path, mode)

    @classmethod
    def create(cls, path: Path, names: Sequence[str], classes: Sequence[str] = (), by: str = "") -> Self:
        """Make the file of a new project. ``by``: who named the classes."""
        if path.exists():
            raise StoreError(f"{path} exists already: open it, or choose another place.")
        journal = cls(path, "rwc")
        try:
            with journal.transaction():
                journal.update_items(names)
                for name in classes:
                    journal.add_class(name, by)
        except BaseException:
            journal.close()
            raise
        return journal

    @classmethod
    def open(cls, path: Path, mode: Literal["rw", "ro"] = "rw") -> Self:
        """Open the file to write ("rw": one process at a time) or only to read ("ro": also while another writes)."""
        return cls(path, mode)

    def close(self) -> None:
        """Close the file; SQLite then folds its -wal file back into it."""
        with self._turn:
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # acts

    def write(self, acts: Sequence[NewAct]) -> list[Act | RefusedAct]:
        """Write acts down in one transaction: when this returns, they are on the disk.

        An act that was written before (the same uid) comes back as it was. One that cannot be taken is refused, alone.
        Whoever answers an item gives back its lease.
        """
        if not acts:
            return []
        with self._writing(f"{len(acts)} answers") as db:
            writer = ActWriter(db)
            return [writer.write(act) for act in acts]

    def acts(self, since: int = 0) -> list[Act]:
        """List the acts after the one with the id ``since``, in order."""
        with self._turn, explained(self.path, "read", PROJECT_DB):
            columns = COLUMNS if has_notes(self._db) else COLUMNS.replace("note,", "NULL,")
            rows = self._db.execute(f"SELECT {columns} FROM acts WHERE id > ? ORDER BY id", (since,))
            return [to_act(row) for row in rows]

    def labelled_by_source(self) -> set[int]:
        """List the items whose label the source brought, also where it was taken back."""
        return {item for (item,) in self._rows("item FROM acts WHERE why = 'source'")}

    def add_reasons(self, reasons: Mapping[int, Reason]) -> None:
        """Write down why the model asked what was answered, by the id of the act."""
        if reasons:
            with self._writing(f"{len(reasons)} reasons") as db:
                db.executemany(
                    "INSERT INTO reasons (act, rule, first, first_share, second, second_share) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    [(act, *astuple(reason)) for act, reason in reasons.items()],
                )

    def reasons(self, acts: Sequence[int]) -> dict[int, Reason]:
        """Read why the model asked, by the id of the act; acts that answered no question of the model are left out."""
        with self._turn, explained(self.path, "read", PROJECT_DB):
            if not has_reasons(self._db):
                return {}
            marks = ", ".join("?" * len(acts))
            rows = self._db.execute(
                f"SELECT act, rule, first, first_share, second, second_share FROM reasons WHERE act IN ({marks})",
                tuple(acts),
            )
            return {act: Reason(*reason) for act, *reason in rows}

    # items and classes

    def items(self) -> list[ItemRow]:
        """List all items; the place in the list is the id."""
        return [
            ItemRow(id_, name, bool(gone)) for id_, name, gone in self._rows("id, name, gone FROM items ORDER BY id")
        ]

    def item_count(self) -> int:
        """Count the items, those gone included."""
        with self._turn, explained(self.path, "read", PROJECT_DB):
            return next_id(self._db, "items")

    def item_names(self) -> list[str]:
        """List the names of all items; the place in the list is the id."""
        with self._turn, explained(self.path, "read", PROJECT_DB):
            return item_names(self._db)

    def update_items(self, names: Sequence[str]) -> ItemChanges:
        """Take up what the source has now: new names get the next ids, others are marked gone or there again."""
        with self._writing("the list of items") as db:
            return update_items(db, names)

    def files(self) -> dict[int, FileState]:
        """Tell what the files of items looked like when the project was last opened."""
        return {item: FileState(size, time) for item, size, time in self._rows("item, size, mtime_ns FROM files")}

    def save_files(self, files: Mapping[int, FileState]) -> None:
        """Write down what files look like now."""
        with self._writing("what files look like") as db:
            db.executemany(
                "INSERT INTO files (item, size, mtime_ns) VALUES (?, ?, ?) "
                "ON CONFLICT (item) DO UPDATE SET size = excluded.size, mtime_ns = excluded.mtime_ns",
                [(item, *state) for item, state in files.items()],
            )

    # classes

    def class_list(self) -> ClassList:
        """Fold the changes of the classes: what they are now."""
        with self._turn, explained(self.path, "read", PROJECT_DB):
            return read_class_list(self._db)

    def classes(self) -> list[str]:
        """List the names of all classes there ever were by id; one that was merged has the name of the other."""
        classes = self.class_list()
        meant = [classes.resolve(class_) for class_ in range(classes.ever)]
        return [classes.name(class_ if now is None else now) for class_, now in enumerate(meant)]

    def add_class(self, name: str, by: str) -> int:
        """Add a class, or find the one of that name."""
        name = clean_name(name, "a class")
        with self._writing(f"the class {name!r}") as db:
            classes = read_class_list(db)
            found = classes.find(name)
            if found is not None:
                return found
            if classes.ever >= MOST_CLASSES:
                raise DataError(f"There were {classes.ever} classes: no more can be added, so not {name!r} either.")
            db.execute("INSERT INTO classes (id) VALUES (?)", (classes.ever,))
            _change(db, classes, "add", by, class_=classes.ever, name=name)
        return classes.ever

    def rename_class(self, class_: int, name: str, by: str) -> ClassChange:
        """Give a class another name, which no other has."""
        name = clean_name(name, "a class")
        with self._writing(f"the name {name!r} of a class") as db:
            return _change(db, read_class_list(db), "rename", by, class_=class_, name=name)

    def merge_class(self, class_: int, into: int, by: str) -> ClassChange:
        """Let the labels of a class count as labels of another, and the class be no more."""
        with self._writing("the merging of two classes") as db:
            return _change(db, read_class_list(db), "merge", by, class_=class_, into=into)

    def remove_class(self, class_: int, by: str) -> ClassChange:
        """Let a class be no more: its labels stay written down, but count no longer."""
        with self._writing("the removal of a class") as db:
            return _change(db, read_class_list(db), "remove", by, class_=class_)

    def undo_class_change(self, change: int, by: str) -> ClassChange:
        """Take a change of the classes back."""
        with self._writing("the undoing of a change of classes") as db:
            return _change(db, read_class_list(db), "undo", by, undoes=change)

    # people

    def people(self) -> dict[str, str]:
        """List who may log in, with the hash of their password (see passwords.py)."""
        return dict(self._rows("name, password FROM people ORDER BY name"))

    def set_person(self, name: str, password_hash: str) -> None:
        """Let somebody log in, or change their password."""
        name = clean_name(name, "a person")
        with self._writing(f"the person {name!r}") as db:
            db.execute(
                "INSERT INTO people VALUES (?, ?, ?) "
                "ON CONFLICT (name) DO UPDATE SET password = excluded.password, at = excluded.at",
                (name, password_hash, now()),
            )

    # leases

    def leases(self) -> list[Lease]:
        """List what is handed out, in the order in which it was; also where the time is over."""
        return [Lease(*row) for row in self._rows("item, annotator, why, until FROM leases ORDER BY place")]

    def hand_out(self, item: int, annotator: str, why: Why, until: float) -> None:
        """Write down who has an item in hand; whoever had it before has it no longer."""
        self.save_leases({item: Lease(item, annotator, why, until)})

    def give_back(self, item: int, annotator: str) -> None:
        """Free an item, if it is this person's."""
        with self._writing(f"the return of item {item}", durable=False) as db:
            db.execute("DELETE FROM leases WHERE item = ? AND annotator = ?", (item, annotator))

    def save_leases(self, changes: Mapping[int, Lease | None]) -> None:
        """Write down many leases at once, by item; None frees an item."""
        if not changes:
            return
        with self._writing(f"{len(changes)} leases", durable=False) as db:
            db.executemany(  # a lease that is renewed keeps its place, one for somebody else goes to the end
                "DELETE FROM leases WHERE item = ? AND annotator IS NOT ?",
                [(item, None if lease is None else lease.annotator) for item, lease in changes.items()],
            )
            db.executemany(
                "INSERT INTO leases (item, annotator, why, until) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (item) DO UPDATE SET why = excluded.why, until = excluded.until",
                [(lease.item, lease.annotator, lease.why, lease.until) for lease in changes.values() if lease],
            )

    # transactions

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Let all that is written inside count together: all of it when the block ends, nothing if it raises."""
        with self._writing("a group of changes"):
            joined, self._joined = self._joined, True
            try:
                yield
            finally:
                self._joined = joined

    def _rows(self, select: str, *values: int) -> list[tuple[Any, ...]]:
        with self._turn, explained(self.path, "read", PROJECT_DB):
            return self._db.execute(f"SELECT {select}", values).fetchall()

    @contextmanager
    def _writing(self, what: str, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """Open the one transaction in which ``what`` is written, all of it or nothing, or join the one that is open.

        What is not durable survives the end of the process, at any moment, but maybe not a power cut: that is enough
        for a lease, and spares a wait for the disk. The next durable commit takes it along.
        """
        doing = f"write {what}"
        with self._turn, explained(self.path, doing, PROJECT_DB, partial(not_written, doing, self.path)):
            if self._joined:
                yield self._db
                return
            self._db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            with self._db:  # commits, or rolls back on any error
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db


def _change(
    db: sqlite3.Connection,
    classes: ClassList,
    kind: ChangeKind,
    by: str,
    *,
    class_: int | None = None,
    name: str | None = None,
    into: int | None = None,
    undoes: int | None = None,
) -> ClassChange:
    """Write a change of the classes down, unless they do not allow it."""
    change = ClassChange(1 + len(classes.changes), kind, class_, name, into, undoes, by, now())
    classes.after(change)
    db.execute("INSERT INTO class_changes VALUES (?, ?, ?, ?, ?, ?, ?, ?)", astuple(change))
    return change
