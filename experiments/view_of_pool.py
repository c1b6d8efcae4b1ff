"""In how many dimensions the pool is looked at: what learning from it adds then, on data of several kinds.

    OMP_NUM_THREADS=1 python experiments/view_of_pool.py [NAME ...] [--seeds 2] [--table] [--folder FOLDER]

The data, pools and labels of experiments/many_kinds.py (which see for FOLDER): heads on the same labels, random and
typical ones, with what the pool teaches as far as it is proven to help, in 128 and in 256 of its main directions.
Written to results/view-of-pool.json, a name and a seed at a time: what is there is not computed again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import many_kinds
from fill_in import fill_in
from many_kinds import LABELS, WORDS

RESULTS = Path(__file__).parent.parent / "results" / "view-of-pool.json"
NAMES = [WORDS, "cifar-10 in grey", "fashion-mnist", "letters", "texture", "segment", "vowel", "phoneme", "german"]
DIMENSIONS = (128, 256)


def measured(name: str, seed: int, folder: Path | None) -> dict[str, Any]:
    """Learn from the same labels in both."""
    found: dict[str, Any] = {}
    for dimensions in DIMENSIONS:
        with mock.patch("deepbass.learn.pool_view.DIMENSIONS", dimensions):
            found[str(dimensions)] = many_kinds.measured(name, seed, folder)
    return found


def table(found: dict[str, Any]) -> str:
    """Lay out means over seeds and both kinds of labels, in percent."""
    lines = [
        "| data | labels | the same labels alone | 128 dimensions | 256 dimensions | pools |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, runs in found.items():
        for count in map(str, LABELS):
            drawn = [(run, how) for run in runs.values() for how in run["128"].get(count, ())]
            if drawn:
                alone = np.mean([run["128"][count][how]["alone"] for run, how in drawn])
                with_pool = [
                    np.mean([run[str(dimensions)][count][how]["pool, proven"] for run, how in drawn])
                    for dimensions in DIMENSIONS
                ]
                cells = " | ".join(f"{value:.1f}" for value in (alone, *with_pool))
                lines.append(f"| {name} | {count} | {cells} | {len(runs)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    fill_in(__doc__, RESULTS, NAMES, 2, measured, table)
