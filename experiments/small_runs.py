"""A whole run on small pictures from pixels, and what it came to."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import deepbass
from small_pictures import KINDS

POOLS, POOL, JUDGED_BY, ITERATIONS = {"mnist": 20_000}, 5_000, 3_000, 20


def learned(kind: str, seed: int, labels: int, **settings: Any) -> dict[str, Any]:
    """Learn from pictures of a kind with so many labels, and judge by others."""
    pool = POOLS.get(kind, POOL)
    X, y = KINDS[kind](pool + JUDGED_BY, seed)
    with tempfile.TemporaryDirectory() as place:
        result = deepbass.run(
            X[:pool], y[:pool], X_val=X[pool:], y_val=y[pool:], budget=labels, seed=seed, iterations=ITERATIONS,
            features="pixels", out=Path(place) / "run", **settings,
        )  # fmt: skip
    plain = result.history[-1]["plain_accuracy"]
    found = {"accuracy": result.accuracy, "plain": plain, "worth": result.worth}
    print(kind, seed, labels, settings, found, flush=True)
    return found
