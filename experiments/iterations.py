"""Pictures from pixels: what more iterations are worth.

    python experiments/iterations.py [NAME ...] [--seeds 1] [--table]     NAME: those of experiments/small_pictures.py

5,000 pictures of the training part, judged by 3,000 others of it, 100 labels. Written to results/iterations.json: what
is there already is not computed again.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import deepbass
from fill_in import fill_in
from small_pictures import KINDS

RESULTS = Path(__file__).parent.parent / "results" / "iterations.json"
POOL, JUDGED_BY, LABELS = 5_000, 3_000, 100
ITERATIONS = (10, 20, 40)


def measured(name: str, seed: int, folder: Path | None) -> dict[str, float]:
    """Learn from pictures in so many iterations."""
    X, y = KINDS[name](POOL + JUDGED_BY, seed)
    found = {}
    for iterations in ITERATIONS:
        with tempfile.TemporaryDirectory() as place:
            result = deepbass.run(
                X[:POOL], y[:POOL], X_val=X[POOL:], y_val=y[POOL:], budget=LABELS, seed=seed, iterations=iterations,
                features="pixels", out=Path(place) / "run",
            )  # fmt: skip
        found[str(iterations)] = round(float(result.accuracy or 0), 6)
        print(name, seed, iterations, found[str(iterations)], flush=True)
    return found


def table(found: dict[str, Any]) -> str:
    """Lay out the means over seeds, in percent."""
    lines = [f"| pictures | {' | '.join(map(str, ITERATIONS))} | runs |", "|---|" + "---:|" * (len(ITERATIONS) + 1)]
    for name, runs in found.items():
        means = [f"{100 * np.mean([one[str(each)] for one in runs.values()]):.1f}" for each in ITERATIONS]
        lines.append(f"| {name} | {' | '.join(means)} | {len(runs)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    fill_in(__doc__, RESULTS, list(KINDS), 1, measured, table)
