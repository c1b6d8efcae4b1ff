"""Callbacks that write every iteration where people look on: TensorBoard and MLflow. Each is an extra."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from deepbass.core.callbacks import Callback
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError
from deepbass.core.foreign import guarded, reason_of


class TensorBoardWriter(Callback):
    """Write the metrics of every iteration for TensorBoard: ``tensorboard --logdir FOLDER`` shows them.

    A run that goes on writes into the same folder, and its curves go on, too.
    """

    def __init__(self, folder: str | PathLike[str] = "tensorboard") -> None:
        """Say where to write; the folder is made when a run begins."""
        self.folder = Path(folder)
        self._writer: Any = None

    def on_start(self, config: Config) -> None:
        """Open a file in the folder, and write down all settings."""
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise _missing("TensorBoardWriter", "tensorboard") from error
        with guarded(lambda cause: ConfigError(f"Cannot write to {self.folder}: {reason_of(cause)}. Name another.")):
            self._writer = SummaryWriter(str(self.folder))
        rows = "".join(f"| {name} | {value} |\n" for name, value in config.as_dict().items())
        self._writer.add_text("settings", f"| setting | value |\n|---|---|\n{rows}", 0)

    def on_step(self, iteration: int, metrics: Mapping[str, Any]) -> None:
        """Write what was measured, and have it on disk."""
        for name, value in numbers_of(metrics):
            self._writer.add_scalar(name, value, iteration)
        self._writer.flush()

    def on_end(self, ended: str | None) -> None:
        """Write why it is over, and close the file."""
        self._writer.add_text("ended", str(ended), 0)
        self._writer.close()
        self._writer = None


class MLflowWriter(Callback):
    """Write settings and the metrics of every iteration as a run of MLflow, on this machine or on a server.

    ``tracking_uri`` is where MLflow keeps its runs, as in ``"sqlite:///mlflow.db"`` or ``"http://server:5000"``; None:
    what MLflow itself is set to. After the start ``run_id`` names the run; given again, it is gone on with.
    """

    def __init__(
        self,
        tracking_uri: str | None = None,
        *,
        experiment: str = "deepbass",
        name: str | None = None,
        run_id: str | None = None,
    ) -> None:
        """Say where to write; nothing is opened before a run begins."""
        self.tracking_uri, self.experiment, self.name, self.run_id = tracking_uri, experiment, name, run_id
        self._client: Any = None

    def on_start(self, config: Config) -> None:
        """Begin a run of MLflow, or go on with one, and write down all settings."""
        try:
            from mlflow import MlflowClient
            from mlflow.entities import Param, RunTag
        except ImportError as error:
            raise _missing("MLflowWriter", "mlflow") from error
        with guarded(self._refused):
            self._client = client = MlflowClient(tracking_uri=self.tracking_uri)
            if self.run_id is None:
                found = client.get_experiment_by_name(self.experiment)
                place = client.create_experiment(self.experiment) if found is None else found.experiment_id
                self.run_id = client.create_run(place, run_name=self.name).info.run_id
            else:
                client.set_terminated(self.run_id, "RUNNING")
            params = [Param(name, str(value)) for name, value in config.as_dict().items()]
            client.log_batch(self.run_id, params=params, tags=[RunTag("deepbass", "run")])

    def on_step(self, iteration: int, metrics: Mapping[str, Any]) -> None:
        """Write what was measured."""
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        with guarded(self._refused):
            written = [Metric(name, value, now, iteration) for name, value in numbers_of(metrics)]
            self._client.log_batch(self.run_id, metrics=written)

    def on_end(self, ended: str | None) -> None:
        """Write why it is over, and finish the run of MLflow."""
        with guarded(self._refused):
            self._client.set_tag(self.run_id, "ended", str(ended))
            self._client.set_terminated(self.run_id)
        self._client = None

    def _refused(self, cause: Exception) -> ConfigError:
        where = "where MLflow is set to" if self.tracking_uri is None else self.tracking_uri
        return ConfigError(f"MLflow cannot write to {where}: {reason_of(cause)}.")


def numbers_of(metrics: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Flatten metrics to numbers with names; those of classes are numbered, and what was not measured is left out."""
    for name, value in metrics.items():
        if isinstance(value, list | tuple):
            yield from ((f"{name}/{place}", float(each)) for place, each in enumerate(value) if each is not None)
        elif value is not None:
            yield name, float(value)


def _missing(what: str, extra: str) -> ConfigError:
    return ConfigError(f"deepbass.{what} takes {extra}, which is missing: pip install 'deepbass[{extra}]'.")
