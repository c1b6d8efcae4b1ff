"""Whether the mean over dropout passes predicts better than one pass with dropout off, for the paper's CNN on pixels.

    OMP_NUM_THREADS=1 python experiments/predict_passes.py [DATA ...]

Pools of 2,000 pictures, three seeds: the first model, of 100 or 300 labels alone (50 epochs), and of 100 labels the one
after 10 iterations with the model's own labels. Each is judged on up to 2,000 validation pictures with dropout off, and
with 10, 30 and 100 passes. Written to results/predict-passes.json, a run at a time: what is there is not done again.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import deepbass
from deepbass.core.config import Config
from deepbass.data.load import load
from deepbass.files import replace_file
from deepbass.runs.predictor import Predictor

RESULTS = Path(__file__).parent.parent / "results" / "predict-passes.json"
ALL = ("digits", "mnist", "cifar-10")
POOL, JUDGED = 2_000, 2_000
CASES, PASSES, SEEDS = ((100, 0), (300, 0), (100, 10)), (0, 10, 30, 100), range(3)  # cases: labels, iterations


def measure(name: str, labels: int, iterations: int, seed: int) -> dict[str, float]:
    """Train one model, and judge it with every number of passes."""
    settings: dict[str, Any] = {
        "features": "pixels",
        "pool": None if name == "digits" else POOL,
        "seed": seed,
        "initial": labels,
        "initial_epochs": 50,
        "iterations": iterations,
        "ask_every": 1_000,
        "acquire": "none",
    }
    data = load(name, Config.of(settings))
    ids = np.random.default_rng(seed).permutation(len(data.validation))[:JUDGED]
    inputs, truth = data.validation.read(ids), data.validation_labels[ids]
    with tempfile.TemporaryDirectory() as folder:
        result = deepbass.run(name, preset="paper", out=Path(folder) / "run", **settings)
        predictor = Predictor.load(result.path)
        found = {passes: predictor.judge_inputs(inputs, passes=passes).argmax(1) == truth for passes in PASSES}
    return {str(passes): round(100 * float(right.mean()), 2) for passes, right in found.items()}


def table(results: dict[str, dict[str, float]]) -> str:
    """Write the rows of the table in docs/predict.md: means over the seeds, and the gain with its standard error."""
    rows = []
    for case in dict.fromkeys(key.rsplit(", ", 1)[0] for key in results):
        cells = [row for key, row in results.items() if key.startswith(f"{case}, ")]
        off, on = (np.array([row[passes] for row in cells]) for passes in ("0", "30"))
        gain = on - off
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else float("nan")
        rows.append(f"| {case} | {off.mean():.1f} % | {on.mean():.1f} % | {gain.mean():+.1f} ± {error:.1f} |")
    return "\n".join(rows)


def main(names: list[str]) -> None:
    """Measure what is not there yet."""
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for labels, iterations in CASES:
        for name in names or ALL:
            for seed in SEEDS:
                key = f"{name}, {labels} labels, {iterations} iterations, seed {seed}"
                if key not in results:
                    results[key] = measure(name, labels, iterations, seed)
                    print(key, results[key], flush=True)
                    replace_file(RESULTS, (json.dumps(results, indent=1) + "\n").encode())
    print(table(results))


if __name__ == "__main__":
    main(sys.argv[1:])
