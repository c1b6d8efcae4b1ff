"""The classes of a project: what they are now is a fold over the changes that people made to them.

Changes are only ever added, and an id is never used twice, so that whatever names a class goes on to mean it: an act
keeps the class it was given, and `ClassList.resolve` tells what that class is by now. A change that was undone is as if
it had never been.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from typing import Literal, Self, get_args

from deepbass.core.errors import DataError

ChangeKind = Literal["add", "rename", "merge", "remove", "undo"]
CHANGE_KINDS: tuple[ChangeKind, ...] = get_args(ChangeKind)

MOST_CLASSES = 32_767  # a ranking holds them in 16 bits


class ClassChangeError(DataError):
    """A change that the classes as they are do not allow."""


@dataclass(frozen=True)
class ClassChange:
    """A row: what somebody did to a class."""

    id: int  # rises by one per change
    kind: ChangeKind
    class_: int | None = None  # None: of an undo
    name: str | None = None  # that it was given, by "add" and "rename"
    into: int | None = None  # the class whose labels its labels became, by "merge"
    undoes: int | None = None  # the change that an undo takes back
    by: str = ""
    at: str = ""  # ISO-8601, UTC


class ClassList:
    """The classes after some changes. A value: nothing changes it once it is made."""

    def __init__(self, changes: Iterable[ClassChange] = ()) -> None:
        """Fold changes, leaving out what was undone; one that the others do not allow is refused."""
        self.changes = tuple(changes)
        self._names: dict[int, str] = {}  # of the classes that there are; in the order of ids, as they were added
        self._class_of: dict[str, int] = {}  # the other way round
        self._last: list[str] = []  # the last name of every class that there ever was
        self._ever_of: dict[str, int] = {}  # name -> the class that had it last
        self._merged: dict[int, int] = {}  # class -> the one it was merged into, which may have been merged later
        undone = {change.undoes for change in self.changes if change.kind == "undo"}
        for change in self.changes:
            self._take(change, counts=change.id not in undone)

    @classmethod
    def named(cls, names: Iterable[str]) -> Self:
        """Make classes that were added one after the other and never changed."""
        return cls(ClassChange(1 + class_, "add", class_, name) for class_, name in enumerate(names))

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, class_: object) -> bool:
        return class_ in self._names

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of the classes that there are, in order."""
        return tuple(self._names)

    @property
    def names(self) -> list[str]:
        """The names of the classes that there are, in the order of their ids."""
        return list(self._names.values())

    @property
    def ever(self) -> int:
        """The number of ids given so far."""
        return len(self._last)

    def name(self, class_: int) -> str:
        """Tell the name of a class, or the last name of one that is no more."""
        return self._last[class_]

    def find(self, name: str) -> int | None:
        """Find the class that has a name now."""
        return self._class_of.get(name)

    def had(self, name: str) -> bool:
        """Tell whether any class has a name, or had it once."""
        return name in self._ever_of

    def meant_by(self, name: str) -> int | None:
        """Find the class that a name stands for, also one of old: what its class was renamed to or merged into."""
        return self.resolve(self._ever_of[name]) if name in self._ever_of else None

    def resolve(self, class_: int) -> int | None:
        """Tell which class an id stands for by now: itself, the one that it was merged into, or None: removed."""
        while class_ in self._merged:
            class_ = self._merged[class_]
        return class_ if class_ in self._names else None

    def after(self, change: ClassChange) -> ClassList:
        """Make one more change, or say why it cannot be made."""
        if change.kind != "undo":
            made = copy(self)
            made.changes = (*self.changes, change)
            made._names, made._class_of = self._names.copy(), self._class_of.copy()
            made._last, made._merged, made._ever_of = self._last.copy(), self._merged.copy(), self._ever_of.copy()
            made._take(change)
            return made
        undone = next((one for one in self.changes if one.id == change.undoes), None)
        if undone is None:
            raise ClassChangeError(f"There is no change {change.undoes} of the classes to undo.")
        if undone.kind == "undo":
            raise ClassChangeError("An undo cannot be undone: make the change again.")
        if any(one.undoes == undone.id for one in self.changes):
            raise ClassChangeError("This change of the classes is undone already.")
        try:
            return ClassList((*self.changes, change))
        except ClassChangeError as error:
            raise ClassChangeError(
                f"{self._words(undone)} cannot be undone: a later change builds on it, so undo that first. {error}"
            ) from error

    def _take(self, change: ClassChange, *, counts: bool = True) -> None:
        """Fold one more change; an id is given also by one that was undone."""
        if change.kind == "add":
            self._last.append(change.name or "")
        if change.kind == "undo" or not counts:
            return
        class_ = self._known(change.class_)
        if change.kind != "add":
            self._living(class_)
        if change.kind in ("add", "rename"):
            name = change.name or ""
            if self.find(name) not in (None, class_):
                raise ClassChangeError(f"There is a class {name!r} already: merge the two, or choose another name.")
            self._class_of.pop(self._names.get(class_, ""), None)
            self._names[class_] = self._last[class_] = name
            self._class_of[name] = self._ever_of[name] = class_
            return
        if change.kind == "merge":
            into = self._living(self._known(change.into))
            if into == class_:
                raise ClassChangeError(f"The class {self.name(class_)!r} cannot be merged into itself.")
            self._merged[class_] = into
        del self._class_of[self._names.pop(class_)]

    def _known(self, class_: int | None) -> int:
        if class_ is None or not 0 <= class_ < self.ever:
            raise ClassChangeError(f"There is no class {class_}: there are {len(self)}.")
        return class_

    def _living(self, class_: int) -> int:
        if class_ not in self._names:
            raise ClassChangeError(f"The class {self.name(class_)!r} is not there any more.")
        return class_

    def _words(self, change: ClassChange) -> str:
        class_ = self.name(change.class_ or 0)
        match change.kind:
            case "add":
                return f"Adding the class {change.name!r}"
            case "rename":
                return f"Renaming a class to {change.name!r}"
            case "merge":
                return f"Merging the class {class_!r} into {self.name(change.into or 0)!r}"
            case _:
                return f"Removing the class {class_!r}"


def what_changed(before: Iterable[int], now: ClassList) -> str:
    """Say in words how classes differ from those of some ids, as in "The class 'fish' was added"."""
    before = list(before)
    words = [f"The class {now.name(class_)!r} was added" for class_ in now.ids if class_ not in before]
    for class_ in before:
        end = now.resolve(class_)
        if end is None:
            words.append(f"The class {now.name(class_)!r} was removed")
        elif end != class_:
            words.append(f"The class {now.name(class_)!r} was merged into {now.name(end)!r}")
    return "; ".join(words)
