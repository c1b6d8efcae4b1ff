"""All that was said about one item, and what of it holds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field

from deepbass.label.acts import ANSWERS, BROUGHT, Act
from deepbass.label.audit import in_audit


@dataclass(frozen=True)
class ItemState:
    """What holds on one item."""

    label: int | None = None
    training: int | None = None  # the label, if it may be trained on
    audit: int | None = None  # the label, if the model is measured with it
    known: bool = False  # somebody's label stands, or a settlement
    settled: bool = False
    disputed: bool = False
    flagged: bool = False
    vetoed: frozenset[int] = frozenset()
    note: str = ""  # the newest, whoever wrote it


NOTHING = ItemState()


@dataclass(slots=True)
class ItemActs:
    """The acts on one item that were not taken back, each list in the order of ids.

    An answer that names a class that was removed is kept, and hides what the person said before, but does not count.
    """

    resolve: Callable[[int], int | None]  # what an act's class stands for by now; None: it was removed
    by: dict[str, list[Act]] = field(default_factory=dict)  # answers of each annotator
    answers: list[Act] = field(default_factory=list)  # the same of all
    labels: list[Act] = field(default_factory=list)  # those of them that name a class
    flags: list[Act] = field(default_factory=list)
    vetoes: list[Act] = field(default_factory=list)
    settles: list[Act] = field(default_factory=list)
    notes: list[Act] = field(default_factory=list)

    def add(self, act: Act) -> None:
        """Add the newest act."""
        if act.kind in ANSWERS:
            self.by.setdefault(act.annotator, [])
        for acts in self._lists_of(act):
            acts.append(act)

    def remove(self, act: Act) -> None:
        """Take an act away, most often the newest."""
        for acts in self._lists_of(act):
            del acts[bisect_left(acts, act.id, key=lambda other: other.id)]

    def standing(self, annotator: str) -> Act | None:
        """Tell what a person said last, if it counts."""
        acts = self.by.get(annotator)
        return acts[-1] if acts and self._counts(acts[-1]) else None

    def standing_labels(self) -> dict[str, tuple[Act, int]]:
        """List the labels that stand, with the class that each means by now, by annotator."""
        found = {}
        for annotator, acts in self.by.items():
            if acts and acts[-1].kind == "label" and (class_ := self._class(acts[-1])) is not None:
                found[annotator] = acts[-1], class_
        return found

    def holds(self, reserved: bool) -> ItemState:
        """Fold the acts; ``reserved``: whether the item lies in the audit reserve."""
        labels = list(self.standing_labels().values())
        here = [(act, class_) for act, class_ in labels if act.why not in BROUGHT] or labels
        classes = sorted({class_ for _, class_ in here})
        settlement = self._class(self.settles[-1]) if self.settles else None
        settled = settlement is not None
        label = settlement if settled else classes[0] if len(classes) == 1 else None
        known = settled or bool(labels)
        flagged = bool(self.flags) and self.flags[-1].kind == "flag"
        audit = in_audit(self.labels, self.answers, reserved)
        return ItemState(
            label=label,
            training=None if audit or reserved or flagged else label,
            audit=label if audit else None,
            known=known,
            settled=settled,
            disputed=not settled and len(classes) > 1,
            flagged=flagged,
            vetoed=frozenset() if known else frozenset(self._classes(self.vetoes)),
            note=(self.notes[-1].note or "") if self.notes else "",
        )

    def _class(self, act: Act) -> int | None:
        return None if act.class_ is None else self.resolve(act.class_)

    def _classes(self, acts: list[Act]) -> list[int]:
        return [class_ for act in acts if (class_ := self._class(act)) is not None]

    def _counts(self, act: Act) -> bool:
        return act.class_ is None or self.resolve(act.class_) is not None

    def _lists_of(self, act: Act) -> list[list[Act]]:
        match act.kind:
            case "label":
                return [self.by[act.annotator], self.answers, self.labels]
            case "skip" | "unsure":
                return [self.by[act.annotator], self.answers]
            case "undo":
                return []
            case "flag" | "unflag" | "veto" | "settle" | "note" as kind:
                of_kind = {"veto": self.vetoes, "settle": self.settles, "note": self.notes}
                return [of_kind.get(kind, self.flags)]
