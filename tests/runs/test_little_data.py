"""Too little, or too much of the same: every run goes on with what can be done, or says what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import deepbass
from deepbass.core.errors import DataError

COLUMNS: dict[str, Any] = {"device": "cpu"}
PICTURES: dict[str, Any] = {"initial_epochs": 1, "copies": 1, "guesses": 10, "iterations": 2, "device": "cpu"}


def samples(pictures: bool, count: int = 40, classes: int = 4) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make columns of numbers, or small pictures, that tell their class."""
    rng, y = np.random.default_rng(0), np.arange(count) % classes
    X = rng.normal(size=(count, 64)).astype(np.float32)
    X[np.arange(count), y] += 6
    return (X.reshape(-1, 1, 8, 8) if pictures else X[:, :8]), y


@pytest.fixture(params=[False, True], ids=["columns", "pictures"])
def pictures(request: pytest.FixtureRequest) -> bool:
    """Have every test made of both, which are learned from in different ways."""
    return bool(request.param)


def run(tmp_path: Path, pictures: bool, X: Any, y: Any, **settings: Any) -> deepbass.Result:
    """Run the default."""
    light = PICTURES if pictures else COLUMNS
    return deepbass.run(X, y, out=tmp_path / "run", **{**light, **settings})


def test_a_budget_below_the_number_of_classes_is_spent_and_what_was_met_is_learned(
    tmp_path: Path, pictures: bool
) -> None:
    X, y = samples(pictures)
    result = run(tmp_path, pictures, X, y, X_val=X, y_val=y, budget=3)
    assert len(result.labels.known) == 3
    assert 0 < result.accuracy <= 0.75 + 1e-9  # of classes that nobody met nothing can be known


def test_a_pool_smaller_than_the_budget_is_asked_about_to_the_last(tmp_path: Path, pictures: bool) -> None:
    X, y = samples(pictures, 12)
    result = run(tmp_path, pictures, X, y, X_val=X, y_val=y, budget=1000)
    assert len(result.labels.known) == 12
    assert result.ended is not None


def test_one_class_only_is_said(tmp_path: Path, pictures: bool) -> None:
    X, y = samples(pictures)
    with pytest.raises(DataError, match="one class only"):
        run(tmp_path, pictures, X, np.zeros_like(y))


@pytest.mark.parametrize("same", ["no spread", "three of each"])
def test_features_without_spread_and_a_graph_of_copies_are_learned_from_as_far_as_can_be(
    tmp_path: Path, pictures: bool, same: str
) -> None:
    X, y = samples(pictures, 60, classes=2)
    X = np.ones_like(X) if same == "no spread" else np.repeat(X[:20], 3, axis=0)
    y = y if same == "no spread" else np.repeat(y[:20], 3)
    result = run(tmp_path, pictures, X, y, X_val=X, y_val=y, budget=16, initial=10)
    assert result.accuracy >= 0.5 - 1e-9
    assert np.isfinite([metrics["validation_accuracy"] or 0.0 for metrics in result.history]).all()
    if same == "three of each" and not pictures:
        asked = result.labels.known
        assert len(np.unique(asked // 3)) == len(asked)  # copies are asked for once


def test_a_validation_part_of_one_class_is_judged_by(tmp_path: Path, pictures: bool) -> None:
    X, y = samples(pictures)
    only = y == 1
    result = run(tmp_path, pictures, X, y, X_val=X[only], y_val=y[only], budget=20)
    final = result.history[-1]
    assert final["commonest"] == 1 and final["balanced_accuracy"] == final["validation_accuracy"] == result.accuracy
    assert final["recall"] is not None and [share is None for share in final["recall"]] == [True, False, True, True]
