"""The linear head, supervised, beside scikit-learn's logistic regression with its penalty chosen by cross-validation.

    python experiments/heads.py [DATA ...]     DATA: cifar-10, newsgroups, newsgroups-words, digits, wine, cancer

The same features and the same random labels for both, five draws of each number of labels, measured on the test part.
scikit-learn's gets each of two scalings, per column and by one number (as the head has it), and the better mean counts.
Written to results/heads.json, a data set at a time: what is there already is not computed again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV
from sklearn.preprocessing import StandardScaler

from deepbass.core.config import Config
from deepbass.core.labels import Answers, Labels
from deepbass.data.load import Data, from_arrays, load
from deepbass.data.pool import Pool
from deepbass.learn.choose_learner import learner_for
from deepbass.learn.models import build, linear_head
from deepbass.runs.featurise import Featuriser

RESULTS = Path(__file__).parent.parent / "results" / "heads.json"
LABELS = (100, 300, 1000)
DRAWS = 5
ALL = ["digits", "wine", "cancer", "newsgroups-words", "newsgroups", "cifar-10"]
POOL = 12_000
_FOLDS = 5


@dataclass(frozen=True)
class Task:
    """Features of a pool and of a test part."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int64]
    classes: int
    features: str


def task(name: str) -> Task:
    """Load a data set with the features that suit it, or that it is named after."""
    settings: dict[str, Any] = {"pool": POOL, "features": "auto"}
    if name.endswith("-words"):
        settings["features"] = "words"
    if name in ("wine", "cancer"):
        return _table(name)
    config = Config.of(settings)
    featurise = Featuriser(config.features)
    data = load(name.removesuffix("-words"), config, featurise=featurise, progress=True)
    return _task(data)


def _table(name: str) -> Task:
    bunch = (load_wine if name == "wine" else load_breast_cancer)()
    rows = [dict(zip(bunch.feature_names, map(float, row), strict=True)) for row in bunch.data]
    rows_given: Any = rows
    return _task(from_arrays(rows_given, bunch.target, config=Config(validation=0.4), featurise=Featuriser("table")))


def _task(data: Data) -> Task:
    def read(pool: Pool) -> NDArray[np.float32]:
        return pool.read(np.arange(len(pool))).reshape(len(pool), -1)

    return Task(
        read(data.pool),
        data.truth,
        read(data.validation),
        data.validation_labels,
        len(data.classes),
        data.features,
    )


def ours(one: Task, ids: NDArray[np.int64], seed: int) -> tuple[float, float]:
    """Train the head on some labels; return its accuracy and the seconds of training."""
    config = Config(features=one.features if one.features != "pixels" else "table", seed=seed)
    pool = Pool(one.X, "train")
    head = linear_head if one.features == "pixels" else partial(build, config)
    learner = learner_for(head(pool.shape, one.classes), pool, one.classes, config)
    labels = Labels.none(len(one.X), one.classes).answered(Answers(ids, one.y[ids]))
    start = time.perf_counter()
    learner.train(labels, epochs=1, copies=20, seed=seed)
    took = time.perf_counter() - start
    guesses = learner.probabilities(Pool(one.X_test, "test")).argmax(1)
    return float((guesses == one.y_test).mean()), took


def theirs(one: Task, ids: NDArray[np.int64], per_column: bool) -> float:
    """Fit scikit-learn's on the same labels."""
    scaler = StandardScaler().fit(one.X)
    if not per_column:
        scaler.scale_ = np.full(one.X.shape[1], np.sqrt(scaler.var_.sum()))
    smallest = np.bincount(one.y[ids])[np.unique(one.y[ids])].min()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)  # of classes that have fewer labels than there are folds
        warnings.simplefilter("ignore", FutureWarning)
        model = LogisticRegressionCV(Cs=10, cv=int(np.clip(smallest, 2, _FOLDS)), max_iter=300)
        model.fit(scaler.transform(one.X[ids]), one.y[ids])
    return float(model.score(scaler.transform(one.X_test), one.y_test))


def measure(name: str) -> dict[str, Any]:
    """Compare both on one data set."""
    one = task(name)
    found: dict[str, Any] = {"features": one.features, "pool": len(one.X), "test": len(one.X_test), "labels": {}}
    for count in (count for count in LABELS if count < len(one.X)):
        rows = []
        for seed in range(DRAWS):
            ids = np.sort(np.random.default_rng(seed).choice(len(one.X), count, replace=False))
            accuracy, seconds = ours(one, ids, seed)
            rows.append((accuracy, theirs(one, ids, True), theirs(one, ids, False), seconds))
            print(name, count, seed, *(f"{value:.4f}" for value in rows[-1]), flush=True)
        table = np.array(rows)
        better = int(table[:, 1:3].mean(0).argmax())
        found["labels"][str(count)] = {
            "head": [round(100 * value, 2) for value in table[:, 0]],
            "logistic regression": [round(100 * value, 2) for value in table[:, 1 + better]],
            "scaling": ("per column", "one number")[better],
            "seconds": round(float(np.median(table[:, 3])), 3),
        }
    return found


def table(results: dict[str, Any]) -> str:
    """Write the rows of the table in docs/features.md."""
    rows = []
    for name, found in results.items():
        for labels, row in found["labels"].items():
            head, other = np.array(row["head"]), np.array(row["logistic regression"])
            apart = head - other
            error = apart.std(ddof=1) / np.sqrt(len(apart))
            what = f"{name.removesuffix('-words')}, {found['features']}"
            means = f"{head.mean():.1f} % | {other.mean():.1f} % | {apart.mean():+.1f} ± {error:.1f}"
            rows.append(f"| {what} | {int(labels):,} | {means} |")
    return "\n".join(rows)


def main() -> None:
    """Measure what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=ALL)
    given = parser.parse_args()
    torch.manual_seed(0)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in given.data:
        if name not in results:
            results[name] = measure(name)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
