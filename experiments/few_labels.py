"""Small grey pictures with 20 labels, all of typical ones: with advice to the network, as by default, and without.

    python experiments/few_labels.py [NAME ...] [--seeds 2] [--table]     NAME: those of experiments/small_pictures.py

Pictures of the training part, 20,000 of MNIST and 5,000 of others, judged by 3,000 further ones; 20 iterations. Written
to results/few-labels.json: what is there already is not computed again.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import deepbass
from fill_in import fill_in
from small_pictures import KINDS

RESULTS = Path(__file__).parent.parent / "results" / "few-labels.json"
NAMES = ["mnist", "letters", "digits, small, turned, anywhere"]
POOLS, POOL, JUDGED_BY, LABELS = {"mnist": 20_000}, 5_000, 3_000, 20
WAYS = ("none", "auto")


def measured(name: str, seed: int, folder: Path | None) -> dict[str, Any]:
    """Learn from pictures without advice and with it."""
    pool = POOLS.get(name, POOL)
    X, y = KINDS[name](pool + JUDGED_BY, seed)
    found: dict[str, Any] = {}
    for way in WAYS:
        with tempfile.TemporaryDirectory() as place:
            result = deepbass.run(
                X[:pool], y[:pool], X_val=X[pool:], y_val=y[pool:], budget=LABELS, seed=seed, iterations=20,
                features="pixels", advice=way, out=Path(place) / "run",
            )  # fmt: skip
        last = result.history[-1]
        found[way] = {"accuracy": result.accuracy, "plain": last["plain_accuracy"], "worth": result.worth}
        print(name, seed, way, found[way], flush=True)
    return found


def table(found: dict[str, Any]) -> str:
    """Lay out the means over seeds, in percent, and how often advice was heard."""
    lines = ["| pictures | plain | no advice | default | advice heard | runs |", "|---|---:|---:|---:|---:|---:|"]
    for name, runs in found.items():
        ones = list(runs.values())
        means = [f"{100 * np.mean([one['none']['plain'] for one in ones]):.1f}"]
        means += [f"{100 * np.mean([one[way]['accuracy'] for one in ones]):.1f}" for way in WAYS]
        heard = sum(not any("not used, as neighbours" in line for line in one["auto"]["worth"]) for one in ones)
        lines.append(f"| {name} | {' | '.join(means)} | {heard} | {len(ones)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    fill_in(__doc__, RESULTS, NAMES, 2, measured, table)
