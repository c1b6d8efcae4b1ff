"""DeepBASSClassifier beside scikit-learn's SelfTrainingClassifier and LabelSpreading: same samples, same labels.

python experiments/beside_scikit.py     goes on with results/beside-scikit.json; a few minutes in all

Labels are drawn at random from two thirds of the data, the accuracy is that on the last third. Everybody has its own
defaults, nothing was chosen by the test part; the inputs of scikit-learn's are scaled, as they want it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from deepbass import DeepBASSClassifier
from deepbass.files import replace_file

OUT = Path(__file__).parents[1] / "results" / "beside-scikit.json"
SEEDS = 5
DATA: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "digits": (load_digits, (50, 100, 300)),
    "breast cancer": (load_breast_cancer, (20, 50, 100)),
}
METHODS: dict[str, Callable[[int], Any]] = {
    "DeepBASSClassifier": lambda seed: DeepBASSClassifier(random_state=seed),
    "logistic regression": lambda seed: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "SelfTrainingClassifier": lambda seed: make_pipeline(
        StandardScaler(), SelfTrainingClassifier(LogisticRegression(max_iter=1000))
    ),
    "LabelSpreading": lambda seed: make_pipeline(StandardScaler(), LabelSpreading(kernel="knn")),
}


def accuracy(data: str, labels: int, method: str, seed: int) -> float:
    """Fit on some labels of the training part, and judge on the rest."""
    X, y = DATA[data][0](return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, random_state=seed, stratify=y)
    known = np.random.default_rng(seed).permutation(len(y))[:labels]
    if method == "logistic regression":  # it has no use for the others
        X, y = X[known], y[known]
    else:
        y = np.where(np.isin(np.arange(len(y)), known), y, -1)
    return float(METHODS[method](seed).fit(X, y).score(X_test, y_test))


def table(found: dict[str, dict[str, list[float]]]) -> str:
    """Set the means side by side, with their standard errors, in percent."""
    lines = [f"| accuracy, % | {' | '.join(METHODS)} |", f"|---|{'---:|' * len(METHODS)}"]
    for row, by_method in found.items():
        cells = [
            f"{100 * np.mean(runs):.1f} ± {100 * np.std(runs, ddof=1) / len(runs) ** 0.5:.1f}"
            for runs in (by_method[method] for method in METHODS)
        ]
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Fill in what is missing."""
    found: dict[str, dict[str, list[float]]] = json.loads(OUT.read_text()) if OUT.exists() else {}
    for data, (_, budgets) in DATA.items():
        for labels in budgets:
            row = found.setdefault(f"{data}, {labels} labels", {})
            for method in METHODS:
                while len(done := row.setdefault(method, [])) < SEEDS:
                    done.append(round(accuracy(data, labels, method, len(done)), 4))
                    replace_file(OUT, (json.dumps(found, indent=1) + "\n").encode())
    print(table(found))  # for docs/python.md


if __name__ == "__main__":
    main()
