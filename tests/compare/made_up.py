"""Comparisons that were never run, written with the real store; and one so tiny that it is run in seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from deepbass.bench.cells import FINISHED, Cell, CellResult
from deepbass.bench.results import COMPARE, Results
from deepbass.bench.runner import run_matrix
from deepbass.compare.methods import METHODS
from deepbass.compare.plan import EVERY_LABEL, Comparison, same_process
from deepbass.compare.standing import Outcome, read_outcome

# accuracy by method, number of labels (None: all) and run
Law = Callable[[str, int | None, int], float]

TINY: dict[str, Any] = {
    "initial": 8, "iterations": 25, "ask_count": 2, "ask_every": 2, "admit": "step-wise", "passes_pool": 3,
    "passes_known": 4, "initial_epochs": 3, "device": "cpu",
}  # fmt: skip
NASTY = '<script>alert(1)</script> | "><img src=x onerror=alert(1)>'


def comparison(**changed: Any) -> Comparison:
    """Make a plan of two runs of all methods."""
    plan: dict[str, Any] = {
        "data": "made up", "source": "made-up.csv", "settings": {}, "seed": 0, "labels": (50, 100),
        "plain_labels": (25, 50, 100, 200, 400), "methods": tuple(METHODS), "runs": 2, "pool": 1_000,
        "validation": 500, "classes": 4, "commonest": 0.3, "features": "table", "notes": (),
    }  # fmt: skip
    return Comparison(**{**plan, **changed})


def tiny(**changed: Any) -> Comparison:
    """Make a plan that is run in seconds, by real processes."""
    methods = ("logistic-regression", "deepbass")
    few: dict[str, Any] = {"labels": (16,), "plain_labels": (12, 16), "methods": methods, "runs": 1}
    return comparison(data="toy", source="toy", settings=TINY, **{**few, **changed})


def record(cell: Cell, accuracy: float, **changed: Any) -> CellResult:
    """Make the record of a finished cell."""
    labels = None if cell.tier == EVERY_LABEL else int(cell.tier)
    known: dict[str, Any] = {
        "ended_at": "2024-01-01T01:00:00.000+00:00",
        "versions": {"python": "3.11.7"},
        "seconds": {"train": 30.0, "infer pool": 30.0},
        "labels": labels or 1_000,
        "accuracy": accuracy,
        "balanced_accuracy": accuracy - 0.05,
        "macro_f1": accuracy - 0.1,
    }
    return CellResult(cell, FINISHED, "2024-01-01T00:00:00.000+00:00", **{**known, **changed})


def write(folder: Path, plan: Comparison, law: Law, others: Iterable[CellResult] = ()) -> Path:
    """Write a results folder in which every cell came out by a law, but for some."""
    results = Results.make(folder, COMPARE)
    results.keep_plan(plan.as_dict())
    for cell in plan.cells():
        labels = None if cell.tier == EVERY_LABEL else int(cell.tier)
        results.write(record(cell, law(cell.row, labels, cell.run)))
    for each in others:
        results.write(each)
    return folder


def outcome(folder: Path, plan: Comparison, law: Law) -> Outcome:
    """Write a comparison and read it back."""
    return read_outcome(Results.open(write(folder, plan, law)))


def run_tiny(results: Results, plan: Comparison, workers: int = 1) -> None:
    """Run a comparison in processes, as the command does."""
    run_matrix(plan.cells(), results, workers=workers, worker="deepbass.compare.compare_worker", together=same_process)


if __name__ == "__main__":
    run_tiny(Results.make(Path(sys.argv[1]), COMPARE), tiny())
