"""Compute the features of some texts on a cluster of so many workers, and print the seconds: one turn of a comparison.

Every turn has a process and a cluster of its own, because a cluster is as large as it was started.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from deepbass.cluster.connection import connected
from deepbass.cluster.feature_tasks import features_on
from deepbass.data.raw_rows import Texts
from deepbass.features.compute import compute_features

_WORDS = np.array(["about", "after", "because", "every", "from", "house", "letter", "morning", "people", "water"])


def texts(count: int, seed: int) -> Texts:
    """Draw texts of forty words."""
    drawn = _WORDS[np.random.default_rng(seed).integers(0, len(_WORDS), (count, 40))]
    return Texts([f"{row} {' '.join(line)}" for row, line in enumerate(drawn)])


def compute(workers: int, count: int) -> float:
    """Compute features twice, first for the workers to open the language model, then for the clock."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, connected(None, workers) as cluster, features_on(cluster):
        compute_features(texts(64 * workers * 6, 1), None, "sentences", cache_folder=Path(folder))
        start = time.perf_counter()
        compute_features(texts(count, 2), None, "sentences", cache_folder=Path(folder))
        return time.perf_counter() - start


def in_a_process(workers: int, count: int) -> float:
    """Take a turn."""
    command = [sys.executable, "-m", "cluster.features_once", str(workers), str(count)]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])
    return float(json.loads(found.stdout.splitlines()[-1]))


if __name__ == "__main__":
    print(json.dumps(compute(int(sys.argv[1]), int(sys.argv[2]))))
