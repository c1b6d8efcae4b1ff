"""Which of the model's guesses count as labels: one rule for the panel, the page's grids and every export."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepbass.core.error_law import Estimate, scored
from deepbass.core.labels import NO_IDS, Ids
from deepbass.label.ledger import Ledger
from deepbass.label.trained_models import Model

THRESHOLD = 0.95  # how sure the model must be where nobody says otherwise
LEVELS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)  # thresholds that people may choose from


@dataclass(frozen=True)
class Level:
    """What a threshold would give: how many guesses, and how often the model is wrong when it is that sure."""

    confidence: float
    guesses: int
    error: Estimate | None  # None: no audit answer is about an image that it is that sure of


def guesses_of(model: Model | None, ledger: Ledger, least: float, gone: Collection[int] = ()) -> Ids:
    """List the items whose guess counts, by id.

    The model is at least ``least`` sure, nobody's label stands, nobody refused that class, and the item is still there
    (``gone``: those that are not). Whether the guess was trained on has no say in it: that hangs on the iteration.
    """
    if model is None:
        return NO_IDS
    ranking = model.ranking
    counts = (ranking.guess >= 0) & (ranking.confidence >= least)
    counts[_below(ledger.known_items(), len(counts))] = False
    counts[_below(gone, len(counts))] = False
    for item, refused in ledger.vetoes().items():
        if item < len(counts) and int(ranking.guess[item]) in refused:
            counts[item] = False
    return np.flatnonzero(counts)


def guess_levels(model: Model | None, ledger: Ledger, gone: Collection[int] = ()) -> list[Level]:
    """Tell what each threshold of LEVELS would give."""
    if model is None:
        return [Level(least, 0, None) for least in LEVELS]
    ranking, audit = model.ranking, ledger.audit_labels()
    ids = [item for item in audit if item < len(ranking.guess) and ranking.guess[item] >= 0]
    wrong = np.array([ranking.guess[item] != audit[item] for item in ids], dtype=np.bool_)
    sure = ranking.confidence[ids]

    def level(least: float) -> Level:
        errors = wrong[sure >= least]
        error = scored(int(errors.sum()), len(errors)) if len(errors) else None
        return Level(least, len(guesses_of(model, ledger, least, gone)), error)

    return [level(least) for least in LEVELS]


def _below(items: Collection[int], count: int) -> NDArray[np.int64]:
    ids = np.fromiter(items, dtype=np.int64, count=len(items))
    return ids[ids < count]
