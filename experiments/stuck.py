"""Why do some runs on all data stay low? Vary one thing at a time; results/stuck.json.

First the initial models: what each confuses most, and how sure it is, by seed, with the same labels and another
training, and with pooling before dropout. Then the first iterations of the runs that stay low, with pooling first;
of the labels of a low run with the training of a good one; of two more seeds as they are; and of one without
Monte-Carlo dropout. Runs to compare with are in results/paper.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from confusions import confusions
from deepbass.core.config import Config
from deepbass.data.load import Data, load
from deepbass.paper.rows import choose
from side_runs import Side

RESULTS = Path(__file__).parents[1] / "results" / "stuck.json"
_KEPT = 3  # confusions of a model, the largest first

AS_IT_IS, SWAPPED, LABELS_OF = "as it is", "pooling, then dropout", "labels of seed"
_INITIAL, _FREE, _ASKED = "labels-100", "all-data-100", "all-data-max-entropy"
_RUNS = [  # row, what is varied, seed, iterations
    *((_INITIAL, AS_IT_IS, seed, 0) for seed in range(10)),
    *((_INITIAL, f"{LABELS_OF} {labels}", seed, 0) for labels in (0, 2) for seed in range(5) if seed != labels),
    *((_INITIAL, SWAPPED, seed, 0) for seed in range(3)),
    (_FREE, f"{LABELS_OF} 0", 1, 40),
    (_FREE, SWAPPED, 0, 50),
    (_ASKED, SWAPPED, 2, 50),
    ("no-mc-100", AS_IT_IS, 0, 30),
    (_FREE, AS_IT_IS, 2, 90),
    (_FREE, AS_IT_IS, 3, 50),
]


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path, help="a folder for the run directories; with the same one, runs go on")
    parser.add_argument("--workers", type=int, default=2, help="runs side by side, with one thread each if above 1")
    parser.add_argument("--row", help="only the runs of one row, as in labels-100")
    options = parser.parse_args()

    data = load("mnist", Config())
    side = Side(
        RESULTS,
        threads=1 if options.workers > 1 else None,
        work=options.work,
        look=lambda run, settings: {"confusions": largest(run, data, settings.get("model"))},
    )
    with ThreadPoolExecutor(options.workers) as pool:
        jobs = [pool.submit(_run, side, *run) for run in _RUNS if options.row in (None, run[0])]
    for job in jobs:
        job.result()


def largest(run: Path, data: Data, model: str | None) -> list[dict[str, Any]]:
    """List what a model takes for what most often: true class, answer, how many, and how sure it is on average."""
    found = confusions(run, data, model)
    counts = np.array(found["counts"])
    np.fill_diagonal(counts, 0)
    pairs = [divmod(int(cell), len(counts)) for cell in np.argsort(-counts.ravel(), kind="stable")[:_KEPT]]
    return [
        {"true": true, "answer": answer, "count": int(counts[true, answer]), "sure": found["sure"][true][answer]}
        for true, answer in pairs
    ]


def _run(side: Side, row: str, what: str, seed: int, iterations: int) -> None:
    settings: dict[str, Any] = dict(choose("all", [row])[0].cell("full", seed).settings)
    if iterations:
        settings["iterations"] = iterations
    name = f"{row}, {what}"
    if what == SWAPPED:
        side.run(name, "mnist", {**settings, "model": "pool_then_drop.py:build"})
    elif what.startswith(LABELS_OF):
        side.run(name, "mnist", settings, ["varied.py", f"labels-of={what.rpartition(' ')[2]}"])
    else:
        side.run(name, "mnist", settings)


if __name__ == "__main__":
    main()
