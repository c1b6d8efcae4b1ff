"""The fake server's classes: ids are never used twice, and every change can be taken back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]


class RefusedChangeError(Exception):
    """A change that is not made, with the answer that the page gets."""

    def __init__(self, error: str, kind: str = "Classes", **more: object) -> None:
        super().__init__(error)
        self.answer = {"error": error, "kind": kind, **more}


@dataclass
class FakeClasses:
    """Living classes, what became of the others, and how to take changes back."""

    living: dict[int, str]
    labels: Callable[[int], int]  # counts the labels of a class
    merged: dict[int, int] = field(default_factory=dict)  # class -> the one that its labels count for
    ever: int = 0  # ids given so far
    backs: list[Callable[[], None]] = field(default_factory=list)  # each takes a change back

    def __post_init__(self) -> None:
        self.ever = len(self.living)

    def rows(self) -> list[Row]:
        """List living classes as the page gets them."""
        return [{"id": id_, "name": name} for id_, name in sorted(self.living.items())]

    def resolve(self, id_: int | None) -> int | None:
        """Find the living class that an old id stands for; None: it was removed."""
        while id_ in self.merged:
            id_ = self.merged[id_]
        return id_ if id_ in self.living else None

    def change(self, how: str, id_: int, sent: Row) -> Row:
        """Make a change as the page sends it, and give the answer."""
        ways = {"classes": self._add, "rename": self._rename, "merge": self._merge, "remove": self._remove}
        if how == "undo":
            self.backs[sent["change"]]()
            return {"classes": self.rows()}
        return ways[how](id_, sent)

    def _add(self, _: int, sent: Row) -> Row:
        name, there = sent["name"], self._id_of(sent["name"])
        if there is not None:
            return {"id": there, "name": name, "existing": True, "change": None}
        id_, self.ever = self.ever, self.ever + 1
        self.living[id_] = name

        def back() -> None:
            if n := self.labels(id_):
                raise RefusedChangeError(f"The class {name!r} has {n} labels by now: remove it instead.")
            del self.living[id_]

        return {"id": id_, "name": name, "existing": False, "change": self._note(back)}

    def _rename(self, id_: int, sent: Row) -> Row:
        name, old = sent["name"], self.living[id_]
        if self._id_of(name) not in (None, id_):
            raise RefusedChangeError(f"There is a class {name!r} already.")
        self.living[id_] = name
        return {"id": id_, "name": name, "change": self._note(lambda: self.living.update({id_: old}))}

    def _merge(self, id_: int, sent: Row) -> Row:
        labels, name = self.labels(id_), self.living.pop(id_)
        self.merged[id_] = sent["into"]

        def back() -> None:
            del self.merged[id_]
            self.living[id_] = name

        return {"change": self._note(back), "labels": labels}

    def _remove(self, id_: int, sent: Row) -> Row:
        labels = self.labels(id_)
        if sent["labels"] != labels:
            raise RefusedChangeError("The number of labels has changed.", "LabelsChanged", labels=labels)
        name = self.living.pop(id_)
        return {"change": self._note(lambda: self.living.update({id_: name})), "labels": labels}

    def _id_of(self, name: str) -> int | None:
        return next((id_ for id_, one in self.living.items() if one == name), None)

    def _note(self, back: Callable[[], None]) -> int:
        self.backs.append(back)
        return len(self.backs) - 1
