"""Fine-tuning the last block of the network that knows photographs, for those who have time.

    deepbass run photos/ --features deepbass.features.fine_tuning:maps --model deepbass.features.fine_tuning:last_block

`maps` are features like others: what EfficientNet-Lite0 makes of a picture before its last block, computed once and
kept. `last_block` is a network like others: that block and the layer after it, as they were trained on ImageNet, then
dropout and a linear layer, all of it trained with the labels of the run. So runs are resumed, saved and predicted with
as ever. BatchNorm is folded into the convolutions: there is nothing in it that a few pictures could spoil.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import nn

from deepbass.core.errors import ConfigError
from deepbass.features.extractor import not_installed
from deepbass.features.imagenet import MEAN, STD, UNIT, WIDTH, load_network
from deepbass.features.installed import network_weights

SIDE = 160  # pixels: pictures are squares with a border, so that all maps have one size
DROPOUT = 0.33


def maps() -> nn.Module:
    """Make the network up to its last block; it is given pictures of 160 x 160 pixels."""
    return _Maps(_network())


def last_block(shape: Sequence[int], classes: int) -> nn.Module:
    """Make what comes after the maps, a picture's numbers of which have this ``shape``."""
    return _LastBlock(_network(), shape, classes)


def _network() -> nn.Module:
    path = network_weights()
    if path is None:
        raise not_installed("deepbass.features.fine_tuning:maps", "photos")
    return load_network(path)


class _Maps(nn.Module):
    """All blocks but the last."""

    side = SIDE
    default_cfg = {"input_size": (3, SIDE, SIDE), "mean": MEAN, "std": STD}  # noqa: RUF012 (read as timm's is)

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.stem, self.blocks = network._conv_stem, nn.ModuleList(list(network._blocks)[:-1])  # type: ignore[arg-type]

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Compute the maps of pictures, N x channels x places, as rows."""
        found = nn.functional.relu6(self.stem(pictures))  # type: ignore[operator]
        for block in self.blocks:
            found = block(found)
        return found.flatten(1)


class _LastBlock(nn.Module):
    """The last block and the layer after it, then dropout and a linear layer."""

    def __init__(self, network: nn.Module, shape: Sequence[int], classes: int) -> None:
        super().__init__()
        self.block: nn.Module = list(network._blocks)[-1]  # type: ignore[arg-type]
        self.top = network._conv_head
        self.channels: int = next(self.block.parameters()).shape[1]
        self.places = math.isqrt(math.prod(shape) // self.channels)
        if len(shape) != 1 or self.channels * self.places**2 != shape[0] or self.places * UNIT != SIDE:
            raise ConfigError(
                f"The last block takes what the network makes of pictures before it, and samples have the shape "
                f"{tuple(shape)}: choose features = 'deepbass.features.fine_tuning:maps' with it."
            )
        self.dropout = nn.Dropout(DROPOUT)
        self.linear = nn.Linear(WIDTH, classes)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Compute logits."""
        maps = rows.reshape(len(rows), self.channels, self.places, self.places)
        found = nn.functional.relu6(self.top(self.block(maps)))  # type: ignore[operator]
        logits: torch.Tensor = self.linear(self.dropout(found.mean((2, 3))))
        return logits
