"""Mistakes that people make in Python: each is answered with what is wrong and what to do, before any training."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from torch import nn

import deepbass
from deepbass.core.errors import ConfigError, DeepBassError, NoDropoutError

Y = np.arange(40) % 2
X = (np.eye(3)[Y] * 2 + np.random.default_rng(0).normal(size=(40, 3)) / 2).astype(np.float32)
TINY: dict[str, Any] = {"initial": 6, "iterations": 0, "initial_epochs": 1, "device": "cpu"}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"device": "gpu"}, "Did you mean 'cuda'"),
        ({"device": "cuda:x"}, "Unknown device 'cuda:x'"),
        ({"device": "cuda:1"}, "Device 'cuda:1' is not"),
        ({"lr": 0.1}, "Did you mean 'learning_rate'"),
        ({"max_iter": 3}, "Did you mean 'iterations'"),
        ({"metric": "f1"}, "Unknown setting 'metric': all are measured .* `history`"),
        ({"optimiser": "sgd"}, "Did you mean 'optimizer'"),
        ({"criterion": "mse"}, "Did you mean 'loss'"),
        ({"optimizer": "lbfgs"}, "Unknown optimizer 'lbfgs'.* adam, adamw, sgd, or name your own"),
        ({"acquire": "entropy"}, "Did you mean 'max-entropy'"),
        ({"model": 3}, "model"),
        ({"oracle": 3.5}, "oracle = float cannot be asked"),
        ({"oracle": {0: "horse"}, "initial": [1], "iterations": 5, "acquire": "random", "ask_count": 30}, "'horse'"),
        ({"model": nn.Linear(7, 2)}, r"does not take samples of shape \(3,\).*mat1"),
        ({"model": nn.Sequential(nn.Dropout(), nn.Linear(3, 5))}, r"logits of shape \(2, 2\).*returned \(2, 5\)"),
        ({"model": nn.Linear(3, 2), "iterations": 1}, r"no active dropout.*deepbass\.with_dropout\(model\)"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_wrong_argument_is_named_with_what_is_meant(tmp_path: Path, wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(DeepBassError, match=says):
        deepbass.run(X, Y, out=tmp_path / "run", **{**TINY, **wrong})


def test_a_model_without_dropout_gets_it_in_one_word(tmp_path: Path) -> None:
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 2))
    settings: Any = {**TINY, "iterations": 1, "passes_pool": 2, "passes_known": 2}
    with pytest.raises(NoDropoutError):
        deepbass.run(X, Y, model=plain, out=tmp_path / "plain", **settings)
    deepbass.run(X, Y, model=deepbass.with_dropout(plain), out=tmp_path / "run", **settings)

    def make(shape: tuple[int, ...], classes: int) -> nn.Module:
        return nn.Sequential(nn.Linear(shape[0], 32), nn.Dropout(0.5), nn.Linear(32, classes))

    deepbass.run(X, Y, model=make, out=tmp_path / "made", **settings)
    assert deepbass.resume(tmp_path / "made", X, Y, model=make).ended == "1 iterations done"


def test_sparse_samples_are_taken_and_what_is_too_large_is_told_how_to_shrink(tmp_path: Path) -> None:
    result = deepbass.run(scipy.sparse.csr_array(X), Y, model="mlp", out=tmp_path / "sparse", **TINY)
    same = deepbass.run(X, Y, model="mlp", out=tmp_path / "dense", **TINY)
    assert result.history == same.history
    huge = scipy.sparse.csr_array((100_000, 50_000), dtype=np.float32)
    with pytest.raises(DeepBassError, match=r"18\.6 GB.*TruncatedSVD"):
        deepbass.run(huge, np.zeros(100_000), out=tmp_path / "huge", **TINY)


def test_floats_that_look_like_unscaled_pixels_are_mentioned(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (40, 8, 8)).astype(np.float32)
    with pytest.warns(UserWarning, match="from 0 to 255, which look like pixels that were not scaled"):
        deepbass.run(pixels, Y, features="pixels", out=tmp_path / "images", **TINY)
    with pytest.warns(UserWarning, match="divide them by 255"):
        deepbass.run(pixels.reshape(40, 64), Y, model="mlp", out=tmp_path / "flat", **TINY)
    scaled: list[Any] = [pixels / 255, pixels.astype(np.uint8)]
    for number, fine in enumerate(scaled):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            deepbass.run(fine, Y, features="pixels", out=tmp_path / f"fine-{number}", **TINY)


def test_a_data_error_is_a_value_error() -> None:
    assert issubclass(ConfigError, ValueError)
    with pytest.raises(ValueError, match="call run"):
        deepbass.run(X)
