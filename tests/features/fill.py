"""Compute features of many samples into a cache, in a process of its own that can be killed.

python fill.py FOLDER COUNT SECONDS: a line for every batch; each takes so many seconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from deepbass.features.extractor import Features
from deepbass.features.feature_array import FeatureArray
from tests.features.found import Found
from tests.features.lengths import Lengths


class Slow(Lengths):
    """Lengths, taken slowly."""

    seconds = 0.0

    def compute_prepared(self, prepared: Sequence[str]) -> Features:
        time.sleep(self.seconds)
        return super().compute_prepared(prepared)


def main(folder: str, count: str, seconds: str) -> None:
    samples = Found("text", [f"{number}".rjust(number % 50, ".") for number in range(int(count))])
    extractor = Slow()
    extractor.seconds = float(seconds)
    array = FeatureArray(samples, extractor, Path(folder))
    array.compute(progress=lambda done, total: print(done, flush=True))  # noqa: T201
    expected = [len(text) for text in samples.samples]
    assert array[:][:, 0].tolist() == expected
    print("computed", len(extractor.computed), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
