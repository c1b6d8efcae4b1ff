"""The trained network of a run directory, of a labelling project, or of a folder made by ``deepbass export``.

Each may come from somebody else: nothing that they name is run, and whatever is in them is checked before it is used.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import nn

from deepbass.core.config import OWN, Config
from deepbass.core.errors import ConfigError, StoreError
from deepbass.core.foreign import decoding
from deepbass.core.own_model import check_named, check_same_kind, is_code
from deepbass.label.project import Project
from deepbass.label.trained_models import newest_checkpoint
from deepbass.learn.models import build
from deepbass.learn.packed_state import packed_weights
from deepbass.store.names import (
    FEATURES_FILE,
    LEARNER_FILE,
    MODEL_CONFIG_FILE,
    MODEL_FILE,
    PROJECT_FILE,
    RUN_FILE,
)
from deepbass.store.rundir import RunDir

_MOST_VALUES = 2**40  # of a sample
_RESTORE = "Restore it from a copy, or export the model again."
_PIXELS = "pixels"

Weights = dict[str, torch.Tensor]


@dataclass(frozen=True, eq=False)
class SavedModel:
    """What a folder has of its model."""

    path: Path
    config: Config  # its features are those that were computed, not "auto"
    shape: tuple[int, ...]
    classes: tuple[str, ...]
    weights: Weights
    where: str  # the weights come from
    extractor: Path | None  # the file of what computes features; None: the network sees samples as they are
    pixels: bool | None = None  # whether it was trained on bytes, which are divided by 256; None: nobody wrote it down
    note: str | None = None  # what the user should be told

    def network(self, model: nn.Module | str | None) -> nn.Module:
        """Fill ``model`` with the weights, or build the network anew; one's own has to be named by ``model``, too."""
        network = model if isinstance(model, nn.Module) else _build(self, model)
        try:
            network.load_state_dict(self.weights)
        except RuntimeError as error:
            raise StoreError(f"The weights in {self.where} do not fit the model: {error}") from error
        return network.eval()


def load_saved(path: Path, model: nn.Module | str | None) -> nn.Module:
    """Load the network of a finished run, or of an exported model."""
    saved = _read_run(path, finished=True) if (path / RUN_FILE).exists() else _read_exported(path)
    return saved.network(model)


def open_saved(path: Path) -> SavedModel:
    """Open the model of a run, finished or not, of a labelling project, or an exported one."""
    if (path / RUN_FILE).exists():
        return _read_run(path, finished=False)
    if (path / PROJECT_FILE).exists():
        return _read_project(path)
    if not path.is_dir():
        what = "is a file" if path.exists() else "is not there"
        raise StoreError(f"{path} {what}: {_GIVE}")
    return _read_exported(path)


_GIVE = "give the directory of a run or of a labelling project, or a folder that `deepbass export --format model` made."


def _read_run(path: Path, *, finished: bool) -> SavedModel:
    with RunDir.open(path, lock=False) as run_dir:
        about = run_dir.about
        done = (path / MODEL_FILE).exists()
        steps = [] if done else [row.iteration for row in run_dir.events.steps()]
        again = f"`deepbass resume {shlex.quote(str(path))}` goes on with it."
        if not done and (finished or not steps):
            what = "has no" if finished else "has no finished iteration, and no"
            raise StoreError(f"{path} {what} {MODEL_FILE}: the run is not finished. {again}")
        checkpoint = None if done else run_dir.checkpoints.newest(steps)[0]
    if checkpoint is None:
        return _checked(path, about["config"], about["data"], _read_weights(path), path / MODEL_FILE)
    where = f"checkpoint {checkpoint.iteration} of {path}"
    weights = packed_weights(checkpoint.files[LEARNER_FILE], where)
    saved = _checked(path, about["config"], about["data"], weights, where)
    total = saved.config.iterations
    note = f"the run is not finished: this is its model after iteration {checkpoint.iteration} of {total}. {again}"
    return replace(saved, note=note)


def _read_project(path: Path) -> SavedModel:
    model, checkpoint = newest_checkpoint(Project.open(path))
    where = f"{model.path}, iteration {checkpoint.iteration}"
    weights = packed_weights(checkpoint.files[LEARNER_FILE], where)
    data = {**model.about["data"], "classes": list(model.classes)}
    saved = _checked(model.path, model.about["config"], data, weights, where)
    return replace(saved, note=f"this is the project's model {model.name} after iteration {model.iteration}")


def _read_exported(path: Path) -> SavedModel:
    file = path / MODEL_CONFIG_FILE
    if not file.exists():
        raise StoreError(
            f"{path} is neither a run nor a labelling project nor a model: it has no {RUN_FILE}, no {PROJECT_FILE} and "
            f"no {MODEL_CONFIG_FILE}. {_GIVE.capitalize()}"
        )
    content = _read(file)
    with decoding(file, "JSON file", _RESTORE, StoreError):
        about = json.loads(content)
    if not isinstance(about, dict):
        raise _damaged(file, "it is no JSON object")
    if "pixels_divided_by" in about:
        divisor = about["pixels_divided_by"]
        about["pixels"] = None if divisor is None else divisor != 1
    return _checked(
        path, about.get("architecture"), about, _read_weights(path), path / MODEL_FILE, path / MODEL_CONFIG_FILE
    )


def _checked(
    path: Path,
    config: object,
    data: Mapping[str, Any],
    weights: Weights,
    where: object,
    file: Path | None = None,
) -> SavedModel:
    """Check what ``file`` (run.json, unless another is named) says of a model."""
    file = file or path / RUN_FILE
    shape, classes = data.get("shape"), data.get("classes")
    if not isinstance(config, dict):
        raise _damaged(file, "it does not say what the model is")
    if not isinstance(shape, list) or not shape or not all(isinstance(side, int) and side > 0 for side in shape):
        raise _damaged(file, f"shape = {shape!r} is no list of sizes")
    if math.prod(shape) > _MOST_VALUES:
        raise _damaged(file, f"shape = {shape!r} is of samples that no memory holds")
    if not isinstance(classes, list) or not classes or not all(isinstance(class_, str) for class_ in classes):
        raise _damaged(file, "classes is no list of names")
    pixels = data.get("pixels")
    if not isinstance(pixels, bool | None):
        raise _damaged(file, f"pixels = {pixels!r} is neither true nor false")
    extractor = path / FEATURES_FILE if (path / FEATURES_FILE).exists() else None
    try:
        used = data.get("features") or config.get("features") or _PIXELS
        if used == "auto":  # as in runs from before there were features
            used = _PIXELS
        chosen = Config.of({**config, "features": used})
    except (ConfigError, AttributeError, TypeError) as error:
        raise _damaged(file, error) from error
    return SavedModel(path, chosen, tuple(shape), tuple(classes), weights, str(where), extractor, pixels)


def _read_weights(path: Path) -> Weights:
    file = path / MODEL_FILE
    content = _read(file)
    with decoding(file, "safetensors file", _RESTORE, StoreError):
        return safetensors.torch.load(content)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise StoreError(f"Cannot read {file}: {error.strerror}. {_RESTORE}") from error


def _build(saved: SavedModel, named: str | None) -> nn.Module:
    model, path, outputs = saved.config.model, saved.path, len(saved.classes)
    again = f"deepbass.load({str(path)!r}, model={model!r}), or --model {shlex.quote(model)} on the command line"
    check_named(model, named, path, again)
    check_same_kind(model, named, path)
    if model == OWN:
        raise ConfigError(
            f"The model of {path} was passed in Python: pass one of the same kind, to be filled, as in "
            f"deepbass.load({str(path)!r}, model=...)."
        )
    if is_code(model):
        return build(saved.config, saved.shape, outputs, named=named)
    try:
        with torch.device("meta"):  # without memory: a damaged shape may ask for any amount of it
            expected = build(saved.config, saved.shape, outputs)
        fits = _shapes(expected.state_dict()) == _shapes(saved.weights)
    except (ConfigError, RuntimeError, TypeError, ValueError, OverflowError) as error:
        raise StoreError(f"{path} describes a model that cannot be built: {error}") from error
    if not fits:
        raise StoreError(
            f"The weights in {saved.where} are not those of the model {model!r} for samples of "
            f"{saved.shape} and {outputs} classes: one of the two was changed or is damaged."
        )
    return build(saved.config, saved.shape, outputs)


def _shapes(weights: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in weights.items()}


def _damaged(file: Path, how: object) -> StoreError:
    return StoreError(f"{file} was changed or is damaged: {how}. {_RESTORE}")
