"""A timed piece of work, and the clock for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from deepbass.core.belief import Floats
from deepbass.core.labels import Ids

IN_WHOLE = "in whole"


@dataclass(frozen=True)
class Timed:
    """Seconds that a piece took, and how often the piece counts: 10 where one of ten like passes was timed."""

    seconds: float
    times: int = 1
    how: str = IN_WHOLE
    facts: dict[str, Any] = field(default_factory=dict)


class Side(Protocol):
    """One implementation in its own process: it can be asked for answers, and to do a piece of work by the clock."""

    @property
    def about(self) -> dict[str, Any]:
        """What should be known of it: threads, and which of its own ways it takes."""

    @property
    def pieces(self) -> dict[str, Callable[[], Timed]]:
        """What it can do, by name."""

    def answers(self, what: str, ids: Ids, passes: int) -> Floats:
        """Average class probabilities over dropout passes; zero passes mean one with dropout off."""


def clocked(work: Callable[[], object], times: int = 1, how: str = IN_WHOLE) -> Timed:
    """Do a piece of work by the clock."""
    start = time.perf_counter()
    work()
    return Timed(time.perf_counter() - start, times, how)


def quickest(ways: dict[str, Callable[[], object]], tries: int = 2) -> tuple[str, dict[str, float]]:
    """Find the quickest of several ways, each warmed up first, so that a rival is seen at its best."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        way()
    for _ in range(tries):
        for name, way in ways.items():
            seconds[name].append(clocked(way).seconds)
    best = {name: float(np.min(taken)) for name, taken in seconds.items()}
    return min(best, key=lambda name: best[name]), best
