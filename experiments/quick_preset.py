"""Compare settings for the quick preset on MNIST: what accuracy does each reach with 300 labels, and at what cost?

Finished runs are kept in results/quick-preset.json and not run again. Seconds are the sum over all parts of a run;
compare them within one invocation only, for machines differ and are busy.
"""

from __future__ import annotations

import argparse
import json
import statistics
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from deepbass.core.presets import preset
from side_runs import Side, machine

RESULTS = Path(__file__).parents[1] / "results" / "quick-preset.json"

PRESET = "the preset: 12,000 samples, 100 iterations"

# 100 labels at the start and 200 more by the end; about the same work each
CANDIDATES: dict[str, dict[str, Any]] = {
    PRESET: preset("quick", "mnist"),
    "8,000 samples, 120 iterations": {"pool": 8_000, "iterations": 120, "ask_every": 6},
    "12,000 samples, 90 iterations": {"pool": 12_000, "iterations": 90, "ask_every": 4},
    "20,000 samples, 60 iterations": {"pool": 20_000, "iterations": 60, "ask_every": 3},
    "30,000 samples, 40 iterations": {"pool": 30_000, "iterations": 40, "ask_every": 2},
}
SHARED = {"budget": 300, "passes_pool": 3, "passes_known": 20, "initial_epochs": 50}


def main() -> None:
    """Run what is missing and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="names of candidates, all if left out")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=1, help="runs side by side, with one thread each if above 1")
    options = parser.parse_args()

    side = Side(RESULTS, threads=1 if options.workers > 1 else None)
    names = options.only or list(CANDIDATES)
    jobs = [(name, seed) for seed in range(options.seeds) for name in names]
    with ThreadPoolExecutor(options.workers) as pool:
        started = [
            pool.submit(
                side.run, name, "mnist", {**({} if name == PRESET else SHARED), **CANDIDATES[name], "seed": seed}
            )
            for name, seed in jobs
        ]
    for job in started:
        job.result()

    rows = side.read()["runs"]
    for name in names:
        mine = [row for row in rows if row["name"] == name]
        if mine:
            accuracies = [100 * row["accuracy"] for row in mine]
            seconds = statistics.mean(row["seconds"] for row in mine)
            print(f"{name:42} {statistics.mean(accuracies):6.2f} % (n = {len(mine)}) {seconds:6.0f} s")
    print(json.dumps(machine()))


if __name__ == "__main__":
    main()
