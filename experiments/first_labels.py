"""Which samples to ask about first: typical ones of clusters of near points, or of clusters along neighbours.

    OMP_NUM_THREADS=1 python experiments/first_labels.py [--table]

6,000 training samples; for some numbers of first labels, four draws each: how much of the pool is right when these
labels are spread over the graph of neighbours, and how many classes they meet. No test part is looked at. Written to
results/first-labels.json, a row at a time: what is there is not computed again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from deepbass.core.config import Config
from deepbass.core.graph import neighbour_graph, spread
from deepbass.core.labels import Ids
from deepbass.core.typical import DIMENSIONS, densest_of_each, k_means, reduce
from deepbass.core.unrolled import LINKED, Points, Unrolled
from deepbass.data.load import load
from deepbass.files import replace_file
from deepbass.runs.featurise import Featuriser

RESULTS = Path(__file__).parent.parent / "results" / "first-labels.json"
POOL, COUNTS, SEEDS = 6_000, (10, 20, 50), range(4)
FEATURES = {"mnist": "pixels", "fashion-mnist": "pixels", "cifar-10": "imagenet", "newsgroups": "sentences"}


def measure(name: str) -> dict[str, Any]:
    """Choose the first labels of one data set in both ways."""
    features = FEATURES[name]
    data = load(name, Config(features=features, pool=POOL), featurise=Featuriser(features))
    points = reduce(data.pool.read(np.arange(len(data.pool))), DIMENSIONS, np.random.default_rng(0))
    truth, graph = data.truth, neighbour_graph(points, 10)
    found: dict[str, Any] = {}
    for count in COUNTS:
        for along in (False, True):
            draws = [choose(points, count, along, np.random.default_rng(seed)) for seed in SEEDS]
            guesses = [spread(graph, ids, truth[ids], len(data.classes)).argmax(1) for ids in draws]
            found[f"{count} labels, {'along neighbours' if along else 'near points'}"] = {
                "right": [round(100 * float((guess == truth).mean()), 1) for guess in guesses],
                "classes": [len(np.unique(truth[ids])) for ids in draws],
            }
    return found


def choose(points: Points, count: int, along: bool, rng: np.random.Generator) -> Ids:
    """Choose typical samples of clusters of one kind or the other."""
    clusters = k_means(
        Unrolled(neighbour_graph(points, LINKED), count, rng).along(count) if along else points, count, rng
    )
    return densest_of_each(points, clusters)[:count]


def table(results: dict[str, Any]) -> str:
    """Write the rows of the table in docs/method.md."""
    rows = []
    for name, found in results.items():
        for count in COUNTS:
            cells = [found[f"{count} labels, {way}"] for way in ("near points", "along neighbours")]
            means = [f"{np.mean(cell['right']):.1f} % ({np.mean(cell['classes']):.1f})" for cell in cells]
            rows.append(f"| {name} | {count} | {means[0]} | {means[1]} |")
    return "\n".join(rows)


def main() -> None:
    """Measure what is not there yet."""
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in FEATURES:
        if name not in results and "--table" not in sys.argv:
            results[name] = measure(name)
            replace_file(RESULTS, (json.dumps(results, indent=1) + "\n").encode())
    print(table(results))


if __name__ == "__main__":
    main()
