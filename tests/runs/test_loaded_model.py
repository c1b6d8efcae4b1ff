"""One front door to every trained model: what was saved predicts as it did where it was trained."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import deepbass
from deepbass.core.errors import ConfigError, StoreError
from tests.runs.trained import on_points, on_rows, on_texts

RNG = np.random.default_rng(0)
Y = np.arange(60) % 2
X = (np.eye(3)[Y] * 2 + RNG.normal(size=(60, 3)) / 2).astype(np.float32)


def test_a_classifier_that_was_saved_predicts_in_another_process(tmp_path: Path) -> None:
    model = deepbass.DeepBASSClassifier(random_state=0).fit(X, np.array(["no", "yes"])[Y])
    model.save(tmp_path / "model")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import deepbass, numpy; m = deepbass.load('model'); x = numpy.load('X.npy'); "
        "numpy.save('probs.npy', m.predict_proba(x)); print(*m.predict(x))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=240
    )
    assert ran.stdout.split() == model.predict(X).tolist()
    np.testing.assert_allclose(np.load(tmp_path / "probs.npy"), model.predict_proba(X), atol=1e-6)
    with pytest.raises(StoreError, match="is not empty"):
        model.save(tmp_path / "model")


def test_a_session_that_was_saved_is_a_model(tmp_path: Path) -> None:
    session = deepbass.Session(X, y=[*Y[:10].tolist(), *[None] * 50])
    session.save(tmp_path / "session")
    loaded = deepbass.load(tmp_path / "session")
    assert loaded.predict(X).tolist() == [str(label) for label in session.predict()]


def test_a_table_is_a_frame_or_rows(tmp_path: Path) -> None:
    path = on_rows(tmp_path / "run", tmp_path / "rows.csv")
    frame = pd.read_csv(tmp_path / "rows.csv").drop(columns="fits")
    loaded = deepbass.load(path)
    rows: Any = frame.to_dict("records")
    np.testing.assert_array_equal(loaded.predict_proba(frame), loaded.predict_proba(rows))
    assert "rows of a table" in repr(loaded)


def test_a_frame_that_was_trained_on_with_holes_predicts_one_without() -> None:
    frame = pd.DataFrame(
        {"a": np.where(Y, 3.0, 0.0) + RNG.normal(size=60), "b": np.where(RNG.random(60) < 0.2, np.nan, Y)}
    )
    model = deepbass.DeepBASSClassifier(random_state=0).fit(frame, Y)
    assert model._model.features == "table"
    assert len(model.predict(frame.dropna())) == frame["b"].notna().sum()


def test_texts_are_texts(tmp_path: Path) -> None:
    loaded = deepbass.load(on_texts(tmp_path / "run", tmp_path / "texts.csv"))
    assert set(loaded.predict(pd.Series(["a great thing", "the crash"]))) <= set(loaded.classes)


def test_a_model_that_was_passed_in_is_passed_again_and_left_as_it_was(tmp_path: Path) -> None:
    own = nn.Sequential(nn.Linear(2, 8), nn.Dropout(0.3), nn.Linear(8, 2))
    path = on_points(tmp_path / "run", model=own)
    with pytest.raises(ConfigError, match=r"passed in Python: .*deepbass\.load\(.*model=\.\.\."):
        deepbass.load(path)
    before = {name: tensor.clone() for name, tensor in own.state_dict().items()}
    loaded = deepbass.load(path, model=own)
    assert all(torch.equal(tensor, before[name]) for name, tensor in own.state_dict().items())
    assert loaded.predict_proba(np.zeros((3, 2))).shape == (3, 2)


@pytest.mark.parametrize(("name", "says"), [("nowhere", "is not there"), ("empty", "is neither a run nor")])
def test_a_folder_without_a_model_is_refused_and_left_alone(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match=says) as refused:
        deepbass.load(tmp_path / name)
    assert "delete" not in str(refused.value).lower()
    with pytest.raises(StoreError) as refused:
        deepbass.resume(tmp_path / "empty")
    assert "delete" not in str(refused.value).lower()
