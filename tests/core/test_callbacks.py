"""Callbacks hear of every iteration, in order, and the first that wants to stop is heeded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deepbass
from deepbass.core.errors import ConfigError

Y = np.arange(60) % 2
X = (np.eye(3)[Y] * 2 + np.random.default_rng(0).normal(size=(60, 3)) / 2).astype(np.float32)
TINY: dict[str, Any] = {
    "model": "mlp",
    "initial": 6,
    "iterations": 6,
    "initial_epochs": 1,
    "passes_pool": 2,
    "passes_known": 2,
    "device": "cpu",
}


class Diary(deepbass.Callback):
    """Writes down what it hears, and has enough after some iterations."""

    def __init__(self, enough: int = 99) -> None:
        self.heard: list[Any] = []
        self.enough = enough

    def on_start(self, config: deepbass.Config) -> None:
        self.heard.append(config.iterations)

    def on_step(self, iteration: int, metrics: Mapping[str, Any]) -> str | None:
        self.heard.append((iteration, metrics["known"]))
        return "enough" if iteration == self.enough else None

    def on_end(self, ended: str | None) -> None:
        self.heard.append(ended)


def test_a_run_tells_all_that_happens_and_stops_when_it_is_told(tmp_path: Path) -> None:
    diary, whole = Diary(2), Diary()
    result = deepbass.run(X, Y, callbacks=[diary, whole], out=tmp_path / "run", **TINY)
    assert result.ended == "enough"
    assert [row if not isinstance(row, tuple) else row[0] for row in diary.heard] == [6, 0, 1, 2, "enough"]
    assert whole.heard == diary.heard
    assert len(deepbass.run(X, Y, callbacks=Diary(), out=tmp_path / "all", **TINY).history) == 7


def test_a_classifier_tells_the_same() -> None:
    diary = Diary(1)
    settings = {"ask_count": 2, "ask_every": 1, "initial_epochs": 1, "passes_pool": 2, "passes_known": 2}
    model = deepbass.DeepBASSClassifier(
        model="mlp", callbacks=diary, oracle=Y, budget=20, iterations=4, settings=settings, random_state=0
    )
    model.fit(X, np.where(np.arange(60) < 8, Y, -1))
    assert diary.heard == [4, (0, 8), (1, 10), "enough"]
    assert model.termination_condition_ == "enough"


def test_early_stop_waits_as_long_as_it_is_told() -> None:
    stop = deepbass.EarlyStop("known", patience=2, grows=True)
    said = [stop.on_step(iteration, {"known": known}) for iteration, known in enumerate([1, 2, 2, 3, 3, 3])]
    assert said == [None] * 5 + ["known was not better for 2 iterations"]
    stop.on_start(deepbass.Config())
    assert stop.on_step(0, {"known": None}) is None
    with pytest.raises(ConfigError, match="There is no metric 'known'"):
        stop.on_step(0, {"members": 1})
    with pytest.raises(ConfigError, match="patience"):
        deepbass.EarlyStop(patience=0)


def test_what_is_no_callback_is_refused(tmp_path: Path) -> None:
    strange: Any = [print]
    with pytest.raises(ConfigError, match=r"make it a deepbass\.Callback"):
        deepbass.run(X, Y, callbacks=strange, out=tmp_path / "run", **TINY)

    class Odd(deepbass.Callback):
        def on_step(self, iteration: int, metrics: Mapping[str, Any]) -> Any:
            return True

    with pytest.raises(ConfigError, match="on_step of Odd returned True"):
        deepbass.run(X, Y, callbacks=Odd(), out=tmp_path / "odd", **TINY)
