"""Labels for many items at once, because they are like one that has a label: which may be given, and which are offered.

Such a label is a person's, who has seen the items beside one another before giving it. It is trained on and exported as
any other (its source is "alike"). But it is no answer to a question and no opinion about one item: it does not count
for the pace of the audit, for second opinions or for kappa, and it never takes an item from somebody else.

Nothing is offered that is like an item of the audit reserve. Who labelled the neighbours of the very items that the
model is measured with would make it better there than elsewhere, and the measured error smaller than that on images to
come.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepbass.label.leases import Leases
from deepbass.label.ledger import Ledger
from deepbass.label.neighbours import Neighbours


@dataclass(frozen=True)
class Alike:
    """What is offered: items with their distances, nearest first, and their class; or why nothing is."""

    class_: int | None
    items: list[tuple[int, float]]
    why_none: str | None = None


def objection_to_alike(ledger: Ledger, leases: Leases, item: int, annotator: str, now: float) -> str | None:
    """Tell why an item cannot get the label of another one now, in words for the person."""
    if item in ledger.reserve:
        return "it is kept for test questions"
    if ledger.known(item):
        return "it has got a label meanwhile"
    lease = leases.on(item)
    if lease is not None and lease.annotator != annotator and lease.until > now:
        return f"{lease.annotator!r} is just being asked about it"
    return None


def find_alike(
    neighbours: Neighbours | None,
    ledger: Ledger,
    leases: Leases,
    gone: Collection[int],
    items: int,
    item: int,
    annotator: str,
    count: int,
    now: float,
) -> Alike:
    """Find what is likest to an item with a label, among the ``items`` there are, of what may get the same one."""
    standing = ledger.standing(item, annotator)
    said = standing.class_ if standing is not None and standing.kind == "label" else None
    class_ = ledger.label(item) if said is None or ledger.classes is None else ledger.classes.resolve(said)
    if class_ is None:
        return Alike(None, [], "It has no label yet that others could get.")
    if item in ledger.reserve:
        return Alike(
            class_, [], "It is a test question: who labels others like it would make the test easier than the task."
        )
    if neighbours is None or not neighbours.has(item):
        return Alike(class_, [], "The model has not seen it yet. Try again when it has trained.")
    there = _open_to(ledger, leases, gone, items, annotator, now)
    there[item] = False
    for other, refused in ledger.vetoes().items():
        there[other] &= class_ not in refused
    found = neighbours.nearest(item, np.flatnonzero(there), count)
    return Alike(class_, found, None if found else "All others have a label, or are with somebody else.")


def _open_to(
    ledger: Ledger, leases: Leases, gone: Collection[int], items: int, annotator: str, now: float
) -> NDArray[np.bool_]:
    """Mark what nobody labelled, nobody else has in hand, is not flagged, and was not put aside by this person."""
    taken = [lease.item for lease in leases.current(now) if lease.annotator != annotator]
    there = np.ones(items, dtype=np.bool_)
    for left_out in (ledger.known_items(), ledger.reserve, ledger.flags(), ledger.done_by(annotator), gone, taken):
        there[np.fromiter(left_out, dtype=np.int64, count=len(left_out))] = False
    return there
