"""Small grey pictures with few labels: neighbours as a network that taught itself sees them, and by their pixels.

    python experiments/neighbours.py [NAME ...] [--seeds 2] [--table]    NAME: "letters, 20 labels" (small_pictures.py)

Pictures of the training part, 20,000 of MNIST and 5,000 of others, judged by 3,000 further ones; 20 iterations, and all
else as by default. Written to results/neighbours.json: what is there already is not computed again.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import deepbass
from fill_in import fill_in
from small_pictures import KINDS

RESULTS = Path(__file__).parent.parent / "results" / "neighbours.json"
POOLS, POOL, JUDGED_BY = {"mnist": 20_000}, 5_000, 3_000
NAMES = [f"{kind}, {labels} labels" for labels in (20, 100) for kind in KINDS]
WAYS = ("pixels", "self-taught")


def measured(name: str, seed: int, folder: Path | None) -> dict[str, Any]:
    """Learn from pictures with the neighbours of either kind."""
    kind, labels = name.removesuffix(" labels").rsplit(", ", 1)
    pool = POOLS.get(kind, POOL)
    X, y = KINDS[kind](pool + JUDGED_BY, seed)
    found: dict[str, Any] = {}
    for way in WAYS:
        with tempfile.TemporaryDirectory() as place:
            result = deepbass.run(
                X[:pool], y[:pool], X_val=X[pool:], y_val=y[pool:], budget=int(labels), seed=seed, iterations=20,
                features="pixels", neighbours=way, out=Path(place) / "run",
            )  # fmt: skip
        last = result.history[-1]
        found[way] = {"accuracy": result.accuracy, "plain": last["plain_accuracy"], "worth": result.worth}
        print(name, seed, way, found[way], flush=True)
    return found


def table(found: dict[str, Any]) -> str:
    """Lay out the means over seeds, in percent."""
    lines = ["| pictures | plain | by pixels | by what it taught itself | runs |", "|---|---:|---:|---:|---:|"]
    for name, runs in found.items():
        ones = list(runs.values())
        means = [f"{100 * np.mean([one['self-taught']['plain'] for one in ones]):.1f}"]
        means += [f"{100 * np.mean([one[way]['accuracy'] for one in ones]):.1f}" for way in WAYS]
        lines.append(f"| {name} | {' | '.join(means)} | {len(ones)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    fill_in(__doc__, RESULTS, NAMES, 2, measured, table)
