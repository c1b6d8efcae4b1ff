"""What the fake server remembers, in memory: acts, leases, and what follows from them."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime

from .fake_classes import FakeClasses, Row

ANSWERS = ("label", "skip", "unsure")
WITH_CLASS = ("label", "veto", "settle")


@dataclass
class FakeJournal:
    """Fold acts again at every question: there are few of them. Used by the server's thread and by tests."""

    names: list[str]
    classes: FakeClasses
    acts: list[Row] = field(default_factory=list)
    leases: dict[str, list[int]] = field(default_factory=dict)  # person -> items, in the order of asking
    lock: threading.RLock = field(default_factory=threading.RLock)

    def write(self, person: str, sent: Row) -> str | None:
        """Add an act once, or say why it is refused."""
        with self.lock:
            if any(act["uid"] == sent["uid"] for act in self.acts):
                return None
            if not 0 <= sent["item"] < len(self.names):
                return f"There is no item {sent['item']}."
            if sent["kind"] in WITH_CLASS and self.classes.resolve(sent["class"]) is None:
                return f"Class {sent['class']} was removed."
            undoes = sent.get("undoes")
            if sent["kind"] == "undo" and not any(act["uid"] == undoes for act in self.acts):
                return f"There is no act {undoes!r} to take back."
            held = self.leases.setdefault(person, [])
            act = {"class": None, "undoes": None, "saw_guess": False, "why": "rank", **sent}
            self.acts.append(
                {**act, "id": len(self.acts) + 1, "annotator": person, "at": datetime.now(UTC).isoformat()}
            )
            if sent["kind"] in ANSWERS and sent["item"] in held:
                held.remove(sent["item"])
            if sent["kind"] == "undo" and self.act(undoes)["kind"] in ANSWERS:
                held[:] = [sent["item"], *(item for item in held if item != sent["item"])]
            return None

    def act(self, uid: str | None) -> Row:
        """Find an act by its uid."""
        return next(act for act in self.acts if act["uid"] == uid)

    def live(self) -> list[Row]:
        """List acts that hold: neither taken back nor taking back, nor of a class that was removed."""
        with self.lock:
            undone = {act["undoes"] for act in self.acts}
            holds = [act for act in self.acts if act["kind"] != "undo" and act["uid"] not in undone]
            now = [{**act, "class": self.classes.resolve(act["class"])} for act in holds]
            return [act for act in now if act["class"] is not None or act["kind"] not in WITH_CLASS]

    def standing(self) -> dict[tuple[int, str], Row]:
        """Give everybody's last answer to every item."""
        return {(act["item"], act["annotator"]): act for act in self.live() if act["kind"] in ANSWERS}

    def labels(self) -> dict[int, int]:
        """Give the label of every item that people agree on, or that is settled."""
        said: dict[int, set[int]] = {}
        for (item, _), act in self.standing().items():
            if act["kind"] == "label":
                said.setdefault(item, set()).add(act["class"])
        agreed = {item: classes.pop() for item, classes in said.items() if len(classes) == 1}
        return agreed | {act["item"]: act["class"] for act in self.live() if act["kind"] == "settle"}

    def disagreements(self) -> list[int]:
        """List items with different labels that nobody has settled."""
        labelled = {item for (item, _), act in self.standing().items() if act["kind"] == "label"}
        return sorted(labelled - self.labels().keys())

    def flags(self) -> set[int]:
        """Give the items whose last flag has not been removed."""
        last = {act["item"]: act["kind"] for act in self.live() if act["kind"] in ("flag", "unflag")}
        return {item for item, kind in last.items() if kind == "flag"}

    def last_of(self, person: str) -> Row | None:
        """Give what undo would take back."""
        return next((act for act in reversed(self.live()) if act["annotator"] == person), None)

    def last_group_of(self, person: str) -> list[Row]:
        """Give what one undo would take back: acts whose uids are the same up to a dot."""
        last = self.last_of(person)
        group = str(last["uid"]).rpartition(".")[0] if last else ""
        same = [act for act in self.live() if group and act["uid"].startswith(f"{group}.")]
        return same or ([last] if last else [])

    def note(self, item: int) -> str:
        """Give the newest note on an item."""
        notes = [act["note"] for act in self.live() if act["kind"] == "note" and act["item"] == item]
        return str(notes[-1]) if notes else ""

    def next(self, person: str, count: int, holding: tuple[int, ...] = ()) -> list[int]:
        """Hand out items: those held already, then new ones, and at the very end what the person has skipped."""
        with self.lock:
            held = self.leases.setdefault(person, [])
            others = {item for name, items in self.leases.items() if name != person for item in items}
            standing = self.standing()
            done = {item for (item, _), act in standing.items() if act["kind"] != "skip"}
            skipped = {item for (item, who), act in standing.items() if act["kind"] == "skip" and who == person}
            free = [item for item in range(len(self.names)) if item not in done | others and item not in held]
            fresh = [item for item in free if item not in skipped] + [item for item in free if item in skipped]
            given = [item for item in [*held, *fresh] if item not in holding][:count]
            held.extend(item for item in given if item not in held)
            return given
