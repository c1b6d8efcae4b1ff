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
_ATEN_DROPOUTS = {torch.dropout, torch.feature_dropout, torch.alpha_dropout, torch.feature_alpha_dropout}
_RECURRENT = {"lstm", "gru", "rnn_tanh", "rnn_relu"}  # torch's functions behind nn.LSTM and its kin


class McDropout(TorchFunctionMode):
    """Make every dropout random, whatever its module's mode.

    With ``shared``, one mask serves all samples of a batch: each sample still sees a fresh draw of the network in
    every pass, so its mean has the same distribution, at a fraction of the random numbers.
    """

    def __init__(self, *, shared: bool, batch: int | None = None) -> None:
        super().__init__()
        self.shared = shared
        self.batch = batch  # samples in the batch under way; only tensors of that length share a mask
        self.calls = 0  # of dropout with p > 0, to tell why passes may be identical

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _DROPOUTS:
            return self._dropout(func, *args, **kwargs)
        if func in _ATEN_DROPOUTS:
            return self._aten_dropout(func, *args, **kwargs)
        if func is F.multi_head_attention_forward:
            kwargs = {**kwargs, "training": True}
        elif getattr(func, "__name__", "") in _RECURRENT:
            args = _recurrent_training(args)
        return func(*args, **kwargs)

    def _dropout(self, func: Any, x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        self.calls += p > 0.0
        if self.shared and func is F.dropout and 0.0 < p < 1.0 and x.shape[:1] == (self.batch,):
            mask = torch.empty((1, *x.shape[1:]), dtype=x.dtype, device=x.device).bernoulli_(1.0 - p).div_(1.0 - p)
            return x.mul_(mask) if inplace else x * mask
        dropped: Tensor = func(x, p, True, inplace)
        return dropped

    def _aten_dropout(self, func: Any, input: Tensor, p: float, train: bool) -> Tensor:  # noqa: A002 (torch's name)
        self.calls += p > 0.0
        dropped: Tensor = func(input, p, True)
        return dropped


def _recurrent_training(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Set the training flag, which follows the dropout rate: the only float among the arguments."""
    flag = next(i for i, arg in enumerate(args) if isinstance(arg, float)) + 1
    return (*args[:flag], True, *args[flag + 1 :])


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
def dropout_on(model: nn.Module, *, shared: bool = False) -> Iterator[McDropout]:
    """Make a model's dropout random and keep all else in evaluation mode; everything is back afterwards."""
    with evaluating(model), McDropout(shared=shared) as mode:
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

    def _dropout(self, x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        if not training or p <= 0.0:
            return x
        if inplace or p >= 1.0 or x.device.type != "cpu" or not _dense(x):
            return F.dropout(x, p, training, inplace)
        return x * self._mask(x, p)

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
