"""How much work a cell is, roughly: for the time left, never for a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from deepbass.bench.cells import Cell
from deepbass.core.config import Config

# one presentation in training, one dropout pass, in microseconds of one core; and what an iteration costs besides
_MICROSECONDS = {"mnist": (140.0, 45.0, 6e5), "toy": (4.0, 1.5, 3e4)}
_SIZE = {"mnist": 60_000, "toy": 1_000}
_START = 4e6  # a process and its imports


@dataclass(frozen=True)
class CellWork:
    """What a cell takes, in rough seconds of one core."""

    begin: float  # before the first iteration
    each: float  # an iteration
    iterations: int

    @property
    def whole(self) -> float:
        """Add it up from the start to the end."""
        return self.begin + self.iterations * self.each

    def done(self, iteration: int, share: float) -> float:
        """Tell how much is done after some iterations; at -1 a share of what comes before them is."""
        return min(self.whole, self.begin * share if iteration < 0 else self.begin + iteration * self.each)


Cost = Callable[[Cell], CellWork]


def cost(cell: Cell) -> CellWork:
    """Estimate the work of a run of the loop from its settings."""
    config: Config = cell.config
    train, forward, other = _MICROSECONDS.get(cell.source, _MICROSECONDS["mnist"])
    pool = config.pool or _SIZE.get(cell.source, 1_000)
    known = config.initial * config.copies
    begin = _START + config.initial_epochs * known * train
    guesses = 0 if config.admit == "none" else pool
    asked = 0 if config.acquire == "none" else config.iterations // config.ask_every * config.ask_count
    presented = known + asked / 2 * config.copies + guesses
    passes = pool * (0.65 * config.passes_pool + 0.3) + config.initial * config.passes_known
    each = presented * config.epochs * train + passes * forward + other
    return CellWork(begin / 1e6, each / 1e6, config.iterations)
