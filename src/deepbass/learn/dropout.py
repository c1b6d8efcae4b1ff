"""Monte-Carlo dropout for any nn.Module, and a quick source of dropout masks for training.

Dropout is switched on at the level of torch's functions, not of modules: while a mode below is active, every call of
a dropout function is caught on its way, be it from ``nn.Dropout``, from ``F.dropout(x, training=self.training)``
inside somebody's forward, or from attention. The modules themselves stay in evaluation mode, so BatchNorm and all
else behave as in plain inference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

_DROPOUTS: set[Callable[..., Tensor]] = {
    F.dropout,
    F.dropout1d,
    F.dropout2d,
    F.dropout3d,
    F.alpha_dropout,
    F.feature_alpha_dropout,
}
_ATEN_DROPOUTS = {
    *(torch.dropout, torch.feature_dropout, torch.alpha_dropout, torch.feature_alpha_dropout),
    *(torch.dropout_, torch.feature_dropout_, torch.alpha_dropout_, torch.feature_alpha_dropout_),
}
_WHOLE = {F.dropout, torch.dropout, torch.dropout_}  # drop single activations
_CHANNELS = {F.dropout1d: 3, F.dropout2d: 4, F.dropout3d: 5}  # drop channels of a batch with so many dimensions
_ATTENTION = {F.multi_head_attention_forward: 10, F.scaled_dot_product_attention: 4}  # where the rate stands
_RECURRENT = {"lstm", "gru", "rnn_tanh", "rnn_relu"}  # torch's functions behind nn.LSTM and its kin


def rate(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> float:
    """Tell the rate at which a call drops; 0 for one that is no dropout."""
    if func in _DROPOUTS or func in _ATEN_DROPOUTS:
        return float(args[1] if len(args) > 1 else kwargs.get("p", 0.5))
    if func in _ATTENTION:
        place = _ATTENTION[func]
        return float(args[place] if len(args) > place else kwargs.get("dropout_p", 0.0))
    if getattr(func, "__name__", "") in _RECURRENT:
        return float(args[_recurrent_rate(args)])
    return 0.0


def overwrites(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Tell whether a call is a dropout that works in place."""
    if func in _DROPOUTS:
        return bool(args[3] if len(args) > 3 else kwargs.get("inplace", False))
    return func in _ATEN_DROPOUTS and func.__name__.endswith("_")


def dropout_input(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Find what a dropout call is applied to."""
    tensor: Tensor = args[0] if args else kwargs["input"]
    return tensor


class McDropout(TorchFunctionMode):
    """Make every dropout random, whatever its module's mode.

    With ``shared``, one mask serves all samples of a batch: each sample still sees a fresh draw of the network in
    every pass, so its mean has the same distribution, at a fraction of the random numbers. Shared masks come from a
    ``generator`` of their own, if there is one; whatever else is random takes torch's.
    """

    def __init__(self, *, shared: bool, batch: int | None = None, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.shared = shared
        self.batch = batch  # samples in the batch under way; only tensors of that length share a mask
        self.calls = 0  # of dropout with p > 0, to tell why passes may be identical
        self._generator = generator

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        p = rate(func, args, kwargs)
        if p > 0.0:  # compiled code that read the count would be compiled anew for every value
            self.calls = 1 if torch.compiler.is_compiling() else self.calls + 1
        if func in _DROPOUTS or func in _ATEN_DROPOUTS:
            return self._dropout(func, dropout_input(args, kwargs), p, overwrites(func, args, kwargs))
        if func is F.multi_head_attention_forward:
            kwargs = {**kwargs, "training": True}
        elif getattr(func, "__name__", "") in _RECURRENT:
            flag = _recurrent_rate(args) + 1
            args = (*args[:flag], True, *args[flag + 1 :])
        return func(*args, **kwargs)

    def _dropout(self, func: Any, x: Tensor, p: float, inplace: bool) -> Tensor:
        if self._shares(func, x, p):
            mask = self._mask(func, x, p)
            return x.mul_(mask) if inplace else x * mask
        dropped: Tensor = func(x, p, True, inplace) if func in _DROPOUTS else func(x, p, True)
        return dropped

    def _shares(self, func: Any, x: Tensor, p: float) -> bool:
        if not self.shared or not 0.0 < p < 1.0 or isinstance(x, nn.Parameter):
            return False
        return (func in _WHOLE or _CHANNELS.get(func) == x.ndim) and x.shape[:1] == (self.batch,)

    def _mask(self, func: Any, x: Tensor, p: float) -> Tensor:
        one = x[:1] if func in _WHOLE else x[(slice(1), slice(None), *[slice(1)] * (x.ndim - 2))]
        mask = torch.empty(one.shape, dtype=x.dtype, device=x.device)
        mask.bernoulli_(1.0 - p, generator=self._generator).div_(1.0 - p)
        # drawn in one order whatever the layout, but laid out as x: to multiply across layouts takes twice the time
        return mask if one.is_contiguous() else torch.empty_like(one).copy_(mask)


def _recurrent_rate(args: tuple[Any, ...]) -> int:
    """Find the dropout rate, which the training flag follows: the only float among the arguments."""
    return next(i for i, arg in enumerate(args) if isinstance(arg, float))


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode; every module's mode is back as it was afterwards, also after an error."""
    with _modes_kept(model):
        model.eval()
        yield


@contextmanager
def training(model: nn.Module) -> Iterator[None]:
    """Put a model into training mode, and everything back afterwards."""
    with _modes_kept(model):
        model.train()
        yield


@contextmanager
def dropout_on(
    model: nn.Module, *, shared: bool = False, generator: torch.Generator | None = None
) -> Iterator[McDropout]:
    """Make a model's dropout random and keep all else in evaluation mode; everything is back afterwards."""
    with evaluating(model), McDropout(shared=shared, generator=generator) as mode:
        yield mode


@contextmanager
def _modes_kept(model: nn.Module) -> Iterator[None]:
    modes = [(module, module.training) for module in model.modules()]
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


class QuickDropout(TorchFunctionMode):
    """Draw training's dropout masks on the CPU from fast random bits: torch's own generator takes most of a step.

    Every sample and step has its own mask, as with nn.Dropout; only the source of the bits is another.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._bits = np.random.SFC64(seed)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        return self._dropout(*args, **kwargs) if func is F.dropout else func(*args, **kwargs)

    def _dropout(self, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:  # noqa: A002 (torch's name)
        if not training or p <= 0.0:
            return input
        if inplace or p >= 1.0 or input.device.type != "cpu" or not _dense(input):
            return F.dropout(input, p, training, inplace)
        return input * self._mask(input, p)

    def _mask(self, x: Tensor, p: float) -> Tensor:
        """Compare 16 random bits an activation with p: the rate is right to 1 in 65,536, the scale exactly so."""
        count, cut = x.numel(), min(max(round(p * 65536), 1), 65535)
        words = self._bits.random_raw(-(-count // 4))
        bits = torch.from_numpy(words.view(np.int16))[:count]
        keep = torch.empty_like(x, dtype=torch.bool)
        torch.ge(bits, cut - 32768, out=keep.as_strided((count,), (1,)))  # in the order of memory, any layout
        return keep.to(x.dtype).mul_(65536 / (65536 - cut))


def _dense(x: Tensor) -> bool:
    """Tell whether a tensor fills its memory without gaps, in whatever order of dimensions."""
    return x.is_contiguous() or (x.ndim == 4 and x.is_contiguous(memory_format=torch.channels_last))
