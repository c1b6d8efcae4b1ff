"""Is the paper's pooling before or after its dropout? Try both; results/pool-order.json.

The text can be read both ways. With dropout before it, max pooling sees larger values while training than in a pass
without dropout, so such a pass is biased against the training; with dropout after it, it is not.
"""

from __future__ import annotations

import argparse
import statistics
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from deepbass.paper.rows import choose
from side_runs import Side

RESULTS = Path(__file__).parents[1] / "results" / "pool-order.json"

_SWAPPED = {"model": "pool_then_drop.py:build"}
_ROWS = {
    "100 labels": ("labels-100", "full"),
    "300 labels": ("labels-300", "full"),
    "100 labels and pseudo-labels, quick tier": ("all-data-100", "quick"),
    "100 labels and pseudo-labels, no MC dropout, quick tier": ("no-mc-100", "quick"),
}


def main() -> None:
    """Run what is missing and print the means. The order that the program has is in results/paper already."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2, help="runs side by side, with one thread each if above 1")
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()

    side = Side(RESULTS, threads=options.threads or (1 if options.workers > 1 else None))
    with ThreadPoolExecutor(options.workers) as pool:
        jobs = [
            pool.submit(side.run, f"{name}: pooling, then dropout", "mnist", settings)
            for seed in range(options.seeds)
            for name, settings in _settings(seed).items()
        ]
    for job in jobs:
        job.result()
    for name in _ROWS:
        ours = [100 * run["accuracy"] for run in side.read()["runs"] if run["name"].startswith(f"{name}:")]
        print(f"{name}: {statistics.mean(ours):.2f} (n = {len(ours)})")


def _settings(seed: int) -> dict[str, dict[str, Any]]:
    return {
        name: {**choose("all", [row])[0].cell(tier, seed).settings, **_SWAPPED} for name, (row, tier) in _ROWS.items()
    }


if __name__ == "__main__":
    main()
