"""What a run has to remember to be resumed on the same data, and to be understood later."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from importlib import metadata

import numpy as np
import torch

from deepbass import __version__
from deepbass.core.config import Config
from deepbass.core.labels import Ids
from deepbass.data.load import Data
from deepbass.data.pool import Pool

_AT_A_TIME = 1 << 18  # labels that are summed up
_LOOKED_AT = 256  # samples read for a fingerprint: enough to notice other data, quick on a million

# what an initial model does not depend on; a setting that is not named here tells two initial models apart
_LATER = {
    "iterations", "ask_count", "ask_every", "budget", "acquire", "quantile", "admit", "passes_pool", "passes_known",
    "confidence", "guesses", "predict_passes", "early_exit", "stop", "target_error", "epochs", "infer_batch", "masks",
    "oracle", "oracle_error", "replay", "keep_checkpoints",
}  # fmt: skip


def fingerprint(data: Data) -> str:
    """Sum up the pool, its labels and its validation part, to notice on a resume that they are not the same."""
    return _digest(data.classes, (data.pool, data.truth), (data.validation, data.validation_labels))


def pool_fingerprint(pool: Pool, items: Ids) -> str:
    """Sum up a pool and who its rows are, to notice on a resume that either is not the same."""
    return _digest((), (pool, items))


def _digest(classes: tuple[str, ...], *parts: tuple[Pool, Ids]) -> str:
    digest = hashlib.sha256()
    for pool, numbers in parts:
        some = np.unique(np.linspace(0, len(pool) - 1, _LOOKED_AT).astype(np.int64))
        digest.update(f"{len(pool)} {pool.shape} {classes}".encode())
        for start in range(0, len(numbers), _AT_A_TIME):
            digest.update(np.ascontiguousarray(numbers[start : start + _AT_A_TIME], dtype="<i8").tobytes())
        digest.update(pool.read(some).astype("<f4").tobytes())
    return digest.hexdigest()


def versions() -> dict[str, str | int]:
    """List what the results may depend on."""
    return {
        "deepbass": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "safetensors": metadata.version("safetensors"),
        "platform": f"{sys.platform} {platform.machine()}",
        "threads": torch.get_num_threads(),
    }


def initial_key(config: Config, data: Data, engine: str, initial: Ids) -> str:
    """Name an initial model by all that it depends on."""
    settings = {name: value for name, value in config.as_dict().items() if name not in _LATER}
    made_with = {name: value for name, value in versions().items() if name != "threads"}
    told = json.dumps([settings, made_with, fingerprint(data), engine, initial.tolist()], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:32]
