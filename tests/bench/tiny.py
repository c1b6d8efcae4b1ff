"""Tiny cells: seconds each, with questions, pseudo-labels and random draws. Run as a script, it runs their matrix."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from deepbass.bench.cells import Cell, CellResult
from deepbass.bench.results import Results
from deepbass.bench.runner import run_matrix

SETTINGS: dict[str, Any] = {
    "initial": 8, "iterations": 5, "ask_count": 2, "ask_every": 2, "admit": "step-wise", "acquire": "above-average",
    "passes_pool": 3, "passes_known": 4, "initial_epochs": 4, "device": "cpu",
}  # fmt: skip


def cell(row: str = "asking", run: int = 0, **settings: Any) -> Cell:
    """Make one tiny cell."""
    return Cell("tiny", row, "quick", run, "toy", {**SETTINGS, **settings, "seed": run})


def matrix(iterations: int = 5) -> list[Cell]:
    """Make two rows of one run, which share their initial model."""
    rows: dict[str, dict[str, Any]] = {"asking": {}, "guessing": {"acquire": "none"}}
    return [cell(row, iterations=iterations, **more) for row, more in rows.items()]


def outcome(record: CellResult | None) -> dict[str, Any]:
    """Collect what two equal cells share to the last bit."""
    assert record is not None
    same = ("cell", "status", "config", "labels", "accuracy", "curve", "field_", "error")
    return {name: getattr(record, name) for name in same}


def outcomes(results: Results, cells: list[Cell]) -> list[dict[str, Any]]:
    """Collect that of many cells."""
    return [outcome(results.read(one)) for one in cells]


if __name__ == "__main__":
    run_matrix(matrix(int(sys.argv[3])), Results.make(Path(sys.argv[1])), workers=int(sys.argv[2]))
