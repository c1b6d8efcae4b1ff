"""The command ``deepbass`` with one thing done otherwise that no setting names.

python varied.py labels-of=3 run mnist --seed 0     the initial labels of seed 3; weights, order and masks of seed 0
python varied.py l2=convolutions run mnist          no L2 on the dense layer
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import torch
from torch import nn

from deepbass.cli import main
from deepbass.core.config import Config
from deepbass.core.labels import Classes, Ids
from deepbass.data.initial import choose_initial
from deepbass.learn import learner
from deepbass.session import session

_DENSE = 2  # dimensions of a dense layer's weights; a convolution's have four


def _labels_of(other: str) -> None:
    def choose(truth: Classes, classes: int | Sequence[str], count: int, seed: int) -> Ids:
        return choose_initial(truth, classes, count, int(other))

    vars(session)["choose_initial"] = choose


def _l2(where: str) -> None:
    if where != "convolutions":
        raise SystemExit(f"l2={where} is not known here: l2=convolutions is.")
    usual = learner._adam

    def adam(model: nn.Module, config: Config) -> torch.optim.Adam:
        optimizer = usual(model, config)
        decayed, free = (group["params"] for group in optimizer.param_groups)
        free += [weights for weights in decayed if weights.ndim == _DENSE]
        decayed[:] = [weights for weights in decayed if weights.ndim > _DENSE]
        return optimizer

    vars(learner)["_adam"] = adam


if __name__ == "__main__":
    what, value = sys.argv.pop(1).split("=")
    {"labels-of": _labels_of, "l2": _l2}[what](value)
    main()
