"""How good predictions are: by hand, and as scikit-learn has it, also where classes never occur."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deepbass.core.quality import BINS, Quality, ReliabilityBin, is_uneven


def predictions(seed: int, classes: int, occurring: int, count: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw probabilities that are right more often than not, of classes of which some are rare and some never occur."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(occurring, size=count, p=np.arange(1, occurring + 1) / np.arange(1, occurring + 1).sum())
    logits = rng.normal(size=(count, classes)) + 2 * np.eye(classes)[truth]
    probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    return probabilities, truth


@pytest.mark.parametrize(("classes", "occurring"), [(2, 2), (3, 1), (10, 10), (10, 4), (60, 50)])
@pytest.mark.parametrize("count", [1, 7, 1000])
def test_the_numbers_are_scikit_learns(classes: int, occurring: int, count: int) -> None:
    from sklearn import metrics
    from sklearn.calibration import calibration_curve

    probabilities, truth = predictions(count, classes, occurring, count)
    quality, guess, every = Quality.of(probabilities, truth), probabilities.argmax(1), np.arange(classes)
    there = np.unique(truth)
    assert np.array_equal(quality.confusion, metrics.confusion_matrix(truth, guess, labels=every))
    assert quality.accuracy == metrics.accuracy_score(truth, guess)
    recall = metrics.recall_score(truth, guess, labels=every, average=None, zero_division=np.nan)
    precision = metrics.precision_score(truth, guess, labels=every, average=None, zero_division=np.nan)
    for ours, theirs in ((quality.recall, recall), (quality.precision, precision)):
        assert np.array_equal(np.array(ours, dtype=float), theirs, equal_nan=True)
    macro_recall = metrics.recall_score(truth, guess, labels=there, average="macro", zero_division=0)
    assert quality.balanced_accuracy == pytest.approx(macro_recall, abs=1e-15)
    macro_f1 = metrics.f1_score(truth, guess, labels=there, average="macro", zero_division=0)
    assert quality.macro_f1 == pytest.approx(macro_f1, abs=1e-15)
    shares, means = calibration_curve(guess == truth, probabilities.max(1), n_bins=BINS, strategy="uniform")
    filled = [one for one in quality.bins if one.size]
    assert np.allclose([one.accuracy for one in filled], shares, atol=1e-12)
    assert np.allclose([one.confidence for one in filled], means, atol=1e-12)
    assert sum(one.size for one in quality.bins) == quality.samples == count


def test_the_dummies_are_scikit_learns() -> None:
    from sklearn.dummy import DummyClassifier

    probabilities, truth = predictions(0, 5, 4, 20_000)
    quality, inputs = Quality.of(probabilities, truth), np.zeros((20_000, 1))
    always = DummyClassifier(strategy="most_frequent").fit(inputs, truth)
    assert quality.commonest == always.score(inputs, truth)
    drawn = DummyClassifier(strategy="stratified", random_state=0).fit(inputs, truth)
    assert quality.by_share == pytest.approx(drawn.score(inputs, truth), abs=0.015)


def test_six_predictions_by_hand() -> None:
    # four of class 0, two of class 1, none of class 2; right about three of class 0
    probabilities = np.array(
        [[0.9, 0.1, 0.0], [0.9, 0.1, 0.0], [0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.6, 0.4, 0.0], [0.4, 0.6, 0.0]]
    )
    quality = Quality.of(probabilities, np.array([0, 0, 0, 0, 1, 1]))
    assert quality.confusion.tolist() == [[3, 0, 1], [1, 1, 0], [0, 0, 0]]
    assert quality.accuracy == 4 / 6
    assert quality.recall == [3 / 4, 1 / 2, None]
    assert quality.precision == [3 / 4, 1.0, 0.0]
    assert quality.balanced_accuracy == 5 / 8
    assert quality.macro_f1 == pytest.approx((6 / 8 + 2 / 3) / 2)
    assert quality.commonest == 4 / 6
    assert quality.by_share == pytest.approx(16 / 36 + 4 / 36)
    assert quality.confused() == [(0, 2, 1), (1, 0, 1)]
    # bins by 15ths: 0.9 is in the 14th, 0.7 in the 11th, 0.6 lies on the upper edge of the 9th, 0.5 in the 8th
    assert quality.bins[13] == ReliabilityBin(2, 0.9, 1.0)
    assert quality.bins[8] == ReliabilityBin(2, 0.6, 0.5)
    assert quality.ece == pytest.approx((2 * 0.1 + 0.7 + 2 * 0.1 + 0.5) / 6)


def test_uneven_classes_are_told_from_even_ones() -> None:
    assert not is_uneven(0.75, 2)
    assert is_uneven(0.76, 2)
    assert not is_uneven(0.1135, 10)
    assert is_uneven(0.2, 10)


def test_probabilities_of_32_bits_stay_shares() -> None:
    certain = np.array([[1.0000001, 0.0]] * 3, dtype=np.float32)
    assert Quality.of(certain.astype(float), np.zeros(3, dtype=int)).ece == 0


def test_it_is_written_down_and_taken_up_as_it_was() -> None:
    quality = Quality.of(*predictions(3, 40, 30, 500))
    again = Quality.of_dict(json.loads(json.dumps(quality.as_dict())), 40)
    assert np.array_equal(again.confusion, quality.confusion)
    assert again.bins == quality.bins


@pytest.mark.parametrize(
    "change",
    [
        {"classes": 3},
        {"confusion": [[0, 2, 1]]},
        {"confusion": [[0, -1, 1]]},
        {"confusion": [[0, 1]]},
        {"confusion": []},
        {"confusion": [[0, 0, 10**60]]},
        {"confusion": 5},
        {"reliability": [[1, 0.5]]},
        {"reliability": [[1, 0.5, 1.5]]},
        {"reliability": [[0, 0.5, 0.5]] * 15},
        {"reliability": [[5, 0.5, 0.5]] * 14},
    ],
)
def test_what_was_never_written_is_refused(change: dict[str, Any]) -> None:
    plain = {"classes": 2, "confusion": [[0, 0, 5]], "reliability": [[5, 0.9, 1.0]] * 15, **change}
    with pytest.raises(ValueError, match=r"classes|confusion|reliability"):
        Quality.of_dict(plain, 2)
