"""Check the first of the paper's numbers: MNIST's initial model, and the toy with questions and pseudo-labels.

Finished runs are kept in results/paper-numbers.json and not run again. Ends with code 1 if a mean is out of its range.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from side_runs import Side

RESULTS = Path(__file__).parents[1] / "results" / "paper-numbers.json"

# name: data, settings, seeds, the paper's figure, how far our mean may lie from it
CHECKS: dict[str, tuple[str, dict[str, Any], int, float, float]] = {
    "MNIST, 100 labels, initial model": ("mnist", {"iterations": 0}, 10, 82.03, 1.95),
    "toy, active semi-supervised, 8 to 80 labels": ("toy", {}, 10, 90.33, 1.5),
}


def main() -> None:
    """Run what is missing, print a table, and compare with the paper."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2, help="runs side by side, with one thread each if above 1")
    options = parser.parse_args()

    side = Side(RESULTS, threads=1 if options.workers > 1 else None)
    with ThreadPoolExecutor(options.workers) as pool:
        jobs = [
            pool.submit(side.run, name, data, {**settings, "seed": seed})
            for name, (data, settings, seeds, _, _) in CHECKS.items()
            for seed in range(seeds)
        ]
    for job in jobs:
        job.result()

    failed = False
    for name, (_, _, _, paper, margin) in CHECKS.items():
        ours = [100 * row["accuracy"] for row in side.read()["runs"] if row["name"] == name]
        mean, spread = statistics.mean(ours), statistics.stdev(ours)
        within = abs(mean - paper) <= margin
        failed |= not within
        verdict = "within" if within else "NOT WITHIN"
        print(f"{name}: {mean:.2f} (sd {spread:.2f}, n = {len(ours)}), paper {paper}, {verdict} {margin}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
