"""What the workers of a cluster have done: how fast each is, what went over the wire, who holds the others up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from statistics import median
from typing import Any

import numpy as np

_SLOW = 0.5  # of the median speed: a worker that is slower holds the others up
_TELLING = 3  # pieces of work from which on this can be said


@dataclass
class WorkDone:
    """Work of one kind, by one worker."""

    messages: int = 0
    samples: int = 0  # passes over a sample, where there are several
    seconds: float = 0.0  # at work
    waited: float = 0.0  # of what the driver waited for it beyond that: the wire
    sent: int = 0  # bytes with the messages
    received: int = 0

    @property
    def speed(self) -> float:
        """Samples in a second of work."""
        return self.samples / self.seconds if self.seconds else 0.0

    def __iadd__(self, other: WorkDone) -> WorkDone:
        for each in fields(WorkDone):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))
        return self


@dataclass
class CrewLog:
    """All that was done since the start, by worker and kind of work."""

    tallies: dict[str, defaultdict[str, WorkDone]] = field(default_factory=dict)  # by worker, then by kind
    handed_out: int = 0  # bytes put into the object store: weights, and what has no file
    lost: int = 0  # workers that died

    def note(self, worker: str, kind: str, done: WorkDone) -> None:
        """Count a piece of work."""
        tally = self.tallies.setdefault(worker, defaultdict(WorkDone))[kind]
        tally += done

    def slow(self) -> dict[str, float]:
        """Name the workers that hold the others up, with their speed beside the median."""
        found: dict[str, float] = {}
        tallies = {
            worker: dict(each) for worker, each in list(self.tallies.items())
        }  # a display asks in its own thread
        for kind in {kind for each in tallies.values() for kind in each}:
            speeds = {
                worker: each[kind].speed
                for worker, each in tallies.items()
                if kind in each and each[kind].messages >= _TELLING
            }
            middle = median(speeds.values()) if len(speeds) > 1 else 0.0
            found |= {worker: speed / middle for worker, speed in speeds.items() if speed < _SLOW * middle}
        return found

    def figures(self) -> dict[str, Any]:
        """Write all down as plain values, for the run's directory and the report."""
        return {
            "workers": {
                worker: {kind: vars(tally) for kind, tally in each.items()} for worker, each in self.tallies.items()
            },
            "slow": self.slow(),
            "lost": self.lost,
            "handed_out": self.handed_out,
        }

    def summary(self, there: int) -> str:
        """Say in a line how many are there, how fast they are together, and who is slow."""
        whole = WorkDone()
        for each in list(self.tallies.values()):
            for tally in list(each.values()):
                whole += tally
        parts = [f"{there} worker{'' if there == 1 else 's'}"]
        if whole.seconds:
            parts.append(f"{whole.speed * there:,.0f} samples/s")
            parts.append(f"wire {whole.waited / (whole.waited + whole.seconds):.0%}")
        parts += [f"{self.lost} lost"] if self.lost else []
        parts += [f"{worker} slow ({speed:.0%})" for worker, speed in sorted(self.slow().items())]
        return " · ".join(parts)


def size_of(thing: Any) -> int:
    """Count the bytes of the arrays in a message."""
    if isinstance(thing, np.ndarray):
        return int(thing.nbytes)
    if isinstance(thing, Mapping):
        return sum(map(size_of, thing.values()))
    if isinstance(thing, list | tuple):
        return sum(map(size_of, thing))
    if is_dataclass(thing):
        return sum(size_of(getattr(thing, each.name)) for each in fields(thing))
    return 0
