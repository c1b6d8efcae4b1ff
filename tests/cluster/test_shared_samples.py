"""What workers are handed of a pool reads as the pool does, whatever its features are made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from deepbass.cluster import shared_samples
from deepbass.data.pool import Pool
from deepbass.features import open_features
from tests.features.found import Found

TEXTS = [f"the {animal} number {number}" for number in range(12) for animal in ("cat", "dog", "horse")]


@pytest.mark.parametrize("features", ["words", "sentences-words"])
def test_texts_read_the_same_on_a_worker(features: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_samples, "MOST_HANDED", 0)  # numbers of samples are read by who needs them
    computed = open_features(Found("text", TEXTS), None, features).train
    computed.compute()
    pool = Pool(cast(NDArray[Any], computed), "text", np.array([3, 5, 30]))
    store: list[Any] = []

    def put(value: Any) -> int:
        store.append(value)
        return len(store) - 1

    there = shared_samples.open_shared(shared_samples.share(pool, put), store.__getitem__)
    assert there.shape == pool.shape
    np.testing.assert_array_equal(there.read(np.arange(3)), pool.read(np.arange(3)))
