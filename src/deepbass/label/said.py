"""All that was said about one item, and what of it holds."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from deepbass.label.acts import Act, Kind, Why

ANSWERS: frozenset[Kind] = frozenset({"label", "skip", "unsure"})  # one of them stands a person and item
ASKED: frozenset[Why] = frozenset({"spread", "rank", "audit", "twice"})  # a question was handed out
BROUGHT: frozenset[Why] = frozenset({"source", "import"})  # nobody was asked
CHOSEN: frozenset[Why] = frozenset({"browse", "guesses"})  # a person looked it up, maybe because of what the model says


@dataclass(frozen=True)
class Holds:
    """What holds on one item."""

    label: int | None = None
    training: int | None = None  # the label, if it may be trained on
    audit: int | None = None  # the label, if the model is measured with it
    known: bool = False  # somebody's label stands, or a settlement
    settled: bool = False
    disputed: bool = False
    flagged: bool = False
    vetoed: frozenset[int] = frozenset()


NOTHING = Holds()


@dataclass(slots=True)
class Said:
    """The acts on one item that were not taken back, each list in the order of ids."""

    by: dict[str, list[Act]] = field(default_factory=dict)  # answers of each annotator
    answers: list[Act] = field(default_factory=list)  # the same of all
    labels: list[Act] = field(default_factory=list)  # those of them that name a class
    flags: list[Act] = field(default_factory=list)
    vetoes: list[Act] = field(default_factory=list)
    settles: list[Act] = field(default_factory=list)

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
        """Tell what a person said last."""
        acts = self.by.get(annotator)
        return acts[-1] if acts else None

    def standing_labels(self) -> list[Act]:
        """List the labels that stand, one an annotator at most."""
        return [acts[-1] for acts in self.by.values() if acts and acts[-1].kind == "label"]

    def is_audit(self, reserved: bool) -> bool:
        """Tell whether the item belongs to the audit sample: that is decided by how it was first come upon, for ever.

        It does when its first label answered an audit question. It also does when it lies in the reserve, unless a
        person looked it up: then the model's guess may have drawn attention to it, and the draw would not be
        independent of the model. Labels brought along are.
        """
        if self.labels and self.labels[0].why == "audit":
            return True
        return reserved and bool(self.answers) and self.answers[0].why not in CHOSEN

    def holds(self, reserved: bool) -> Holds:
        """Fold the acts; ``reserved``: whether the item lies in the audit reserve."""
        labels = self.standing_labels()
        here = [act for act in labels if act.why not in BROUGHT] or labels
        classes = sorted({act.class_ for act in here if act.class_ is not None})
        settled = bool(self.settles)
        label = self.settles[-1].class_ if settled else classes[0] if len(classes) == 1 else None
        known = settled or bool(labels)
        flagged = bool(self.flags) and self.flags[-1].kind == "flag"
        audit = self.is_audit(reserved)
        return Holds(
            label=label,
            training=None if audit or reserved or flagged else label,
            audit=label if audit else None,
            known=known,
            settled=settled,
            disputed=not settled and len(classes) > 1,
            flagged=flagged,
            vetoed=frozenset() if known else frozenset(act.class_ for act in self.vetoes if act.class_ is not None),
        )

    def _lists_of(self, act: Act) -> list[list[Act]]:
        match act.kind:
            case "label":
                return [self.by[act.annotator], self.answers, self.labels]
            case "skip" | "unsure":
                return [self.by[act.annotator], self.answers]
            case "flag" | "unflag":
                return [self.flags]
            case "veto":
                return [self.vetoes]
            case "settle":
                return [self.settles]
            case "undo":
                return []
