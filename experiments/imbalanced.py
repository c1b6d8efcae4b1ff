"""Make a table in which one class is twenty times as common as the other.

    python experiments/imbalanced.py [FILE]     default: build/imbalanced-1-to-20.csv

scikit-learn's `make_classification` with a fixed seed: 6,300 rows of 20 numbers, 5 of which tell the classes apart, 5
that repeat these and 10 of noise; two clusters a class.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from sklearn.datasets import make_classification

FILE = Path("build/imbalanced-1-to-20.csv")
ROWS, RARE = 6_300, 1 / 21


def write(file: Path) -> Path:
    """Write the table, unless it is there; it has the same bytes whenever it is made."""
    if file.exists():
        return file
    X, y = make_classification(
        n_samples=ROWS, n_features=20, n_informative=5, n_redundant=5, n_clusters_per_class=2, weights=[1 - RARE],
        flip_y=0.0, class_sep=1.0, random_state=20,
    )  # fmt: skip
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="", encoding="utf-8") as opened:
        out = csv.writer(opened)
        out.writerow([*(f"x{column}" for column in range(X.shape[1])), "label"])
        for row, class_ in zip(X, y, strict=True):
            out.writerow([*(f"{value:.5f}" for value in row), "rare" if class_ else "common"])
    return file


if __name__ == "__main__":
    print(write(Path(sys.argv[1]) if len(sys.argv) > 1 else FILE))
