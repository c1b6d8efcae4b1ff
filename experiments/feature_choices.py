"""Measure what docs/features.md says of features: sizes and views of photographs, words and sentences, speed.

python experiments/feature_choices.py CIFAR_FOLDER NEWSGROUPS.jsonl.gz: the binary batches of CIFAR-10, and texts with
labels as JSON Lines. Logistic regression on random labels, mean of five draws. Writes results/features.json.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps
from sklearn.linear_model import LogisticRegression

from deepbass.data.raw_rows import Texts
from deepbass.features.extractor import Extractor, Features
from deepbass.features.imagenet import ImagenetFeatures
from deepbass.features.sentences import SentenceFeatures
from deepbass.features.tfidf import WordFeatures

OUT = Path(__file__).parents[1] / "results" / "features.json"
PICTURES, TEXTS, UNLABELLED, HELD_OUT = 2_000, 1_700, 10_000, 700
LABELS = (100, 300, 1_000)
DRAWS = 5


def accuracy(features: Features, labels: NDArray[Any], c: float) -> dict[str, float]:
    """Train on random labels, test on the last samples; all columns are centred, and divided by one number."""
    scaled = features - features.mean(axis=0)
    scaled /= scaled.std()
    pool, test = len(scaled) - HELD_OUT, slice(len(scaled) - HELD_OUT, None)
    found = {}
    for count in LABELS:
        rows = [np.random.default_rng(draw).permutation(pool)[:count] for draw in range(DRAWS)]
        fits = (LogisticRegression(C=c, max_iter=500).fit(scaled[chosen], labels[chosen]) for chosen in rows)
        found[str(count)] = round(100 * float(np.mean([fit.score(scaled[test], labels[test]) for fit in fits])), 1)
    return found


def timed(extractor: Extractor, samples: list[Any]) -> tuple[Features, float]:
    """Compute features, and tell how many samples a core computes in a second."""
    started = time.process_time()
    size = extractor.batch
    parts = [extractor.compute(samples[start : start + size]) for start in range(0, len(samples), size)]
    return np.concatenate(parts), round(len(samples) / (time.process_time() - started), 1)


def photographs(folder: Path) -> list[dict[str, Any]]:
    """Try sizes, and a second view."""
    raw = np.fromfile(folder / "data_batch_1.bin", np.uint8).reshape(-1, 3073)[:PICTURES]
    pictures = [Image.fromarray(pixels) for pixels in raw[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)]
    found, kept = [], {}
    for side in (96, 128, 160, 224):
        features, speed = timed(ImagenetFeatures(side), pictures)
        kept[side] = features
        found.append({"side": side, "views": 1, "speed": speed, "accuracy": accuracy(features, raw[:, 0], 0.01)})
    mirrored, speed = timed(ImagenetFeatures(128), [ImageOps.mirror(picture) for picture in pictures])
    both = accuracy(np.mean([kept[128], mirrored], axis=0, dtype=np.float32), raw[:, 0], 0.01)
    return [*found, {"side": 128, "views": 2, "speed": round(speed / 2, 1), "accuracy": both}]


def texts(path: Path) -> list[dict[str, Any]]:
    """Compare words with sentences."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    chosen = [lines[row] for row in np.random.default_rng(0).permutation(len(lines))[:UNLABELLED]]
    found_texts = [line["text"] for line in chosen]
    labels = np.array([line["label"] for line in chosen[:TEXTS]])
    words = WordFeatures()
    words.fit(Texts(found_texts), np.arange(UNLABELLED))
    found = []
    for extractor in (words, SentenceFeatures()):
        features, speed = timed(extractor, found_texts[:TEXTS])
        found.append({"features": extractor.name, "speed": speed, "accuracy": accuracy(features, labels, 0.03)})
    return found


def main(cifar: str, newsgroups: str) -> None:
    results = {"photographs": photographs(Path(cifar)), "texts": texts(Path(newsgroups))}
    OUT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(OUT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main(*sys.argv[1:])
