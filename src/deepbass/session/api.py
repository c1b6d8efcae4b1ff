"""The library's front door: run, resume, load_model. Each does in one call what the command does."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, cast

import safetensors.torch
from numpy.typing import ArrayLike
from torch import nn

from deepbass.core.config import Config
from deepbass.core.errors import DataError, StoreError
from deepbass.core.loop import Oracle
from deepbass.data.catalogue import NAMED
from deepbass.data.load import Data, from_arrays, load
from deepbass.learn.models import build
from deepbass.session.session import MODEL_FILE, Result, Session, Watch
from deepbass.session.settings import configure
from deepbass.store.rundir import RunDir


def run(
    data: str | PathLike[str] | ArrayLike,
    y: ArrayLike | None = None,
    *,
    X_val: ArrayLike | None = None,
    y_val: ArrayLike | None = None,
    model: nn.Module | str | None = None,
    oracle: Oracle | str | None = None,
    preset: str = "paper",
    out: str | PathLike[str] | None = None,
    folder: str | PathLike[str] | None = None,
    watch: Watch | None = None,
    **settings: Any,
) -> Result:
    """Run DeepBASS on named data, a path, or arrays (a label of -1 is unknown), and return the trained model.

    ``model`` and ``oracle`` are a name, as in the configuration, or your own: any ``nn.Module`` that returns logits,
    any object that can be asked. ``settings`` are the other fields of ``Config``. ``out`` is the run's directory, else
    ``runs/NAME-1`` and so on. ``folder`` is where data sets known by name may lie already.
    """
    names = {"model": model, "oracle": oracle}
    settings |= {field: name for field, name in names.items() if isinstance(name, str)}
    source = str(data) if isinstance(data, str | PathLike) else None
    config = configure(source or "arrays", preset, settings)
    own_model = None if isinstance(model, str) else copy.deepcopy(model)  # the caller's model stays as it is
    own_oracle = None if isinstance(oracle, str) else oracle
    if source is not None:
        return start(source, config, out=out, folder=folder, model=own_model, oracle=own_oracle, watch=watch)
    if y is None:
        raise DataError("Arrays need labels: call run(X, y), with -1 for the unknown ones.")
    loaded = from_arrays(cast(ArrayLike, data), y, X_val, y_val, config=config)
    return _go(out, config, loaded, None, model=own_model, oracle=own_oracle, watch=watch)


def start(
    source: str,
    config: Config,
    *,
    out: str | PathLike[str] | None = None,
    folder: str | PathLike[str] | None = None,
    model: nn.Module | None = None,
    oracle: Oracle | None = None,
    watch: Watch | None = None,
) -> Result:
    """Run on named data or a path, with a configuration that is ready."""
    loaded = load(source, config, folder=_path(folder), progress=watch is not None and watch.bars)
    lasting = source if source in NAMED else str(Path(source).expanduser().resolve())
    return _go(out, config, loaded, lasting, model=model, oracle=oracle, watch=watch)


def resume(
    path: str | PathLike[str],
    data: str | PathLike[str] | ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    X_val: ArrayLike | None = None,
    y_val: ArrayLike | None = None,
    model: nn.Module | None = None,
    oracle: Oracle | None = None,
    folder: str | PathLike[str] | None = None,
    watch: Watch | None = None,
) -> Result:
    """Go on with a stopped or killed run, to the same end as if it had never stopped.

    ``data`` says where the data is now, if it has moved; a run on arrays or with a model of its own gets them again.
    """
    with RunDir.open(path) as run_dir:
        loaded = _again(
            run_dir.about, data, y, X_val, y_val, folder=_path(folder), progress=watch is not None and watch.bars
        )
        session = Session.resume(run_dir, loaded, model=copy.deepcopy(model), oracle=oracle, watch=watch)
        return session.go()


def load_model(path: str | PathLike[str], model: nn.Module | None = None) -> nn.Module:
    """Load the trained network of a finished run, ready to predict; a model of your own is passed in to be filled."""
    with RunDir.open(path, lock=False) as run_dir:
        about = run_dir.about
    weights = Path(path) / MODEL_FILE
    if not weights.exists():
        raise StoreError(
            f"{path} has no {MODEL_FILE}: the run is not finished. `deepbass resume {path}` goes on with it."
        )
    network = (
        model
        if model is not None
        else build(Config.of(about["config"]), tuple(about["data"]["shape"]), len(about["data"]["classes"]))
    )
    network.load_state_dict(safetensors.torch.load(weights.read_bytes()))
    return network.eval()


def free_directory(name: str) -> Path:
    """Find the first of runs/NAME-1, runs/NAME-2, ... that is not there yet."""
    number = 1
    while (path := Path("runs") / f"{name}-{number}").exists():
        number += 1
    return path


def _go(
    out: str | PathLike[str] | None,
    config: Config,
    data: Data,
    source: str | None,
    *,
    model: nn.Module | None,
    oracle: Oracle | None,
    watch: Watch | None,
) -> Result:
    watch = watch or Watch()
    for note in data.notes:
        watch.on_note(note)
    where = Path(out) if out is not None else free_directory(data.name)
    with Session.create(where, config, data, source=source, model=model, oracle=oracle, watch=watch) as session:
        return session.go()


def _again(
    about: Mapping[str, Any],
    data: str | PathLike[str] | ArrayLike | None,
    y: ArrayLike | None,
    X_val: ArrayLike | None,
    y_val: ArrayLike | None,
    *,
    folder: Path | None,
    progress: bool,
) -> Data:
    config = Config.of(about["config"])
    if data is not None and not isinstance(data, str | PathLike):
        if y is None:
            raise DataError("Arrays need labels: call resume(path, X, y).")
        return from_arrays(data, y, X_val, y_val, config=config)
    source = data if data is not None else about["data"]["source"]
    if source is None:
        raise DataError("This run was started on arrays in Python: resume it there, with deepbass.resume(path, X, y).")
    return load(str(source), config, folder=folder, progress=progress)


def _path(folder: str | PathLike[str] | None) -> Path | None:
    return None if folder is None else Path(folder)
