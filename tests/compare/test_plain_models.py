"""What is called plain is worth its name: it learns, it takes any draw of labels, and it chooses on these alone."""

from __future__ import annotations

import numpy as np
import pytest

from deepbass.compare.plain_models import PlainTask, choose_by_folds, fit_plain, scalings
from deepbass.core.labels import Classes

LEARNING = ("logistic-regression", "svm", "self-training", "label-spreading")
NAMES = ("commonest", *LEARNING)


def blobs(rng: np.random.Generator, count: int, classes: int = 3) -> tuple[np.ndarray, Classes]:
    y = rng.integers(0, classes, count)
    X = rng.normal(size=(count, 5)).astype(np.float32)
    X[:, [0, 2, 3]] += 6.0 * y[:, None]
    return X * np.array([1, 100, 1, 1, 1e-3], dtype=np.float32), y  # columns of unlike size


def task_of(X: np.ndarray, y: Classes, others: np.ndarray | None = None) -> PlainTask:
    empty = np.empty((0, X.shape[1]), dtype=np.float32)
    return PlainTask(X.astype(np.float32), np.asarray(y, dtype=np.int64), empty if others is None else others, 0)


@pytest.mark.parametrize("name", LEARNING)
def test_it_learns_classes_that_lie_apart(name: str) -> None:
    rng = np.random.default_rng(0)
    X, y = blobs(rng, 300)
    model = fit_plain(name, task_of(X[:40], y[:40], X[40:200]))
    assert (model.predict(X[200:]) == y[200:]).mean() > 0.9
    assert model.chosen.keys() - {"scaling"}


def test_the_commonest_class_is_that_of_the_labels() -> None:
    model = fit_plain("commonest", task_of(np.zeros((5, 2)), np.array([2, 1, 2, 0, 2])))
    assert model.predict(np.zeros((3, 2), np.float32)).tolist() == [2, 2, 2]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "classes", [[0], [3, 3, 3], [0, 1], [0, 0, 0, 2], [4, 3, 2, 1, 0], [1, 1, 1, 1, 1, 1, 5]], ids=str
)
def test_any_draw_of_labels_can_be_learned_from(name: str, classes: list[int]) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(len(classes), 3))
    others = rng.normal(size=(20, 3)).astype(np.float32)
    guesses = fit_plain(name, task_of(X, np.array(classes), others)).predict(others)
    assert guesses.shape == (20,)
    assert set(guesses.tolist()) <= set(classes)


@pytest.mark.parametrize("name", NAMES)
def test_samples_without_spread_are_no_error(name: str) -> None:
    X = np.ones((12, 4), dtype=np.float32)
    model = fit_plain(name, task_of(X, np.array([0, 1] * 6), X))
    assert set(model.predict(X).tolist()) <= {0, 1}


def test_one_class_is_said_to_be_all_that_is_known() -> None:
    model = fit_plain("svm", task_of(np.zeros((2, 2)), np.array([1, 1])))
    assert "one class" in model.notes[0]


def test_a_choice_sees_labels_that_were_kept_back_and_nothing_else() -> None:
    rng = np.random.default_rng(2)
    X, y = blobs(rng, 60)
    seen: list[set[bytes]] = []

    def judge(candidate: str, fitted: np.ndarray, labels: Classes, held: np.ndarray) -> Classes:
        known, kept = ({row.tobytes() for row in part} for part in (fitted, held))
        assert not known & kept
        assert len(labels) == len(fitted)
        seen.append(kept)
        right = {row.tobytes(): int(class_) for row, class_ in zip(X, y, strict=True)}
        return np.array([right[row.tobytes()] if candidate == "right" else -1 for row in held])

    assert choose_by_folds(["wrong", "right", "wrong"], judge, task_of(X, y)) == "right"
    assert set.union(*seen) == {row.tobytes() for row in X}


def test_scalings_bring_features_to_one_size() -> None:
    X, y = blobs(np.random.default_rng(3), 50)
    by_column, by_length = (scaling(X) for scaling in scalings(task_of(X, y)))
    np.testing.assert_allclose(by_column.std(0), 1, rtol=1e-3)
    np.testing.assert_allclose(np.square(by_length).sum(1).mean(), 1, rtol=1e-3)
