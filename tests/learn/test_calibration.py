"""As sure as it is right: a temperature from labels that were kept back, the same wherever the network is used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import deepbass
from deepbass.core.belief import Floats
from deepbass.core.labels import Answers, Labels
from deepbass.core.lots import drawn
from deepbass.core.opinions import softmax
from deepbass.learn.held_back import HeldBack
from deepbass.learn.models import build
from deepbass.learn.packed_state import packed_weights
from deepbass.learn.teacher import TeacherLearner, last_layer
from tests.learn.test_teacher import CLASSES, FIRST, SHAPE, bars, config, learner, told


def hot(subject: TeacherLearner) -> Floats:
    """Work out what a temperature makes of predictions."""
    with torch.no_grad():
        logits = subject.model.eval()(torch.from_numpy(bars()[0].read(np.arange(20))))
    return softmax(logits.numpy() / subject.temperature)


def test_predictions_and_saved_weights_have_the_temperature_and_the_training_has_not() -> None:
    pool, classes = bars()
    subject, cool = learner(pool), learner(pool)
    for one in (subject, cool):
        one.train(told(classes, FIRST), epochs=1, copies=1, seed=0)
    subject.temperature = 2.5
    expected = hot(subject)
    np.testing.assert_allclose(subject.predict(pool, np.arange(20)), expected, atol=1e-5)
    other = build(config(), SHAPE, CLASSES)
    other.load_state_dict(packed_weights(subject.state(), "here"))
    with torch.no_grad():
        saved = other.eval()(torch.from_numpy(pool.read(np.arange(20)))).softmax(1)
        handed = subject.trained_model()(torch.from_numpy(pool.read(np.arange(20)))).softmax(1)
    np.testing.assert_allclose(saved.numpy(), expected, atol=1e-5)
    np.testing.assert_allclose(handed.numpy(), expected, atol=1e-5)
    seen = subject.calibrated(subject.infer(np.arange(20), passes=0, seed=0))
    np.testing.assert_allclose(seen.mean_N_C, expected, atol=1e-5)
    for ours, theirs in zip(subject.model.parameters(), cool.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)  # back to the last bit
    again = learner(pool)
    again.restore(subject.state())
    assert again.temperature == 2.5
    np.testing.assert_array_equal(again.predict(pool), subject.predict(pool))


def noted(sure: float, right: float, count: int = 200) -> tuple[HeldBack, Labels]:
    """Keep labels back that a network is so sure of, and so often right about."""
    rng, held = np.random.default_rng(0), HeldBack()
    answer = rng.integers(0, 2, count)
    said = np.where(np.arange(count) < right * count, answer, 1 - answer)
    probs_N_C = np.where(np.arange(2) == said[:, None], sure, 1 - sure)
    labels = Labels.none(1000, 2).answered(Answers(np.arange(count), answer))
    held.note(np.arange(count), True, labels, probs_N_C, probs_N_C)
    return held, labels


def test_who_is_more_sure_than_right_is_heated_and_nobody_is_made_surer() -> None:
    held, labels = noted(sure=0.99, right=0.8)
    heat = held.temperature(labels)
    assert softmax(np.log([0.99, 0.01]) / heat)[0] == pytest.approx(0.8, abs=0.03)
    held, labels = noted(sure=0.7, right=0.95)
    assert held.temperature(labels) == 1
    assert noted(sure=0.99, right=0.0, count=9)[0].temperature(noted(0.99, 0.0, 9)[1]) == 1  # too few to tell


def test_what_was_asked_in_doubt_has_no_say() -> None:
    held, labels = noted(sure=0.8, right=0.8)
    chosen = np.setdiff1d(np.arange(1000), [*range(200), *drawn(np.arange(1000), 300).tolist()])[:100]
    more = labels.answered(Answers(chosen, np.zeros(100, dtype=np.int64)))
    wrong = np.tile([0.01, 0.99], (100, 1))
    before = held.temperature(more)
    held.note(chosen, False, more, wrong, wrong)
    assert held.temperature(more) == before


def test_a_network_whose_last_layer_cannot_be_told_is_left_as_it_is() -> None:
    assert last_layer(nn.Sequential(nn.Linear(3, 2), nn.ReLU()), 2) is None
    assert last_layer(nn.Bilinear(2, 2, 2), 2) is None
    found = last_layer(build(config(), SHAPE, CLASSES), CLASSES)
    assert found is not None and found.out_features == CLASSES


def test_a_run_its_file_and_the_loaded_model_are_equally_sure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HeldBack, "temperature", lambda self, labels: 3.0)
    pool, classes = bars()
    X = pool.read(np.arange(len(classes)))
    settings: dict[str, Any] = {"budget": 30, "initial": 20, "iterations": 2, "device": "cpu"}
    light: dict[str, Any] = {"initial_epochs": 1, "copies": 2, "guesses": 20}
    result = deepbass.run(X, classes, X_val=X[:60], y_val=classes[:60], out=tmp_path / "run", **settings, **light)
    with torch.no_grad():
        ours = result.model(torch.from_numpy(X[:60])).softmax(1).numpy()
    loaded = deepbass.load(tmp_path / "run")
    np.testing.assert_allclose(loaded.predict_proba(X[:60]), ours, atol=1e-5)
    quality = deepbass.core.quality.Quality.of(ours, classes[:60])
    assert result.history[-1]["ece"] == pytest.approx(quality.ece, abs=1e-4)
