"""What TensorBoard and MLflow are told, they tell again: read back with their own readers."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import deepbass
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError
from deepbass.writers import numbers_of

# extras that a library of lowest versions cannot have beside it; `make test` installs them
needs_both = pytest.mark.skipif(
    find_spec("mlflow") is None or find_spec("tensorboard") is None, reason="needs the extras tensorboard and mlflow"
)

TINY: dict[str, Any] = {
    "pool": 40,
    "initial": 4,
    "iterations": 3,
    "passes_pool": 2,
    "passes_known": 2,
    "initial_epochs": 1,
    "device": "cpu",
}


class CtrlC(deepbass.Callback):
    """Presses Ctrl-C after an iteration."""

    def on_step(self, iteration: int, metrics: Any) -> None:
        if iteration == 1:
            raise KeyboardInterrupt


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name a store of plain files: a database takes seconds to be made."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    return (tmp_path / "mlflow").as_uri()


@needs_both
def test_a_run_that_is_stopped_and_goes_on_is_one_curve_in_both(tmp_path: Path, store: str) -> None:
    from mlflow import MlflowClient
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    board = deepbass.TensorBoardWriter(tmp_path / "board")
    flow = deepbass.MLflowWriter(store, experiment="toys", name="one")
    with pytest.raises(KeyboardInterrupt):
        deepbass.run("toy", out=tmp_path / "run", callbacks=[board, flow, CtrlC()], **TINY)
    assert flow.run_id is not None
    again = deepbass.MLflowWriter(store, run_id=flow.run_id)
    result = deepbass.resume(tmp_path / "run", callbacks=[deepbass.TensorBoardWriter(tmp_path / "board"), again])

    read = EventAccumulator(str(tmp_path / "board"))
    read.Reload()
    client = MlflowClient(tracking_uri=store)
    told = client.get_run(flow.run_id)
    assert (told.info.status, told.info.run_name, told.data.tags["ended"]) == ("FINISHED", "one", "3 iterations done")
    assert told.data.params == {name: str(value) for name, value in config_of(result).items()}
    names = {name for row in result.history for name, _ in numbers_of(dict(row))}
    assert names == set(read.Tags()["scalars"]) == set(told.data.metrics)
    assert "recall/1" in names
    for name in names:
        expected: list[Any] = [
            (step, pytest.approx(dict(numbers_of(dict(row)))[name]))
            for step, row in enumerate(result.history)
            if name in dict(numbers_of(dict(row)))
        ]
        assert [(event.step, event.value) for event in read.Scalars(name)] == expected
        history = client.get_metric_history(flow.run_id, name)
        assert sorted((metric.step, metric.value) for metric in history) == expected
    assert {"settings/text_summary", "ended/text_summary"} <= set(read.Tags()["tensors"])


def config_of(result: deepbass.Result) -> dict[str, Any]:
    from deepbass.store.rundir import RunDir

    with RunDir.open(result.path, lock=False) as run_dir:
        config: dict[str, Any] = run_dir.about["config"]
        return config


@pytest.mark.parametrize(
    ("writer", "library", "extra"),
    [
        (deepbass.TensorBoardWriter, "torch.utils.tensorboard", "tensorboard"),
        (deepbass.MLflowWriter, "mlflow", "mlflow"),
    ],
)
def test_what_is_missing_is_named(writer: Any, library: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ConfigError, match=rf"pip install 'deepbass\[{extra}\]'"):
        writer().on_start(Config())


@needs_both
def test_where_nothing_can_be_written_is_named(tmp_path: Path, store: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"Cannot write to .*file"):
        deepbass.TensorBoardWriter(tmp_path / "file").on_start(Config())
    with pytest.raises(ConfigError, match="MLflow cannot write to file:"):
        deepbass.MLflowWriter(store, run_id="0" * 32).on_start(Config())
