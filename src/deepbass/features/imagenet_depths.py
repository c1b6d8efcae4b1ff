"""Features of pictures at several depths of the network for photographs: what things they show, and what shapes.

Its last layer tells apart the things that ImageNet has. What is none of these, such as writing, cloth or a scan, is
often told apart better by what the blocks before it see (Head2Toe: Evci, Dumoulin, Larochelle and Mozer, 2022), and
they have been computed anyway.
"""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn.functional import relu6

from deepbass.features.imagenet import WIDTH, ImagenetFeatures, Penultimate

# blocks of the network that are seen beside its end, with channels, and how long what they say is in photographs:
# the root mean square distance from the centre, on CIFAR-10's training part
BLOCKS = {10: (112, 15.3), 14: (192, 37.4), 15: (320, 31.8)}
_LENGTH = 20.0  # of what its end says, likewise
_SHARE = 1 / 3  # of the square length that is the blocks', all in all


class ImagenetDepths(ImagenetFeatures):
    """A picture becomes what a network trained on ImageNet would judge it by, and what it sees on the way there."""

    name = "imagenet-depths"
    width = WIDTH + sum(channels for channels, _ in BLOCKS.values())

    def __init__(self, side: int) -> None:
        """Load the network, for pictures of about ``side`` x ``side`` pixels."""
        super().__init__(side)
        self.identity += f", blocks {', '.join(map(str, BLOCKS))} with a third"

    @staticmethod
    def _seen_of(network: nn.Module) -> Penultimate:
        return _Depths(network)

    def describe(self) -> str:
        """Say at what size a picture is seen."""
        return (
            f"imagenet-depths: {self.width:,} numbers a picture from the end of EfficientNet-Lite0 and {len(BLOCKS)} "
            f"blocks before it, which sees it whole, as large as {self.side} x {self.side} pixels are"
        )


class _Depths(Penultimate):
    """Means over all places, of the network's end and of some blocks."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__(network)
        part = math.sqrt(_SHARE / (1 - _SHARE) / len(BLOCKS)) * _LENGTH
        self.factors = {number: part / length for number, (_, length) in BLOCKS.items()}

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Compute the features of pictures, N x 3 x H x W: the end's come first."""
        network, on_the_way = self.network, []
        seen = relu6(network._conv_stem(pictures))  # type: ignore[operator]
        for number, block in enumerate(network._blocks):  # type: ignore[arg-type]
            seen = block(seen)
            if number in BLOCKS:
                on_the_way.append(seen.mean((2, 3)) * self.factors[number])
        end = relu6(network._conv_head(seen)).mean((2, 3))  # type: ignore[operator]
        return torch.cat([end, *on_the_way], 1)

    def judge(self, features: torch.Tensor) -> torch.Tensor:
        """Compute what the last layer makes of features: logits of its own classes."""
        return super().judge(features[:, :WIDTH])
