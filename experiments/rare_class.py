"""How many labels it takes until a rare class has so many of them: the default's questions beside random ones.

    python experiments/rare_class.py [DATA ...] [--seeds 5] [--folder FOLDER] [--table]

DATA: table (made up like that of experiments/imbalanced.py), messages (SMS spam), posts (one of the 20
Newsgroups against all others). Of each the training part alone; of the rare class so many are left that there is one
to twenty of the other. Written to results/rare-class.json, a run at a time: what is there already is not computed
again. FOLDER is where files of named data sets lie. For random questions no run is needed: until the k-th of r rare
ones among N samples is drawn, k (N + 1) / (r + 1) are, on average.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

import deepbass
from deepbass.store.rundir import RunDir
from fill_in import fill_in
from training_parts import training_part

RESULTS = Path(__file__).parent.parent / "results" / "rare-class.json"
ALL = ["table", "messages", "posts"]
NAMED = {"messages": "sms-spam", "posts": "newsgroups"}
SEEDS, BUDGET, TIMES, RARE_CLASS = 5, 300, 20, 1
FOUND = (5, 10, 20)  # rare ones


def samples(name: str, seed: int, folder: Path | None) -> tuple[Any, Any]:
    """Take samples of a common class, 0, and of one that is twenty times as rare, 1."""
    if name == "table":
        X, y = make_classification(
            n_samples=4_000, n_features=20, n_informative=5, n_redundant=5, n_clusters_per_class=2, weights=[0.9],
            flip_y=0.0, class_sep=1.0, random_state=100 + seed,
        )  # fmt: skip
    else:
        data = training_part(NAMED[name], seed, folder=folder, pool=4_000)
        X = data.pool.read(np.arange(len(data.pool)))
        y = (data.truth == (RARE_CLASS if name == "messages" else seed)).astype(int)
    common, rare = np.flatnonzero(y == 0), np.flatnonzero(y == 1)
    rows = np.sort(np.concatenate([common, rare[: len(common) // TIMES]]))
    return np.asarray(X[rows], np.float32), y[rows]


def measured(name: str, seed: int, folder: Path | None) -> dict[str, Any]:
    """Run the default, and count how many labels were paid for when the rare class had so many."""
    X, y = samples(name, seed, folder)
    with tempfile.TemporaryDirectory() as place:
        result = deepbass.run(X, y, budget=BUDGET, seed=seed, validation=0.2, out=Path(place) / "run")
        with RunDir.open(result.path) as run_dir:
            classes = np.array([row.class_ for row in run_dir.events.answers()])
    rare = np.cumsum(classes == 1)
    spent = {str(k): int(np.argmax(rare >= k)) + 1 if rare[-1] >= k else None for k in FOUND}
    return {"samples": len(y), "rare": int(y.sum()), "spent": spent, "met": int(rare[-1])}


def table(found: dict[str, Any]) -> str:
    """Lay out the mean number of labels spent beside that of random questions."""
    lines = ["| data | rare ones met | labels, default | labels at random | runs |", "|---|---:|---:|---:|---:|"]
    for name, runs in found.items():
        for k in map(str, FOUND):
            ours = [run["spent"][k] for run in runs.values()]
            drawn = np.mean([int(k) * (run["samples"] + 1) / (run["rare"] + 1) for run in runs.values()])
            mean = f"{np.mean(ours):.0f}" if None not in ours else f"over {BUDGET} in {ours.count(None)}"
            lines.append(f"| {name} | {k} | {mean} | {drawn:.0f} | {len(ours)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    fill_in(__doc__, RESULTS, ALL, SEEDS, measured, table)
