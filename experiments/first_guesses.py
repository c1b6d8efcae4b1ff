"""Small grey pictures: how good first labels and first guesses are, by pixels and by what a network taught itself.

    OMP_NUM_THREADS=1 python experiments/first_guesses.py [NAME ...] [--seeds 3] [--table]

5,000 pictures of a training part of each kind of experiments/small_pictures.py; typical ones are labelled, and what is
right when these labels are spread over the neighbours is counted, and how many classes they meet. Written to
results/first-guesses.json: what is there already is not computed again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from deepbass.core.config import Config
from deepbass.core.labels import Answers, Labels
from deepbass.data.initial import initial_labels
from deepbass.data.pool import Pool
from deepbass.learn.second_opinion import SecondOpinion
from deepbass.runs.besides_pixels import places_of
from fill_in import fill_in
from small_pictures import KINDS

RESULTS = Path(__file__).parent.parent / "results" / "first-guesses.json"
POOL, COUNTS = 5_000, (10, 20, 33, 100)
WAYS = ("pixels", "self-taught")


def measured(name: str, seed: int, folder: Path | None) -> dict[str, Any]:
    """Choose first labels and spread them, by either kind of neighbours."""
    X, truth = KINDS[name](POOL, seed)
    pool, classes = Pool(X[:, None], "train"), [str(class_) for class_ in range(10)]
    found: dict[str, Any] = {}
    for way in WAYS:
        config = Config(start="typical", teacher=0.99, neighbours=way, seed=seed)
        places = places_of(pool, config)
        opinion = SecondOpinion([pool] if places is None else [pool, places], seed)
        for count in COUNTS:
            chosen = Config.of({**config.as_dict(), "initial": count, "budget": count})
            ids = initial_labels(chosen, pool, truth, classes, places=places)
            said = opinion.of_all(Labels.none(POOL, 10).answered(Answers(ids, truth[ids])))
            one = {"right": round(100 * float((said == truth).mean()), 1), "classes": len(np.unique(truth[ids]))}
            found[f"{count} labels, {way}"] = one
    print(name, seed, found, flush=True)
    return found


def table(found: dict[str, Any]) -> str:
    """Lay out the means over seeds: percent, and in brackets classes met."""
    lines = ["| pictures | labels | by pixels | by both | runs |", "|---|---:|---:|---:|---:|"]
    for name, runs in found.items():
        for count in COUNTS:
            cells = []
            for way in WAYS:
                ones = [run[f"{count} labels, {way}"] for run in runs.values()]
                right, met = (np.mean([one[what] for one in ones]) for what in ("right", "classes"))
                cells.append(f"{right:.1f} % ({met:.1f})")
            lines.append(f"| {name} | {count} | {' | '.join(cells)} | {len(runs)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    fill_in(__doc__, RESULTS, list(KINDS), 3, measured, table)
