"""Small sessions for a notebook, with names and texts that would like to be markup."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepbass.session import Session

HOSTILE = '<img src=x onerror="window.hacked = true">'
TEXTS = [f"{('love great', 'crash broken')[row % 2]} number {row} {HOSTILE}" for row in range(24)]


def texts(**settings: Any) -> Session:
    """Begin with texts."""
    return Session(TEXTS, features="words", **settings)


def pictures(**settings: Any) -> Session:
    """Begin with small pictures, seen as rows of pixels would be slow: bright ones and dark ones."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 90, (40, 1, 8, 8), dtype=np.uint8) + np.uint8(120) * (np.arange(40) % 2)[:, None, None, None]
    return Session(X.astype(np.uint8), model="mlp", initial_epochs=2, passes_pool=2, **settings)


def rows(**settings: Any) -> Session:
    """Begin with rows of a table, one column of which is called like markup."""
    table = [{"size": float(row % 2) + row / 100, HOSTILE: "red" if row % 3 else "blue"} for row in range(24)]
    return Session(table, **settings)
