"""What holds now, of all that people said: a fold over the acts, taken up one at a time, with nothing else needed.

The rules, on one item:

- What a person said last counts: a class, "not now", or "cannot tell". Acts taken back are as if they never were.
- The last settlement beats everything. Else the label is what all agree on; where people differ there is none.
- A label brought along (by the source or an import) holds as long as nobody here gave one; it is no opinion to settle.
- An act means the class that its own became (`ClassList.resolve`). An answer of a class that was removed stays written
  down, but does not count: the item is asked again, also of who gave it.
- Many labels given at one look (`AT_ONCE`) are labels like others, but no opinions: they are compared with nobody's,
  and nobody is asked for a second one.
- An item of the audit reserve is never trained on. Whether it counts for the audit: see `audit.in_audit`.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Set
from itertools import takewhile
from typing import Literal, Self, TypeVar

from deepbass.label.acts import ANSWERS, ASKED, AT_ONCE, BROUGHT, Act, Kind
from deepbass.label.class_list import ClassList
from deepbass.label.item_state import NOTHING, ItemActs, ItemState

Only = Literal["flagged", "unsure", "skipped"]

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Ledger:
    """Takes acts in the order of their ids. An act costs the same however many there were; it may be taken twice."""

    def __init__(self, reserve: Collection[int] = (), classes: ClassList | None = None) -> None:
        """Begin without an act; without ``classes`` every class means itself."""
        self.reserve = frozenset(reserve)
        self.classes = classes
        self.last = 0  # the id of the newest act taken
        self.reopened = 0  # rises whenever an item that was known may no longer be: an undo, or other classes
        self._classes_named = 0  # one more than the highest class of any act
        self._acts: dict[str, Act] = {}  # by uid; undos are not among them
        self._undone: set[str] = set()
        self._order: list[Act] = []
        self._order_of: dict[str, list[Act]] = {}  # by annotator
        self._undoable: dict[str, list[Act]] = {}
        self._begin()

    def _begin(self) -> None:
        """Set all that depends on what acts mean to what it is without any."""
        self._of_item: dict[int, ItemActs] = {}
        self._holds: dict[int, ItemState] = {}
        self._done: dict[str, set[int]] = {}
        self._known: set[int] = set()
        self._disputed: set[int] = set()
        self._flagged: set[int] = set()
        self._vetoed: dict[int, frozenset[int]] = {}
        self._training: dict[int, int] = {}
        self._audit: dict[int, int] = {}
        self._by_class: Counter[int] = Counter()
        self._training_by_class: Counter[int] = Counter()
        self._by_annotator: Counter[str] = Counter()
        self._by_kind: Counter[Kind] = Counter()
        self._answered: Counter[str] = Counter()
        self._seconds: list[float] = []  # sorted

    @classmethod
    def of(cls, acts: Iterable[Act], reserve: Collection[int] = (), classes: ClassList | None = None) -> Self:
        """Fold all acts there are."""
        ledger = cls(reserve, classes)
        for act in acts:
            ledger.take(act)
        return ledger

    def reclass(self, classes: ClassList) -> None:
        """See all acts in the light of other classes."""
        meant = [self._resolve(class_) for class_ in range(self._classes_named)]
        self.classes = classes
        if meant == [self._resolve(class_) for class_ in range(self._classes_named)]:
            return  # a new name or a new class: what was said means what it meant
        self._begin()
        for act in self._order:
            if act.uid not in self._undone:
                self._count(act, 1)
        self.reopened += 1

    def take(self, act: Act) -> None:
        """Take up the next act. One that is not newer than the newest taken was taken before: nothing happens."""
        if act.id <= self.last:
            return
        self.last = act.id
        if act.class_ is not None:
            self._classes_named = max(self._classes_named, 1 + act.class_)
        if act.kind != "undo":
            self._acts[act.uid] = act
            self._order.append(act)
            self._order_of.setdefault(act.annotator, []).append(act)
            if act.why not in BROUGHT:
                self._undoable.setdefault(act.annotator, []).append(act)
            self._count(act, 1)
            return
        undone = self._acts.get(act.undoes or "")
        if undone is not None and undone.uid not in self._undone:
            self._undone.add(undone.uid)
            self._count(undone, -1)

    # one item

    def standing(self, item: int, annotator: str) -> Act | None:
        """Tell what a person said last about an item: a label, a skip, or that they cannot tell."""
        acts = self._of_item.get(item)
        return acts.standing(annotator) if acts else None

    def label(self, item: int) -> int | None:
        """Tell the class of an item; None where nobody said one, or people differ and nobody settled it."""
        return self._holds.get(item, NOTHING).label

    def holds(self, item: int) -> ItemState:
        """Tell all that holds on an item."""
        return self._holds.get(item, NOTHING)

    def answers(self, item: int, *, brought: bool = True) -> dict[str, int]:
        """Tell the class that each annotator gives an item; with or without what was brought along."""
        acts = self._of_item.get(item)
        labels = acts.standing_labels() if acts else {}
        return {who: class_ for who, (act, class_) in labels.items() if brought or act.why not in BROUGHT}

    def opinions(self, item: int) -> dict[str, int]:
        """Tell the class that each annotator gives an item who looked at it alone: what can be compared."""
        acts = self._of_item.get(item)
        labels = acts.standing_labels() if acts else {}
        return {who: class_ for who, (act, class_) in labels.items() if act.why not in BROUGHT | AT_ONCE}

    def known(self, item: int) -> bool:
        """Tell whether anybody's label stands, or a settlement: then there is nothing to ask, even if people differ."""
        return item in self._known

    def act(self, uid: str) -> Act | None:
        """Look up an act, also one taken back; undos are not kept."""
        return self._acts.get(uid)

    # all items

    def training_labels(self) -> dict[int, int]:
        """List what may be trained on, by item: never an audit item, one of the reserve, or one that is flagged."""
        return dict(sorted(self._training.items()))

    def audit_labels(self) -> dict[int, int]:
        """List what the model is measured with, by item."""
        return dict(sorted(self._audit.items()))

    def vetoes(self) -> dict[int, frozenset[int]]:
        """List the classes that items are not, until they have a label."""
        return dict(self._vetoed)

    def disagreements(self) -> list[int]:
        """List the items that people differ about and nobody settled."""
        return sorted(self._disputed)

    def flags(self) -> set[int]:
        """List the items whose last word on flags is that they have one."""
        return set(self._flagged)

    def known_items(self) -> Set[int]:
        """Show the items with a label or a settlement; grows and shrinks with the ledger."""
        return self._known

    # people

    def done_by(self, annotator: str) -> Set[int]:
        """Show the items that a person answered, skipped or cannot tell; grows and shrinks with the ledger."""
        return self._done.setdefault(annotator, set())

    def labels_by_person(self) -> dict[str, dict[int, int]]:
        """List the class that each person gives each item, for `agreements`: opinions alone."""
        table: dict[str, dict[int, int]] = {}
        for item in sorted(self._known):
            for annotator, class_ in self.opinions(item).items():
                table.setdefault(annotator, {})[item] = class_
        return table

    def last_of(self, annotator: str) -> Act | None:
        """Tell which act an undo by this person takes back: their newest that stands, but none brought along."""
        acts = self._undoable.get(annotator, [])
        while acts and acts[-1].uid in self._undone:
            acts.pop()
        return acts[-1] if acts else None

    def last_group_of(self, annotator: str) -> list[Act]:
        """Tell which acts an undo by this person takes back, oldest first: those that one click gave as a group.

        The page marks them by uids that are the same up to a dot.
        """
        last = self.last_of(annotator)
        if last is None:
            return []
        group, dot, _ = last.uid.rpartition(".")
        if not dot:
            return [last]
        of_group = takewhile(lambda act: act.uid.rpartition(".")[0] == group, reversed(self._undoable[annotator]))
        return [act for act in of_group if act.uid not in self._undone][::-1]

    def history(
        self,
        before: int | None = None,
        limit: int = 50,
        annotator: str | None = None,
        only: Only | None = None,
        wanted: Callable[[Act], bool] | None = None,
    ) -> list[Act]:
        """List acts that were not taken back, newest first, with ids below ``before``.

        ``only`` leaves those by which an item is flagged, skipped, or beyond its annotator, as of now; ``wanted`` those
        that it is true of.
        """
        acts = self._order if annotator is None else self._order_of.get(annotator, [])
        at = len(acts) if before is None else bisect_left(acts, before, key=_id)
        found: list[Act] = []
        while at > 0 and len(found) < limit:
            at -= 1
            act = acts[at]
            if wanted is not None and not wanted(act):
                continue
            if act.uid not in self._undone and (only is None or self._is(act, only)):
                found.append(act)
        return found

    # counts

    def uses(self, class_: int) -> int:
        """Count the items that somebody's label or a settlement says are of a class, also where others differ."""
        return sum(class_ == self.label(item) or class_ in self.answers(item).values() for item in self._known)

    @property
    def labels(self) -> int:
        """The number of items that have a label."""
        return self._by_class.total()

    @property
    def by_class(self) -> dict[int, int]:
        """The number of items with each label."""
        return _positive(self._by_class)

    @property
    def training_by_class(self) -> dict[int, int]:
        """The number of items of each class that may be trained on."""
        return _positive(self._training_by_class)

    @property
    def by_annotator(self) -> dict[str, int]:
        """The number of labels that stand, by who gave them; what the source brought is by "source"."""
        return _positive(self._by_annotator)

    @property
    def by_kind(self) -> dict[Kind, int]:
        """The number of labels, skips and "cannot tell" that stand, and of items flagged, vetoed and settled."""
        return _positive(self._by_kind)

    @property
    def answered(self) -> dict[str, int]:
        """The number of questions answered, by a class or by "cannot tell", by why they were asked."""
        return _positive(self._answered)

    @property
    def median_seconds(self) -> float | None:
        """The time that half of the labels took at most."""
        middle = len(self._seconds) // 2
        if not self._seconds:
            return None
        return (self._seconds[middle] + self._seconds[~middle]) / 2

    def _is(self, act: Act, only: Only) -> bool:
        if only == "flagged":
            return act.kind == "flag" and act.item in self._flagged and self._of_item[act.item].flags[-1] is act
        kind = "skip" if only == "skipped" else "unsure"
        return act.kind == kind and self.standing(act.item, act.annotator) is act

    def _resolve(self, class_: int) -> int | None:
        return class_ if self.classes is None else self.classes.resolve(class_)

    def _count(self, act: Act, sign: int) -> None:
        """Add what an act says (+1) or take it away again (-1), and see what holds on its item then."""
        if act.kind in ("label", "unsure") and act.why in ASKED:
            self._answered[act.why] += sign
        if act.kind == "label" and act.seconds is not None:
            if sign > 0:
                insort(self._seconds, act.seconds)
            else:
                del self._seconds[bisect_left(self._seconds, act.seconds)]

        acts = self._of_item.get(act.item)
        if acts is None:
            acts = self._of_item[act.item] = ItemActs(self._resolve)
        before = acts.standing(act.annotator)
        if sign > 0:
            acts.add(act)
        else:
            acts.remove(act)
        if act.kind in ANSWERS:
            self._restand(act.item, act.annotator, before, acts.standing(act.annotator))
        self._rehold(act.item, acts.holds(act.item in self.reserve))

    def _restand(self, item: int, annotator: str, before: Act | None, now: Act | None) -> None:
        for act, sign in ((before, -1), (now, 1)):
            if act is not None:
                self._by_kind[act.kind] += sign
                self._by_annotator[annotator] += sign * (act.kind == "label")
        done = self._done.setdefault(annotator, set())
        if now is None:
            done.discard(item)
        else:
            done.add(item)

    def _rehold(self, item: int, holds: ItemState) -> None:
        """Put what holds on an item into the place of what held before, in every list and count."""
        before = self._holds.get(item, NOTHING)
        if holds == before:
            return
        self._holds[item] = holds
        self.reopened += before.known and not holds.known
        for old, sign in ((before, -1), (holds, 1)):
            self._by_kind["flag"] += sign * old.flagged
            self._by_kind["veto"] += sign * bool(old.vetoed)
            self._by_kind["settle"] += sign * old.settled
            if old.label is not None:
                self._by_class[old.label] += sign
            if old.training is not None:
                self._training_by_class[old.training] += sign
        for chosen, among in (
            (holds.known, self._known),
            (holds.disputed, self._disputed),
            (holds.flagged, self._flagged),
        ):
            (among.add if chosen else among.discard)(item)
        _put(self._training, item, holds.training)
        _put(self._audit, item, holds.audit)
        _put(self._vetoed, item, holds.vetoed or None)


def _id(act: Act) -> int:
    return act.id


def _positive(counts: Counter[_Key]) -> dict[_Key, int]:
    return {key: count for key, count in counts.items() if count}


def _put(table: dict[int, _Value], item: int, value: _Value | None) -> None:
    if value is None:
        table.pop(item, None)
    else:
        table[item] = value
