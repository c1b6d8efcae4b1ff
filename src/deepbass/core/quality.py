"""How good predictions are: every number comes from one count of what was true against what was predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from deepbass.core.belief import Floats
from deepbass.core.checked_json import check
from deepbass.core.labels import Classes

BINS = 15  # of equal width, as in Guo et al. (2017)
_AT_A_TIME = 1 << 18  # predictions that are counted
UNEVEN = 1.5  # times its fair share: where the commonest class has more, accuracy alone misleads

Shares = list[float | None]  # one per class; None where there is nothing to take a share of
Pair = tuple[int, int, int]  # true class, predicted class, how often


class ReliabilityBin(NamedTuple):
    """The predictions whose confidence lies in one bin."""

    size: int
    confidence: float  # their mean probability of the class predicted
    accuracy: float  # the share of them that is right


@dataclass(frozen=True, eq=False)
class Quality:
    """What came of predictions whose true classes are known."""

    confusion: NDArray[np.int64]  # [true class, predicted class]: how often
    bins: tuple[ReliabilityBin, ...] = ()  # by confidence, from 0 to 1; none where only classes were predicted

    @classmethod
    def of(cls, probs_N_C: Floats, truth_N: Classes) -> Self:
        """Judge probabilities, one row per sample; the class predicted is the likeliest."""
        probs_N_C = np.asarray(probs_N_C, dtype=np.float64)
        guess_N = probs_N_C.argmax(1)
        bins = reliability(probs_N_C.max(1), guess_N == truth_N)
        return cls(count_confusion(truth_N, guess_N, probs_N_C.shape[1]), bins)

    @property
    def samples(self) -> int:
        """Tell how many predictions there are."""
        return int(self.confusion.sum())

    @property
    def occurring(self) -> NDArray[np.int64]:
        """Tell how often each class is the true one."""
        totals: NDArray[np.int64] = self.confusion.sum(1)
        return totals

    @property
    def accuracy(self) -> float:
        """Tell the share that is right."""
        return float(np.trace(self.confusion) / self.samples)

    @property
    def recall(self) -> Shares:
        """Tell for each class which share of its samples was found; None for a class that never occurs."""
        return _shares(self.confusion.diagonal(), self.occurring)

    @property
    def precision(self) -> Shares:
        """Tell for each class which share of the predictions of it is right; None for one that is never predicted."""
        return _shares(self.confusion.diagonal(), self.confusion.sum(0))

    @property
    def balanced_accuracy(self) -> float:
        """Average the recall over the classes that occur, so that a rare class counts as much as a common one."""
        return float(np.mean([share for share in self.recall if share is not None]))

    @property
    def macro_f1(self) -> float:
        """Average F1 = 2 TP / (2 TP + FP + FN) over the classes that occur."""
        right = self.confusion.diagonal()
        there = self.occurring > 0
        return float(np.mean(2 * right[there] / (self.occurring + self.confusion.sum(0))[there]))

    @property
    def ece(self) -> float | None:
        """Tell the expected calibration error; None where there is no confidence to judge.

        It is the mean over all predictions of |accuracy - confidence|, both taken as means over one of 15 bins of
        equal width on the confidence: bin m holds those in ((m - 1) / 15, m / 15].
        """
        if not self.bins:
            return None
        total = sum(one.size for one in self.bins)
        return sum(one.size * abs(one.accuracy - one.confidence) for one in self.bins) / total

    @property
    def commonest(self) -> float:
        """Tell the accuracy of always guessing the class that occurs most often."""
        return float(self.occurring.max() / self.samples)

    @property
    def by_share(self) -> float:
        """Tell the accuracy expected of guessing at random, each class as often as it occurs."""
        return float(((self.occurring / self.samples) ** 2).sum())

    @property
    def uneven(self) -> bool:
        """Tell whether the commonest class has so much more than its fair share that accuracy alone misleads."""
        return is_uneven(self.commonest, len(self.confusion))

    def confused(self) -> list[Pair]:
        """List what was taken for what, the most frequent first."""
        wrong = self.confusion.copy()
        np.fill_diagonal(wrong, 0)
        return sorted(_pairs(wrong), key=lambda pair: (-pair[2], pair[0], pair[1]))

    def as_dict(self) -> dict[str, Any]:
        """Write it down as plain values: of the matrix what is not zero, so that a thousand classes stay small."""
        return {"classes": len(self.confusion), "confusion": _pairs(self.confusion), "reliability": list(self.bins)}

    @classmethod
    def of_dict(cls, plain: Any, classes: int) -> Self:
        """Take it up again, about so many classes; a ValueError says what is wrong with it."""
        check(plain, {"classes": int, "confusion": [[int]], "reliability": [[float]]})
        cells = plain["confusion"]
        if plain["classes"] != classes:
            raise ValueError(f"it is about {plain['classes']} classes, not {classes}")
        if any(len(cell) != 3 or min(cell) < 0 or max(cell[:2]) >= classes for cell in cells):
            raise ValueError(f"confusion counts what is none of {classes} classes")
        if not 0 < sum(cell[2] for cell in cells) < 2**53:
            raise ValueError("confusion counts nothing, or more than there can be")
        if any(len(one) != 3 or min(one) < 0 or max(one[1:]) > 1 for one in plain["reliability"]):
            raise ValueError("reliability has other entries than count, confidence and accuracy")
        bins = tuple(ReliabilityBin(int(count), *shares) for count, *shares in plain["reliability"])
        if len(bins) not in (0, BINS) or (bins and not 0 < sum(one.size for one in bins) < 2**53):
            raise ValueError(f"reliability counts nothing, or in other than {BINS} bins")
        confusion = np.zeros((classes, classes), dtype=np.int64)
        for true, predicted, count in cells:
            confusion[true, predicted] += count
        return cls(confusion, bins)


def is_uneven(commonest: float, classes: int) -> bool:
    """Tell whether a class with so large a share has over 1.5 times its fair one."""
    return commonest > UNEVEN / classes


def count_confusion(truth_N: Classes, guess_N: Classes, classes: int) -> NDArray[np.int64]:
    """Count how often each class was taken for each."""
    counts = np.zeros(classes * classes, dtype=np.int64)
    for start in range(0, len(truth_N), _AT_A_TIME):
        part = slice(start, start + _AT_A_TIME)
        cells = np.asarray(truth_N[part], dtype=np.int64) * classes + guess_N[part]
        counts += np.bincount(cells, minlength=classes * classes)
    return counts.reshape(classes, classes)


def reliability(confidence_N: Floats, right_N: NDArray[np.bool_]) -> tuple[ReliabilityBin, ...]:
    """Sort predictions into 15 bins by their confidence; an empty bin is all zeros."""
    edges = np.linspace(0, 1, BINS + 1)
    place_N = np.searchsorted(edges[1:-1], confidence_N)  # an edge belongs to the bin below it
    counts = np.bincount(place_N, minlength=BINS)
    certain, right = (np.bincount(place_N, weights=values, minlength=BINS) for values in (confidence_N, right_N))
    per = np.maximum(counts, 1)
    confidence = np.minimum(certain / per, 1.0)  # probabilities of 32 bits may add up to a hair more
    rows: Sequence[tuple[int, float, float]] = list(
        zip(counts.tolist(), confidence.tolist(), (right / per).tolist(), strict=True)
    )
    return tuple(ReliabilityBin(*row) for row in rows)


def _shares(parts: NDArray[np.int64], wholes: NDArray[np.int64]) -> Shares:
    return [part / whole if whole else None for part, whole in zip(parts.tolist(), wholes.tolist(), strict=True)]


def _pairs(counts: NDArray[np.int64]) -> list[Pair]:
    true, predicted = np.nonzero(counts)
    return list(zip(true.tolist(), predicted.tolist(), counts[true, predicted].tolist(), strict=True))
