"""The command ``deepbass`` with one thing done otherwise that no setting names.

python varied.py labels-of=3 run mnist --seed 0     the initial labels of seed 3; weights, order and masks of seed 0
python varied.py l2=convolutions run mnist          no L2 on the dense layer
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from deepbass.cli import main
from deepbass.core.config import Config
from deepbass.core.labels import Classes, Ids
from deepbass.data.initial import choose_initial
from deepbass.learn import learner, optimisation
from deepbass.learn.augment import Images, draw, warp
from deepbass.runs import lifecycle

_DENSE = 2  # dimensions of a dense layer's weights; a convolution's have four


def _labels_of(other: str) -> None:
    def choose(truth: Classes, classes: int | Sequence[str], count: int, seed: int) -> Ids:
        return choose_initial(truth, classes, count, int(other))

    vars(lifecycle)["choose_initial"] = choose


def _l2(where: str) -> None:
    if where != "convolutions":
        raise SystemExit(f"l2={where} is not known here: l2=convolutions is.")
    usual = optimisation.built_in

    def built_in(model: nn.Module, config: Config) -> torch.optim.Optimizer:
        optimizer = usual(model, config)
        decayed, free = (group["params"] for group in optimizer.param_groups)
        free += [weights for weights in decayed if weights.ndim == _DENSE]
        decayed[:] = [weights for weights in decayed if weights.ndim > _DENSE]
        return optimizer

    vars(optimisation)["built_in"] = built_in


def _augment(how: str) -> None:
    if how != "shifts":
        raise SystemExit(f"augment={how} is not known here: augment=shifts is.")
    vars(learner)["augment"] = _turn_and_shift


def _turn_and_shift(images: Images, rotate: float, shift: float, rng: np.random.Generator) -> Images:
    """Turn images, shift them by a share of their size, and add up to that share to all pixels of an image."""
    degrees, offsets = draw(len(images), rotate, shift, rng)
    turned = warp(images, degrees, np.ones((len(images), 2)))
    move = np.tile(np.eye(2, 3, dtype=np.float32), (len(images), 1, 1))
    move[:, :, 2] = 2 * (offsets - 1)  # torch counts from -1 to 1 over a side
    grid = F.affine_grid(torch.from_numpy(move), list(images.shape), align_corners=False)
    shifted = F.grid_sample(torch.from_numpy(turned), grid, padding_mode="border", align_corners=False)
    brighter = shift * rng.uniform(-1, 1, (len(images), 1, 1, 1))
    lowest, highest = (reduce(images, axis=(1, 2, 3), keepdims=True) for reduce in (np.min, np.max))
    return (shifted.numpy() + brighter).clip(lowest, highest).astype(np.float32)


if __name__ == "__main__":
    what, value = sys.argv.pop(1).split("=")
    {"labels-of": _labels_of, "l2": _l2, "augment": _augment}[what](value)
    main()
