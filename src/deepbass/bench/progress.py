"""How far a matrix is, and how long it will take: plain numbers, shown by whoever likes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from deepbass.bench.cells import Cell
from deepbass.bench.cost import CellWork, Cost, cost


@dataclass
class Going:
    """A cell that is being run."""

    cell: Cell
    work: CellWork
    iteration: int = -1  # finished ones; -1 before the initial model, 0 with it
    of: int | None = None  # iterations in all, as far as is known
    share: float = 0.0  # of the initial training
    accuracy: float | None = None
    begun_at: float | None = None  # the work that was done already when this process took it up

    @property
    def done(self) -> float:
        """Estimate the work done so far."""
        return self.work.done(self.iteration, self.share)


@dataclass
class MatrixProgress:
    """What was finished before, what is done now, what waits. CellWork is in rough seconds of one core."""

    cells: int
    work: float  # of all cells that are to be run now
    finished_before: int = 0
    finished: int = 0
    failed: int = 0
    going: dict[str, Going] = field(default_factory=dict)
    _worked: float = 0.0  # by this process, in cells that have ended
    _ended: float = 0.0  # work of the cells that have ended
    cost: Cost = cost
    clock: Callable[[], float] = time.monotonic
    since: float | None = None

    @classmethod
    def of(cls, cells: list[Cell], finished_before: int, cost: Cost = cost) -> MatrixProgress:
        """Begin with the cells that are still to be run."""
        work = sum(cost(cell).whole for cell in cells)
        return cls(len(cells) + finished_before, work, finished_before, cost=cost)

    def start(self, cell: Cell) -> None:
        """Take note that a cell is begun, or gone on with."""
        self.since = self.clock() if self.since is None else self.since
        self.going[cell.key] = Going(cell, self.cost(cell))

    def report(
        self, cell: Cell, iteration: int, share: float = 0.0, accuracy: float | None = None, of: int | None = None
    ) -> None:
        """Take note of how far a cell is."""
        going = self.going[cell.key]
        going.iteration, going.share, going.of = iteration, share, of
        going.accuracy = accuracy if accuracy is not None else going.accuracy
        if going.begun_at is None:  # what an earlier process did is no measure of how fast this one is
            going.begun_at = going.done if iteration > 0 else 0.0

    def end(self, cell: Cell, finished: bool) -> None:
        """Take note that a cell has ended."""
        going = self.going.pop(cell.key)
        whole = going.work.whole
        self._worked += (whole if finished else going.done) - (going.begun_at or 0.0)
        self._ended += whole
        self.finished += finished
        self.failed += not finished

    @property
    def share(self) -> float:
        """Tell which part of the work that was to be done now is done."""
        return (self._ended + sum(going.done for going in self.going.values())) / self.work if self.work else 1.0

    @property
    def seconds_left(self) -> float | None:
        """Estimate the time left from the pace so far; None as long as there is none."""
        worked = self._worked + sum(going.done - (going.begun_at or 0.0) for going in self.going.values())
        if self.since is None or worked <= 0:
            return None
        left = self.work * (1.0 - self.share)
        return left * (self.clock() - self.since) / worked
