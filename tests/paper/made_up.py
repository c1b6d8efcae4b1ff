"""Results that were never computed, written with the real store."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deepbass.bench.cells import FINISHED, Cell, CellResult
from deepbass.bench.results import Results
from deepbass.core.randomness import generator
from deepbass.paper.rows import ROWS, Row, choose
from deepbass.paper.summary import Summary, summarise

SIDE = 40
VERSIONS = {"python": "3.11.7", "torch": "2.4.0", "deepbass": "0.1.0", "engine": "kernel"}


def row(name: str) -> Row:
    """Find a row by its name alone."""
    (found,) = choose("all", [name])
    return found


def record(name: str, run: int = 0, *, tier: str = "full", accuracy: float | None = None, **changed: Any) -> CellResult:
    """Make the record of a run that came out as the paper says, or as ``accuracy`` (percent) says."""
    cell = row(name).cell(tier, run)
    percent = row(name).paper.accuracy if accuracy is None else accuracy
    known = {
        "status": FINISHED,
        "started_at": "2024-01-01T00:00:00.000+00:00",
        "ended_at": "2024-01-01T01:00:00.000+00:00",
        "versions": VERSIONS,
        "seconds": {"train": 1800.0, "infer pool": 1800.0},
        "accuracy": percent / 100,
        "curve": {"validation_accuracy": _curve(cell, percent / 100)},
        "field_": field(cell) if cell.source == "toy" else None,
        **changed,
    }
    return CellResult(known.pop("cell", cell), **known)


def runs(name: str, accuracies: Sequence[float], tier: str = "full") -> list[CellResult]:
    """Make the runs of a row, one for each accuracy."""
    return [record(name, run, tier=tier, accuracy=accuracy) for run, accuracy in enumerate(accuracies)]


def matrix(count: int, tier: str = "full", names: Iterable[str] = ()) -> list[CellResult]:
    """Make all rows, or some, with so many runs each around what the paper reports; the quick tier does worse."""
    wanted, made = set(names) or {row.name for row in ROWS}, []
    for each in ROWS:
        rng = np.random.default_rng(zlib.crc32(f"{each.name} {tier}".encode()))
        sd = each.paper.sd or (2.0 if each.experiment == "toy" else 0.5)
        worse = 2.0 if tier == "quick" and each.experiment != "toy" else 0.0
        found = np.clip(rng.normal(each.paper.accuracy - worse, sd, count), 0, 99.9).round(2)
        if each.name in wanted:
            made += runs(each.name, list(found), tier)
    return made


def write(folder: Path, records: Iterable[CellResult]) -> Path:
    """Write records into a results folder."""
    results = Results.make(folder)
    for each in records:
        results.write(each)
    return folder


def read(folder: Path, records: Iterable[CellResult]) -> Summary:
    """Write records, read them back and gather them."""
    return summarise(Results.open(write(folder, records)).records())


def field(cell: Cell, side: int = SIDE) -> dict[str, Any]:
    """Make a decision field: a wave between the moons, steeper with more labels."""
    known = 80 if "active" in cell.row else cell.settings["initial"]
    ys, xs = np.meshgrid(np.linspace(-1.8, 1.8, side), np.linspace(-2.2, 2.2, side), indexing="ij")
    bend = generator(cell.run, 0, cell.row).normal(1.2, 0.3)
    steep = 4.0 if "semi" in cell.row else 2.0
    second = 1 / (1 + np.exp(steep * (ys - bend * np.sin(2.2 * xs) * np.exp(-(xs**2) / 2))))
    ids = generator(cell.run, 0, "made-up").permutation(1000)
    initial = [*ids[ids < 500][:4].tolist(), *ids[ids >= 500][:4].tolist()]
    return {
        "x": [-2.2, 2.2],
        "y": [-1.8, 1.8],
        "side": side,
        "second": base64.b64encode(zlib.compress(np.round(255 * second).astype(np.uint8).tobytes())).decode(),
        "known": sorted({*initial, *ids[:known].tolist()})[:known] if known > 8 else initial,
        "initial": initial,
    }


def _curve(cell: Cell, end: float) -> list[float]:
    iterations = cell.config.iterations if cell.source == "toy" else cell.settings.get("iterations", 200)
    if iterations == 0:
        return [end]
    rng = np.random.default_rng(zlib.crc32(cell.key.encode()))
    start = 0.9 if cell.settings["initial"] == 300 else 0.82
    rise = 1 - np.exp(-np.arange(iterations + 1) / (iterations / 8))
    noise = rng.normal(0, 0.0015, iterations + 1)
    values = start + (end - start) * rise + noise * rise
    values[-1] = end
    return [round(float(value), 6) for value in np.clip(values, 0, 1)]
