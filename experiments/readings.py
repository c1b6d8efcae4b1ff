"""Where the paper can be read in two ways, try the other one too; results/readings.json.

*Pooling, then dropout*: the text does not say which comes first. With dropout before it, max pooling sees larger values
while training than in a pass without dropout, so such a pass is biased against the training; with dropout after it,
it is not.

*L2 on convolutions only*: the text on MNIST names the convolutional layers, that on the toy all layers.

*The same start*: the code that the authors published begins with the same weights in all layers of one shape.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from deepbass.paper.rows import choose
from side_runs import Side

RESULTS = Path(__file__).parents[1] / "results" / "readings.json"

SWAPPED, L2, SAME = "pooling, then dropout", "L2 on convolutions only", "the same start"
_MODELS = {SWAPPED: "pool_then_drop.py:build", SAME: "same_start.py:build"}
ROWS = {
    "100 labels": ("labels-100", "full"),
    "300 labels": ("labels-300", "full"),
    "100 labels and pseudo-labels, quick tier": ("all-data-100", "quick"),
    "100 labels and pseudo-labels, no MC dropout, quick tier": ("no-mc-100", "quick"),
}


def main() -> None:
    """Run what is missing and print the means. What the program itself does is in results/paper already."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", nargs="+", help="only these, as in labels-100")
    parser.add_argument("--reading", choices=[SWAPPED, L2, SAME], nargs="+", default=[SWAPPED, L2, SAME])
    parser.add_argument("--workers", type=int, default=2, help="runs side by side, with one thread each if above 1")
    options = parser.parse_args()

    side = Side(RESULTS, threads=1 if options.workers > 1 else None)
    with ThreadPoolExecutor(options.workers) as pool:
        jobs = [
            pool.submit(
                read_otherwise, side, reading, f"{name}: {reading}", choose("all", [row])[0].cell(tier, seed).settings
            )
            for seed in range(options.seeds)
            for reading in options.reading
            for name, (row, tier) in ROWS.items()
            if not options.rows or row in options.rows
        ]
    for job in jobs:
        job.result()
    for name in sorted({run["name"] for run in side.read()["runs"]}):
        ours = [100 * run["accuracy"] for run in side.read()["runs"] if run["name"] == name]
        print(f"{name}: {statistics.mean(ours):.2f} (n = {len(ours)})")


def read_otherwise(side: Side, reading: str, name: str, settings: Mapping[str, Any]) -> None:
    """Run some settings with the other reading."""
    if reading in _MODELS:
        side.run(name, "mnist", {**settings, "model": _MODELS[reading]})
    else:
        side.run(name, "mnist", dict(settings), ["varied.py", "l2=convolutions"])


if __name__ == "__main__":
    main()
