"""How much work a cell is, roughly: for the time left, never for a result."""

from __future__ import annotations

from deepbass.bench.cells import Cell
from deepbass.core.config import Config

# one presentation in training, one dropout pass, in microseconds of one core; and what an iteration costs besides
_MICROSECONDS = {"mnist": (140.0, 45.0, 6e5), "toy": (4.0, 1.5, 3e4)}
_SIZE = {"mnist": 60_000, "toy": 1_000}
_START = 4e6  # a process and its imports


def cost(cell: Cell) -> tuple[float, float]:
    """Estimate the work before the first iteration and the work of one iteration, in seconds of one core."""
    config: Config = cell.config
    train, forward, other = _MICROSECONDS.get(cell.source, _MICROSECONDS["mnist"])
    pool = config.pool or _SIZE.get(cell.source, 1_000)
    known = config.initial * config.copies
    begin = _START + config.initial_epochs * known * train
    guesses = 0 if config.admit == "none" else pool
    asked = 0 if config.acquire == "none" else config.iterations // config.ask_every * config.ask_count
    presented = known + asked / 2 * config.copies + guesses
    passes = pool * (0.65 * config.passes_pool + 0.3) + config.initial * config.passes_known
    return begin / 1e6, (presented * config.epochs * train + passes * forward + other) / 1e6


def whole_cost(cell: Cell) -> float:
    """Estimate the work of a cell from its start to its end."""
    begin, each = cost(cell)
    return begin + cell.config.iterations * each


def done_cost(cell: Cell, iteration: int, share: float) -> float:
    """Estimate the work done after some iterations; at -1 a share of the initial training is done."""
    begin, each = cost(cell)
    return begin * share if iteration < 0 else begin + iteration * each
