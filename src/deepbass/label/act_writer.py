"""Check acts one by one and write down those that can be taken, inside a transaction that somebody else commits."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, fields
from typing import Any

from deepbass.label.acts import ANSWERS, KINDS, WHYS, WITH_CLASS, Act, NewAct
from deepbass.label.clean_names import LONGEST, is_text
from deepbass.label.project_database import read_class_list
from deepbass.store.write_errors import now

# in the order of Act's fields
COLUMNS = "uid, item, kind, annotator, why, class, undoes, seconds, saw_guess, note, id, at"
LONGEST_NOTE = 500  # characters

_ADD = f"INSERT INTO acts ({COLUMNS}) VALUES ({', '.join('?' * 12)})"
_LONGEST_SECONDS = 1e6  # a page left open for days says nothing about a label

# what makes two acts the same one, sent twice; why and seconds may have been found out anew
_SAME = ("item", "kind", "annotator", "class_", "undoes", "note")


@dataclass(frozen=True)
class RefusedAct:
    """An act that cannot be taken, and why, in words for the person."""

    uid: str
    reason: str


class ActWriter:
    """One transaction's worth of acts: each sees those before it."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._items = next_id(db, "items")
        self._classes = read_class_list(db)
        (self._last,) = db.execute("SELECT ifnull(max(id), 0) FROM acts").fetchone()
        self._at = now()

    def write(self, act: NewAct) -> Act | RefusedAct:
        """Write an act down, or find it as it was written; refuse it without a trace."""
        if not _is_key(act.uid):
            shown = str(act.uid)[:LONGEST].encode(errors="replace").decode()  # halves of characters cannot be sent back
            return RefusedAct(shown, f"the id of an act must be 1 to {LONGEST} characters of plain text")
        if (before := self._find(act.uid)) is not None:
            if all(getattr(before, name) == getattr(act, name) for name in _SAME):
                return before
            return RefusedAct(act.uid, f"another act has the id {act.uid!r}: {_words(before)}")
        if (reason := self._objection(act)) is not None:
            return RefusedAct(act.uid, reason)

        self._last += 1
        written = Act(
            uid=act.uid,
            item=act.item,
            kind=act.kind,
            annotator=act.annotator,
            why=act.why,
            class_=act.class_,
            undoes=act.undoes,
            seconds=_plausible(act.seconds),
            saw_guess=bool(act.saw_guess),
            note=act.note,
            id=self._last,
            at=self._at,
        )
        self._db.execute(_ADD, [getattr(written, name) for name in _FIELDS])
        if act.kind in ANSWERS:  # the question is answered: nobody holds it any more
            self._db.execute("DELETE FROM leases WHERE item = ? AND annotator = ?", (act.item, act.annotator))
        return written

    def _find(self, uid: str) -> Act | None:
        row = self._db.execute(f"SELECT {COLUMNS} FROM acts WHERE uid = ?", (uid,)).fetchone()
        return None if row is None else to_act(row)

    def _objection(self, act: NewAct) -> str | None:
        if (reason := _misshapen(act)) is not None:
            return reason
        if not _is_number(act.item, self._items):
            return f"there is no item {_short(act.item)}: there are {self._items}"
        if act.kind in WITH_CLASS and (reason := self._objection_to_class(act.class_)) is not None:
            return reason
        return self._objection_to_undo(act) if act.kind == "undo" else None

    def _objection_to_class(self, class_: int | None) -> str | None:
        """Refuse classes that are not there; one that was merged is understood, since pages may lag behind."""
        if class_ is None or not _is_number(class_, self._classes.ever):
            return f"there is no class {_short(class_)}: there are {len(self._classes)}"
        if self._classes.resolve(class_) is None:
            return f"the class {self._classes.name(class_)!r} was removed: choose another"
        return None

    def _objection_to_undo(self, act: NewAct) -> str | None:
        undone = self._find(act.undoes) if act.undoes is not None and _is_key(act.undoes) else None
        if undone is None:
            return f"there is no act {_short(act.undoes)} to undo"
        if undone.annotator != act.annotator:
            return f"it was {undone.annotator!r} who did this ({_words(undone)}): only they can undo it"
        if undone.kind == "undo":
            return "an undo cannot be undone: give the answer again"
        if undone.item != act.item:
            return f"the act to undo is about item {undone.item}, not {act.item}"
        if self._db.execute("SELECT 1 FROM acts WHERE undoes = ?", (act.undoes,)).fetchone():
            return f"it is undone already: {_words(undone)}"
        return None


_FIELDS = [field.name for field in fields(Act)]


def to_act(row: tuple[Any, ...]) -> Act:
    """Make an act from a row of COLUMNS."""
    uid, item, kind, annotator, why, class_, undoes, seconds, saw_guess, note, id_, at = row
    return Act(uid, item, kind, annotator, why, class_, undoes, seconds, bool(saw_guess), note, id_, at)


def next_id(db: sqlite3.Connection, table: str) -> int:
    """Tell the id of the row that would be added, which is how many there are: ids rise by one, nothing is deleted."""
    count: int = db.execute(f"SELECT ifnull(max(id) + 1, 0) FROM {table}").fetchone()[0]
    return count


def _misshapen(act: NewAct) -> str | None:
    """Tell what is wrong with an act as such, before anything is looked up."""
    if act.kind not in KINDS:
        return f"{_short(act.kind)} is nothing that can be done: choose one of {', '.join(KINDS)}"
    if act.why not in WHYS:
        return f"{_short(act.why)} is no reason to look at a sample: choose one of {', '.join(WHYS)}"
    if not _is_key(act.annotator):
        return f"the annotator's name must be 1 to {LONGEST} characters of plain text"
    if act.kind not in WITH_CLASS and act.class_ is not None:
        return f"{act.kind!r} names no class, but {_short(act.class_)} was given"
    if act.kind != "undo" and act.undoes is not None:
        return f"{act.kind!r} takes nothing back, but {_short(act.undoes)} was named"
    return _objection_to_note(act)


def _objection_to_note(act: NewAct) -> str | None:
    if act.kind != "note":
        return None if act.note is None else f"{act.kind!r} has no note, but {_short(act.note)} was given"
    if not isinstance(act.note, str) or len(act.note) > LONGEST_NOTE or not is_text(act.note):
        return f"a note must be at most {LONGEST_NOTE} characters of plain text in one line"
    return None


def _is_key(text: object) -> bool:
    return isinstance(text, str) and 0 < len(text) <= LONGEST and is_text(text)


def _is_number(number: object, below: int) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number < below


def _plausible(seconds: float | None) -> float | None:
    """Keep a time that can be; a clock gone wrong is no reason to lose the answer."""
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds < _LONGEST_SECONDS:
        return float(seconds)
    return None


def _short(given: object) -> str:
    text = repr(given)
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


def _words(act: Act) -> str:
    class_ = "" if act.class_ is None else f" {act.class_}"
    return f"{act.kind}{class_} on item {act.item} by {act.annotator!r}"
