"""Pictures from pixels: the default beside plain supervised learning on as many random labels.

    python experiments/pixels.py [DATA:LABELS ...] [--seeds 5] [--ways default,network,logistic]
    python experiments/pixels.py --table

Ways: *default* is `deepbass run` as it is, with a budget; *network* the same network with the same views, no guesses
and all labels drawn at random; *logistic* scikit-learn's logistic regression on pixels, its penalty chosen by
cross-validation, on the same random labels. All are measured on the test part, after the last iteration.
Written to results/pixels.json, a cell at a time: what is there already is not computed again, so it can be stopped.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV

import deepbass
from deepbass.core.config import Config
from deepbass.data.initial import initial_labels
from deepbass.data.load import Data, load
from deepbass.data.pool import Pool
from deepbass.files import replace_file
from deepbass.store.rundir import RunDir

RESULTS = Path(__file__).parent.parent / "results" / "pixels.json"
POOLS = {"fashion-mnist": 20_000}  # samples in use, where not all are
ALL = [
    "mnist:300", "mnist:100", "digits:50", "digits:100", "digits:300", "mnist:20", "mnist:10", "fashion-mnist:300",
    "fashion-mnist:100", "fashion-mnist:1000",
]  # fmt: skip
WAYS = ("default", "network", "logistic")


def default(data: str, labels: int, seed: int) -> dict[str, Any]:
    """Run as everybody does, with a budget of labels."""
    with tempfile.TemporaryDirectory() as folder:
        result = deepbass.run(data, budget=labels, seed=seed, pool=POOLS.get(data), out=Path(folder) / "run")
        with RunDir.open(result.path) as run_dir:
            seconds = sum(sum(row.seconds.values()) for row in run_dir.events.steps())
    last = result.history[-1]
    return {
        "accuracy": result.accuracy,
        "balanced": last["balanced_accuracy"],
        "labels": last["known"],
        "seconds": round(seconds, 1),
    }


def network(data: str, labels: int, seed: int) -> dict[str, Any]:
    """Train the same network on random labels, supervised."""
    with tempfile.TemporaryDirectory() as folder:
        result = deepbass.run(
            data, budget=labels, initial=labels, start="random", admit="none", acquire="none", seed=seed,
            pool=POOLS.get(data), out=Path(folder) / "run",
        )  # fmt: skip
    last = result.history[-1]
    return {"accuracy": result.accuracy, "balanced": last["balanced_accuracy"], "labels": last["known"]}


def logistic(data: str, labels: int, seed: int) -> dict[str, Any]:
    """Fit logistic regression on the same random labels."""
    config = Config(seed=seed, pool=POOLS.get(data), start="random", initial=labels)
    loaded = load(data, config)
    ids = initial_labels(config, loaded.pool, loaded.truth, loaded.classes)
    y = loaded.truth[ids]
    folds = int(np.clip(np.bincount(y)[np.unique(y)].min(), 2, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)  # of classes that have fewer labels than there are folds
        warnings.simplefilter("ignore", FutureWarning)
        model = LogisticRegressionCV(Cs=8, cv=folds, max_iter=200).fit(_flat(loaded.pool, ids), y)
    return {"accuracy": _score(model, loaded), "balanced": None, "labels": labels}


def _score(model: Any, loaded: Data) -> float:
    everybody = np.arange(len(loaded.validation))
    return float(model.score(_flat(loaded.validation, everybody), loaded.validation_labels))


def _flat(pool: Pool, ids: np.ndarray) -> np.ndarray:
    return pool.read(ids).reshape(len(ids), -1)


def fill(wanted: list[str], seeds: int, ways: list[str]) -> None:
    """Compute the cells that are missing, and write each down when it is done."""
    for seed in range(seeds):
        for row in wanted:
            data, _, labels = row.partition(":")
            for way in ways:
                cells = _read()
                key = f"{row}:{way}:{seed}"
                if key in cells:
                    continue
                start = time.perf_counter()
                cell = {"default": default, "network": network, "logistic": logistic}[way](data, int(labels), seed)
                cell |= {"pool": POOLS.get(data), "threads": torch.get_num_threads()}
                print(key, f"{100 * cell['accuracy']:.2f} %", f"{time.perf_counter() - start:.0f} s", flush=True)
                replace_file(RESULTS, (json.dumps({**_read(), key: cell}, indent=1, sort_keys=True) + "\n").encode())


def table() -> str:
    """Draw the mean of each row and way, with its standard error and the number of seeds."""
    cells = _read()
    lines = ["| data | labels | " + " | ".join(WAYS) + " | seeds |", "|---|---:|" + "---:|" * (len(WAYS) + 1)]
    for row in ALL:
        shown, counts = [], []
        for way in WAYS:
            found = [100 * cell["accuracy"] for key, cell in cells.items() if key.startswith(f"{row}:{way}:")]
            counts.append(len(found))
            error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0
            shown.append(f"{np.mean(found):.2f} ± {error:.2f}" if found else "–")
        if any(counts):
            data, _, labels = row.partition(":")
            lines.append(f"| {data} | {labels} | {' | '.join(shown)} | {', '.join(map(str, counts))} |")
    return "\n".join(lines)


def _read() -> dict[str, Any]:
    return dict(json.loads(RESULTS.read_text(encoding="utf-8"))) if RESULTS.exists() else {}


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help=f"of {', '.join(ALL)}, or others (default: these)")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--table", action="store_true")
    chosen = parser.parse_args()
    if not chosen.table:
        fill(chosen.rows or ALL, chosen.seeds, chosen.ways.split(","))
    print(table())


if __name__ == "__main__":
    main()
