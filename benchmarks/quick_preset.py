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

PRESET = "the preset"

# 100 labels at the start and 200 more by the end, all of them
CANDIDATES: dict[str, dict[str, Any]] = {
    PRESET: preset("quick", "mnist"),
    "8,000 samples, 40 iterations, all questions in the first 20": {
        "pool": 8_000,
        "iterations": 40,
        "ask_every": 1,
        "budget": 300,
        "passes_pool": 3,
    },
    "5,000 samples, 60 iterations, 2 passes": {"pool": 5_000, "iterations": 60, "ask_every": 3, "passes_pool": 2},
    "6,000 samples, 60 iterations": {"pool": 6_000, "iterations": 60, "ask_every": 3, "passes_pool": 3},
    "10,000 samples, 40 iterations": {"pool": 10_000, "iterations": 40, "ask_every": 2, "passes_pool": 3},
    "10,000 samples, 60 iterations, 1 pass": {"pool": 10_000, "iterations": 60, "ask_every": 3, "passes_pool": 1},
    "10,000 samples, 40 iterations, batch 64": {
        "pool": 10_000,
        "iterations": 40,
        "ask_every": 2,
        "passes_pool": 3,
        "batch_size": 64,
    },
    "6,000 samples, 60 iterations, batch 64": {
        "pool": 6_000,
        "iterations": 60,
        "ask_every": 3,
        "passes_pool": 3,
        "batch_size": 64,
    },
    "20,000 samples, 20 iterations, batch 64": {
        "pool": 20_000,
        "iterations": 20,
        "ask_every": 1,
        "passes_pool": 2,
        "batch_size": 64,
    },
}
SHARED = {"passes_known": 20, "initial_epochs": 50}  # by all but the preset, which speaks for itself


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
                side.run, name, "mnist", {**(SHARED if name != PRESET else {}), **CANDIDATES[name], "seed": seed}
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
