"""The trained network of a run directory, or of a folder made by ``deepbass export --format model``.

Either may come from somebody else: nothing that they name is run, and whatever is in them is checked before it is used.
"""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import nn

from deepbass.core.config import OWN, Config
from deepbass.core.errors import ConfigError, StoreError
from deepbass.core.foreign import decoding
from deepbass.core.own_model import check_named, check_same_kind, is_code
from deepbass.learn.models import build
from deepbass.store.names import MODEL_CONFIG_FILE, MODEL_FILE, RUN_FILE
from deepbass.store.rundir import RunDir

_MOST_VALUES = 2**40  # of a sample
_RESTORE = "Restore it from a copy, or export the model again."


@dataclass(frozen=True)
class _Saved:
    """What a folder says of its model."""

    path: Path
    config: Config
    shape: tuple[int, ...]
    classes: int


def load_saved(path: Path, model: nn.Module | str | None) -> nn.Module:
    """Load the network of a folder: into ``model``, or built anew; one's own has to be named by ``model``, too."""
    saved = _read_run(path) if (path / RUN_FILE).exists() else _read_exported(path)
    weights = _read_weights(path)
    network = model if isinstance(model, nn.Module) else _build(saved, weights, model)
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise StoreError(f"The weights in {path / MODEL_FILE} do not fit the model: {error}") from error
    return network.eval()


def _read_run(path: Path) -> _Saved:
    with RunDir.open(path, lock=False) as run_dir:
        about = run_dir.about
    if not (path / MODEL_FILE).exists():
        again = f"deepbass resume {shlex.quote(str(path))}"
        raise StoreError(f"{path} has no {MODEL_FILE}: the run is not finished. `{again}` goes on with it.")
    data = about["data"]
    return _checked(path, RUN_FILE, about["config"], data.get("shape"), data.get("classes"))


def _read_exported(path: Path) -> _Saved:
    file = path / MODEL_CONFIG_FILE
    if not file.exists():
        raise StoreError(
            f"{path} is neither a run nor an exported model: it has no {RUN_FILE} and no {MODEL_CONFIG_FILE}. Give the "
            "directory of a finished run, or a folder that `deepbass export --format model` made."
        )
    content = _read(file)
    with decoding(file, "JSON file", _RESTORE, StoreError):
        about = json.loads(content)
    if not isinstance(about, dict):
        raise _damaged(file, "it is no JSON object")
    return _checked(path, MODEL_CONFIG_FILE, about.get("architecture"), about.get("shape"), about.get("classes"))


def _checked(path: Path, name: str, config: object, shape: object, classes: object) -> _Saved:
    file = path / name
    if not isinstance(config, dict):
        raise _damaged(file, "it does not say what the model is")
    if not isinstance(shape, list) or not shape or not all(isinstance(side, int) and side > 0 for side in shape):
        raise _damaged(file, f"shape = {shape!r} is no list of sizes")
    if math.prod(shape) > _MOST_VALUES:
        raise _damaged(file, f"shape = {shape!r} is of samples that no memory holds")
    if not isinstance(classes, list) or not classes or not all(isinstance(class_, str) for class_ in classes):
        raise _damaged(file, "classes is no list of names")
    try:
        return _Saved(path, Config.of(config), tuple(shape), len(classes))
    except (ConfigError, AttributeError, TypeError) as error:
        raise _damaged(file, error) from error


def _read_weights(path: Path) -> dict[str, torch.Tensor]:
    file = path / MODEL_FILE
    content = _read(file)
    with decoding(file, "safetensors file", _RESTORE, StoreError):
        return safetensors.torch.load(content)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise StoreError(f"Cannot read {file}: {error.strerror}. {_RESTORE}") from error


def _build(saved: _Saved, weights: dict[str, torch.Tensor], named: str | None) -> nn.Module:
    model, path = saved.config.model, saved.path
    check_named(model, named, path, f"deepbass.load_model({str(path)!r}, model={model!r})")
    check_same_kind(model, named, path)
    if model == OWN:
        raise ConfigError(
            f"The model of {path} was passed in Python: pass one of the same kind, to be filled, as in "
            f"deepbass.load_model({str(path)!r}, model=...)."
        )
    if is_code(model):
        return build(saved.config, saved.shape, saved.classes, named=named)
    try:
        with torch.device("meta"):  # without memory: a damaged shape may ask for any amount of it
            expected = build(saved.config, saved.shape, saved.classes)
        fits = _shapes(expected.state_dict()) == _shapes(weights)
    except (ConfigError, RuntimeError, TypeError, ValueError, OverflowError) as error:
        raise StoreError(f"{path} describes a model that cannot be built: {error}") from error
    if not fits:
        raise StoreError(
            f"The weights in {path / MODEL_FILE} are not those of the model {model!r} for samples of "
            f"{saved.shape} and {saved.classes} classes: one of the two was changed or is damaged."
        )
    return build(saved.config, saved.shape, saved.classes)


def _shapes(weights: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in weights.items()}


def _damaged(file: Path, how: object) -> StoreError:
    return StoreError(f"{file} was changed or is damaged: {how}. {_RESTORE}")
