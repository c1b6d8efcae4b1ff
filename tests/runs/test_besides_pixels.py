"""Runs whose network is advised, by the real network for photographs, or has neighbours that one taught itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

import deepbass
from deepbass.core.config import Config
from deepbass.data.pool import Pool
from deepbass.runs.besides_pixels import features_for_advice, places_of, settled
from deepbass.runs.lifecycle import Watch
from deepbass.store.event_rows import INITIAL
from deepbass.store.rundir import RunDir
from tests.runs.small_runs import everything

DIGITS = load_digits()
PICTURES = np.kron(15 * DIGITS.images[:120], np.ones((2, 2))).astype(np.uint8)  # of 16 x 16 pixels
X, Y = PICTURES[:80], DIGITS.target[:80]
X_VAL, Y_VAL = PICTURES[80:], DIGITS.target[80:120]
FEW: dict[str, Any] = {"budget": 30, "iterations": 3, "initial_epochs": 2, "copies": 3, "seed": 1}
TAUGHT = Config(teacher=0.9, admit="confident", advice="auto")


class Stopped(Exception):  # noqa: N818
    """What a test stops a run with."""


def run(path: Path, **more: Any) -> deepbass.Result:
    return deepbass.run(X, Y, X_val=X_VAL, y_val=Y_VAL, out=path, **{**FEW, **more})


def pool() -> Pool:
    return Pool(X[:, None], "train")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> deepbass.Result:
    return run(tmp_path_factory.mktemp("advised") / "whole")


def test_the_default_on_small_pictures_is_advised_and_says_so(whole: deepbass.Result, tmp_path: Path) -> None:
    assert whole.worth[-1].startswith("Advice by what a network for photographs sees: right about")
    with RunDir.open(whole.path) as begun:
        assert begun.about["config"]["advice"] == "imagenet"
    unadvised = run(tmp_path / "other", advice="none")
    assert not any("Advice" in line for line in unadvised.worth)


def test_a_stopped_run_goes_on_to_the_same_bits_and_its_model_needs_no_advice(
    whole: deepbass.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = tmp_path / "stopped"

    def stop(iteration: int, metrics: object) -> None:
        if iteration == 2:
            raise Stopped

    with pytest.raises(Stopped):
        run(stopped, watch=Watch(on_metrics=stop))
    deepbass.resume(stopped, X, Y, X_val=X_VAL, y_val=Y_VAL)
    assert everything(stopped) == everything(whole.path)
    monkeypatch.setattr("deepbass.features.installed.network_weights", lambda: None)
    assert deepbass.load(whole.path).predict(X_VAL).shape == (40,)


def test_a_run_whose_network_taught_itself_goes_on_to_the_same_bits_and_does_not_learn_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deepbass.learn.self_taught._PAIRS", 2_000)
    few: dict[str, Any] = {"advice": "none", "initial": 24, "budget": 32, "iterations": 4}
    wanted: dict[str, Any] = {"neighbours": "self-taught", **few}
    whole, pixels = run(tmp_path / "whole", **wanted), run(tmp_path / "pixels", **few)
    with RunDir.open(whole.path) as begun, RunDir.open(pixels.path) as other:
        assert begun.about["config"]["neighbours"] == "self-taught"
        assert other.about["config"]["neighbours"] == "pixels"  # what auto is for eighty pictures, for good
    assert everything(whole.path)["live_answers"] != everything(pixels.path)["live_answers"]
    with RunDir.open(whole.path) as begun:
        answers = begun.events.answers()
    first = [row.sample for row in answers if row.source == INITIAL]
    assert len(np.unique(Y[first])) == 10  # every class, so what follows is asked for amid doubts
    assert {row.iteration for row in answers if row.source != INITIAL} == {1, 2}  # before and after the stop below

    def stop(iteration: int, metrics: object) -> None:
        if iteration == 1:
            raise Stopped

    stopped = tmp_path / "stopped"
    with pytest.raises(Stopped):
        run(stopped, **wanted, watch=Watch(on_metrics=stop))
    monkeypatch.setattr("deepbass.learn.self_taught.SelfTaught._learn", lambda self: pytest.fail("it learned again"))
    deepbass.resume(stopped, X, Y, X_val=X_VAL, y_val=Y_VAL)
    assert everything(stopped) == everything(whole.path)
    assert deepbass.load(whole.path).predict(X_VAL).shape == (40,)


@pytest.mark.parametrize(
    ("samples", "settings", "meant"),
    [
        (np.zeros((500, 1, 12, 12), np.uint8), {}, "self-taught"),
        (np.zeros((499, 1, 12, 12), np.uint8), {}, "pixels"),
        (np.zeros((499, 1, 12, 12), np.uint8), {"neighbours": "self-taught"}, "self-taught"),
        (np.zeros((500, 1, 12, 12), np.uint8), {"views": "plain"}, "self-taught"),
        (np.zeros((500, 1, 12, 12), np.uint8), {"teacher": 0.0}, "pixels"),
        (np.zeros((500, 1, 12, 12), np.uint8), {"neighbours": "pixels"}, "pixels"),
        (np.zeros((500, 1, 11, 12), np.uint8), {"neighbours": "self-taught"}, "pixels"),  # there is too little to see
        (np.zeros((500, 20), np.float32), {"neighbours": "self-taught"}, "pixels"),
    ],
)
def test_what_neighbours_have_in_common(samples: Any, settings: dict[str, Any], meant: str) -> None:
    config = Config.of({**TAUGHT.as_dict(), "advice": "none", "neighbours": "auto", **settings})
    given = Pool(samples, "train")
    assert settled(config, given).neighbours == meant
    assert (places_of(given, config, lambda what, share: None) is None) == (meant == "pixels")


def test_features_are_computed_of_who_is_read_and_no_others() -> None:
    told: list[tuple[str, float]] = []
    some = pool().part(np.arange(10, 60))
    features = features_for_advice(some, TAUGHT, lambda what, share: told.append((what, share)))
    assert features is not None
    assert (len(features), features.shape) == (50, (1280,))
    few = features.read(np.array([3, 7]))
    assert told[-1] == ("computing features", 1.0)
    whole = features_for_advice(pool(), TAUGHT, lambda what, share: None)
    assert whole is not None
    np.testing.assert_allclose(few, whole.read(np.array([13, 17])), atol=1e-3)  # the same pictures


@pytest.mark.parametrize("less", [{"teacher": 0.0}, {"admit": "none"}, {"advice": "none"}])
def test_there_is_no_advice_where_nobody_wants_any(less: dict[str, Any]) -> None:
    assert features_for_advice(pool(), Config.of({**TAUGHT.as_dict(), **less}), lambda what, share: None) is None


def test_there_is_no_advice_on_what_is_no_picture_or_too_small_to_be_seen() -> None:
    assert features_for_advice(Pool(DIGITS.images[:, None], "train"), TAUGHT, lambda what, share: None) is None
    assert features_for_advice(Pool(np.zeros((9, 4), np.float32), "row"), TAUGHT, lambda what, share: None) is None


def test_without_a_network_for_photographs_auto_is_none_and_wanting_it_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("runs.besides_pixels", "features.imagenet", "features.choice"):
        monkeypatch.setattr(f"deepbass.{place}.network_weights", lambda: None)
    run(tmp_path / "auto", iterations=1)
    with RunDir.open(tmp_path / "auto") as begun:
        assert begun.about["config"]["advice"] == "none"  # and stays so where it goes on
    with pytest.raises(deepbass.DeepBassError, match=r"pip install 'deepbass\[photos\]'"):
        run(tmp_path / "wanted", advice="imagenet")
