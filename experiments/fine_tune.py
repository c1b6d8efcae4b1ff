"""Fine-tuning the last block of EfficientNet-Lite0 beside the linear head on its features, on CIFAR-10.

    OMP_NUM_THREADS=1 python experiments/fine_tune.py

The first 2,000 training pictures, of which 300 or 1,000 have a label, and the first 1,000 test pictures; three draws of
the labels, no questions and no pseudo-labels. Rate and epochs were chosen with `--choose`, which judges on 500
training pictures that are not trained on. Written to results/fine-tune.json, a run at a time.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import deepbass
from deepbass.data.source import Source
from deepbass.data.sources import find_source
from deepbass.files import replace_file

RESULTS = Path(__file__).parent.parent / "results" / "fine-tune.json"
POOL, JUDGED, LABELS, SEEDS = 2_000, 1_000, (300, 1_000), range(3)
MODULE = "deepbass.features.fine_tuning"
TUNED: dict[str, Any] = {
    "features": f"{MODULE}:maps",
    "model": f"{MODULE}:last_block",
    "copies": 1,
    "batch_size": 32,
    "l2": 0.0,
}
BEST = {"learning_rate": 3e-4, "initial_epochs": 20}  # the best of the six that --choose tried
TRIED = [{"learning_rate": rate, "initial_epochs": epochs} for epochs in (10, 20) for rate in (1e-4, 3e-4, 1e-3)]


def accuracy(train: tuple[Any, Any], test: tuple[Any, Any], labels: int, seed: int, **settings: Any) -> float:
    """Train one model on so many labels."""
    common: dict[str, Any] = {"start": "random", "initial": labels, "iterations": 0, "seed": seed, "admit": "none"}
    with tempfile.TemporaryDirectory() as folder:
        X, y = train
        result = deepbass.run(X, y, X_val=test[0], y_val=test[1], out=Path(folder) / "run", **common, **settings)
    return round(100 * result.accuracy, 2)


def table(results: dict[str, dict[str, float]]) -> str:
    """Write the rows of the table in docs/features.md: means over the draws, and the paired gain with its error."""
    rows = []
    for labels in LABELS:
        cells = [results[f"{labels} labels, seed {seed}"] for seed in SEEDS]
        head, tuned = (np.array([cell[way] for cell in cells]) for way in ("head", "fine-tuned"))
        gain = tuned - head
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        rows.append(f"| {labels:,} | {head.mean():.1f} % | {tuned.mean():.1f} % | {gain.mean():+.1f} ± {error:.1f} |")
    return "\n".join(rows)


def main() -> None:
    """Measure what is not there yet."""
    source = find_source("cifar-10", None)
    assert isinstance(source, Source) and source.validation is not None
    X, y = np.asarray(source.train.X)[:POOL], np.asarray(source.train.y)[:POOL]
    if "--choose" in sys.argv:
        for settings in TRIED:
            held = accuracy((X[500:], y[500:]), (X[:500], y[:500]), 300, 0, **TUNED, **settings)
            print(settings, held, flush=True)
        return
    test = np.asarray(source.validation.X)[:JUDGED], np.asarray(source.validation.y)[:JUDGED]
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for labels in LABELS:
        for seed in SEEDS:
            key = f"{labels} labels, seed {seed}"
            if key not in results:
                head = accuracy((X, y), test, labels, seed, features="imagenet")
                results[key] = {"head": head, "fine-tuned": accuracy((X, y), test, labels, seed, **TUNED, **BEST)}
                print(key, results[key], flush=True)
                replace_file(RESULTS, (json.dumps(results, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
