"""Who has which item in hand, and until when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from deepbass.label.acts import Why


@dataclass(frozen=True)
class Lease:
    """An item handed out to somebody."""

    item: int
    annotator: str
    why: Why
    until: float  # seconds since 1970


class Leases:
    """What is handed out, one lease per item at most, those of a person in the order in which they get the questions.

    A lease whose time is over is kept until somebody else takes the item: whoever comes back late finds it unchanged.
    """

    def __init__(self, leases: Iterable[Lease] = ()) -> None:
        self._leases: dict[int, Lease] = {lease.item: lease for lease in leases}
        self._of: dict[str, list[int]] = {}
        for lease in self._leases.values():
            self._of.setdefault(lease.annotator, []).append(lease.item)
        self._unsaved: dict[int, Lease | None] = {}

    def on(self, item: int) -> Lease | None:
        """Look up the lease on an item, also one whose time is over."""
        return self._leases.get(item)

    def of(self, annotator: str) -> list[Lease]:
        """List what a person has in hand, in order."""
        return [self._leases[item] for item in self._of.get(annotator, ())]

    def taken(self, item: int, now: float) -> bool:
        """Tell whether anybody has an item in hand."""
        lease = self._leases.get(item)
        return lease is not None and lease.until > now

    def current(self, now: float) -> list[Lease]:
        """List all leases whose time is not over."""
        return [lease for lease in self._leases.values() if lease.until > now]

    def hand_out(self, lease: Lease, *, first: bool = False) -> None:
        """Give an item to somebody, whoever had it before; ``first`` puts it before all they have."""
        self.give_back(lease.item)
        self._leases[lease.item] = lease
        theirs = self._of.setdefault(lease.annotator, [])
        theirs.insert(0 if first else len(theirs), lease.item)
        self._unsaved[lease.item] = lease

    def renew(self, item: int, until: float) -> Lease:
        """Give more time, at the same place; whoever took it along for longer keeps it for longer."""
        return self.end_at(item, max(until, self._leases[item].until))

    def end_at(self, item: int, until: float) -> Lease:
        """Give another time, at the same place."""
        self._leases[item] = self._unsaved[item] = lease = replace(self._leases[item], until=until)
        return lease

    def give_back(self, item: int) -> None:
        """Make an item free for others."""
        lease = self._leases.pop(item, None)
        if lease is not None:
            self._of[lease.annotator].remove(item)
            self._unsaved[item] = None

    def unsaved(self) -> dict[int, Lease | None]:
        """Hand over what changed since the last call, by item, for `Journal.save_leases`; None: given back."""
        changes, self._unsaved = self._unsaved, {}
        return changes
