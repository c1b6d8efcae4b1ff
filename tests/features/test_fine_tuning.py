"""The last block is that of the network, is trained with the head, and a stopped run goes on to the same bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import deepbass
from deepbass.core.errors import ConfigError
from deepbass.features import fine_tuning
from deepbass.features.imagenet import ImagenetFeatures
from deepbass.features.own_features import OwnFeatures
from deepbass.runs.predictor import Predictor
from tests.runs.small_runs import everything

MODULE = "deepbass.features.fine_tuning"
NAMES: dict[str, Any] = {"features": f"{MODULE}:maps", "model": f"{MODULE}:last_block"}


def colours(count: int, seed: int = 0) -> tuple[np.ndarray[Any, np.dtype[np.uint8]], np.ndarray[Any, Any]]:
    """Make small pictures, reddish or bluish."""
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 2
    X = rng.integers(0, 120, (count, 3, 16, 16))
    X[np.arange(count), 2 * y] += 120
    return X.astype(np.uint8), y


def test_maps_and_last_block_together_are_the_network_itself() -> None:
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 255, (160, 160, 3), dtype=np.uint8))
    own = OwnFeatures(f"{MODULE}:maps", "image")
    (row,) = own.compute([picture])
    block = fine_tuning.last_block(row.shape, 3).eval()
    seen: list[torch.Tensor] = []
    block.get_submodule("linear").register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    with torch.inference_mode():
        block(torch.from_numpy(row[None]))
    assert np.allclose(seen[0].numpy(), ImagenetFeatures(160).compute([picture]), atol=1e-4)
    with pytest.raises(ConfigError, match=f"choose features = '{MODULE}:maps' with it"):
        fine_tuning.last_block((1280,), 3)


def test_a_run_trains_the_block_is_resumed_to_the_same_bits_and_predicts(tmp_path: Path) -> None:
    X, y = colours(24)
    settings: dict[str, Any] = {
        "initial": 14, "iterations": 2, "ask_count": 2, "ask_every": 1, "initial_epochs": 2, "copies": 2, "l2": 0.0,
        "learning_rate": 3e-4, "passes_pool": 2, "passes_known": 2, "admit": "none", "device": "cpu", **NAMES,
    }  # fmt: skip
    whole = deepbass.run(X, y, out=tmp_path / "whole", **settings)

    class StopError(Exception):
        pass

    def stop(iteration: int, metrics: Any) -> None:
        if iteration == 1:
            raise StopError

    with pytest.raises(StopError):
        deepbass.run(X, y, out=tmp_path / "part", watch=deepbass.Watch(on_metrics=stop), **settings)
    deepbass.resume(tmp_path / "part", X, y, **NAMES)
    assert everything(tmp_path / "part") == everything(tmp_path / "whole")

    before = dict(fine_tuning.last_block((4800,), 2).named_parameters())
    moved = {name for name, now in whole.model.named_parameters() if not torch.equal(now, before[name])}
    assert any(name.startswith("block.") for name in moved) and any(name.startswith("top.") for name in moved)
    unseen, truth = colours(6, seed=1)
    predictor = Predictor.load(tmp_path / "whole", **NAMES)
    assert (predictor.predict(unseen).argmax(1) == truth).all()
    with pytest.raises(ConfigError, match="name it again"):
        Predictor.load(tmp_path / "whole")
