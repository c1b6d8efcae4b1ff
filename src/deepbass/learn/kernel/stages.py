"""Recognise the models that the compiled kernel can run: plain chains of convolutions and linear layers."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator

import torch
from torch import nn

# beyond these, products of whole batches, as torch does them, are as quick or quicker
LARGEST_LINEAR = 12_000  # weights of all linear layers, and one more for every 8 multiplications of convolutions
LARGEST_CONVOLUTION = 128 * 128  # channels in times channels out
LARGEST_ACTIVATION = 1 << 22  # values
MOST_STAGES = 64
_KINDS = {nn.Conv2d, nn.Linear, nn.Flatten, nn.ReLU, nn.LeakyReLU, nn.Dropout, nn.MaxPool2d}


class Stage(ctypes.Structure):
    """One stage as chain.cpp reads it: a product, then activation, dropout, pooling, dropout, each optional."""

    _fields_ = (
        ("linear", ctypes.c_int32),
        ("ins", ctypes.c_int32),
        ("height", ctypes.c_int32),
        ("width", ctypes.c_int32),
        ("outs", ctypes.c_int32),
        ("pool", ctypes.c_int32),
        ("cut", ctypes.c_int32),  # a unit is dropped when 16 random bits are below it
        ("cut_after", ctypes.c_int32),
        ("slope", ctypes.c_float),  # of leaky ReLU; 1 is none
        ("scale", ctypes.c_float),
        ("scale_after", ctypes.c_float),
    )


class NotAChainError(Exception):
    """The model is something else."""


def stages_of(model: nn.Module, shape: tuple[int, ...]) -> tuple[list[Stage], list[nn.Conv2d | nn.Linear]] | None:
    """Describe a model as stages, with the layer that holds each one's weights; None when it is no such chain."""
    try:
        return _Reader(model, shape).read()
    except NotAChainError:
        return None


def _layers(module: nn.Module) -> Iterator[nn.Module]:
    """Walk through nested plain Sequentials, as their forward does."""
    hooks = (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks)
    _demand(not any(hooks) and "forward" not in vars(module))
    if type(module) is nn.Sequential:
        for child in module:
            yield from _layers(child)
    elif type(module) is not nn.Identity:
        yield module


class _Reader:
    def __init__(self, model: nn.Module, shape: tuple[int, ...]) -> None:
        self._model = model
        self._shape = shape  # of what the next layer sees: (channels, height, width), or (features,)
        self._flat = len(shape) == 1
        self._stages: list[Stage] = []
        self._weights: list[nn.Conv2d | nn.Linear] = []

    def read(self) -> tuple[list[Stage], list[nn.Conv2d | nn.Linear]]:
        for layer in _layers(self._model):
            self._take(layer)
        self._check()
        return self._stages, self._weights

    def _take(self, layer: nn.Module) -> None:
        _demand(type(layer) in _KINDS)  # a subclass may do anything
        match layer:
            case nn.Conv2d():
                self._convolution(layer)
            case nn.Linear():
                self._linear(layer)
            case nn.Flatten():
                _demand(layer.start_dim == 1 and layer.end_dim == -1)
                self._flat = True
            case nn.ReLU():
                self._activation(0.0)
            case nn.LeakyReLU():
                self._activation(layer.negative_slope)
            case nn.Dropout():
                self._dropout(layer.p)
            case nn.MaxPool2d():
                self._pool(layer)

    def _convolution(self, layer: nn.Conv2d) -> None:
        _demand(not self._flat and len(self._shape) == 3 and layer.in_channels == self._shape[0])
        _demand(layer.kernel_size == (3, 3) and layer.stride == (1, 1) and layer.dilation == (1, 1))
        _demand(layer.padding in ((1, 1), "same") and layer.padding_mode == "zeros" and layer.groups == 1)
        _, height, width = self._shape
        _demand(layer.in_channels * layer.out_channels <= LARGEST_CONVOLUTION)
        _demand(max(layer.in_channels, layer.out_channels) * height * width <= LARGEST_ACTIVATION)
        self._begin(layer, linear=0, ins=layer.in_channels, height=height, width=width, outs=layer.out_channels)
        self._shape = (layer.out_channels, height, width)

    def _linear(self, layer: nn.Linear) -> None:
        _demand(self._flat and layer.in_features == math.prod(self._shape))
        if not self._stages or len(self._shape) == 1:
            channels, height, width = layer.in_features, 1, 1
        else:
            channels, height, width = self._shape
        self._begin(layer, linear=1, ins=channels, height=height, width=width, outs=layer.out_features)
        self._shape = (layer.out_features,)

    def _begin(self, layer: nn.Conv2d | nn.Linear, **numbers: int) -> None:
        _demand(layer.weight.dtype == torch.float32)
        self._stages.append(Stage(**numbers, slope=1.0, scale=1.0, scale_after=1.0))
        self._weights.append(layer)

    def _activation(self, slope: float) -> None:
        stage = self._last()
        _demand(0.0 <= slope < 1.0 and stage.slope == 1.0 and not (stage.cut or stage.pool or stage.cut_after))
        stage.slope = slope

    def _dropout(self, p: float) -> None:
        stage = self._last()
        _demand(0.0 <= p < 1.0)
        if p == 0.0:
            return
        cut = min(max(round(p * 65536), 1), 65535)
        scale = 65536 / (65536 - cut)
        if stage.pool:
            _demand(not stage.cut_after)
            stage.cut_after, stage.scale_after = cut, scale
        else:
            _demand(not stage.cut)
            stage.cut, stage.scale = cut, scale

    def _pool(self, layer: nn.MaxPool2d) -> None:
        stage = self._last()
        _demand(not (self._flat or stage.linear or stage.pool) and min(self._shape[1:]) >= 2)
        _demand(layer.kernel_size in (2, (2, 2)) and layer.stride in (2, (2, 2)) and layer.padding in (0, (0, 0)))
        _demand(layer.dilation in (1, (1, 1)) and not layer.ceil_mode and not layer.return_indices)
        stage.pool = 1
        channels, height, width = self._shape
        self._shape = (channels, height // 2, width // 2)

    def _last(self) -> Stage:
        _demand(bool(self._stages))
        return self._stages[-1]

    def _check(self) -> None:
        """The last layer gives the logits and nothing else; all weights are there to be trained, each once."""
        _demand(0 < len(self._stages) <= MOST_STAGES)
        last = self._stages[-1]
        _demand(bool(last.linear) and last.slope == 1.0 and not last.cut)
        linear = sum(layer.weight.numel() for layer in self._weights if isinstance(layer, nn.Linear))
        convolved = sum(9 * s.ins * s.outs * s.height * s.width for s in self._stages if not s.linear)
        _demand(linear <= LARGEST_LINEAR + convolved // 8)
        weights = [weights for layer in self._weights for weights in layer.parameters()]
        _demand(len({id(w) for w in weights}) == len(weights) == len(list(self._model.parameters())))


def _demand(condition: bool) -> None:
    if not condition:
        raise NotAChainError
