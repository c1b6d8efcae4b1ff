"""A network that is passed in Python: a module, or a function that makes one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from deepbass.core.errors import ConfigError

MakeNetwork = Callable[[tuple[int, ...], int], nn.Module]  # of the shape of a sample and the number of classes


class Networks:
    """The caller's network for any number of classes: a function makes one for each, a module is what it is."""

    def __init__(self, model: Any, shape: tuple[int, ...]) -> None:
        self._model, self._shape = model, shape

    def of(self, classes: int) -> nn.Module | None:
        """Make the network for so many classes; None where the model goes by a name."""
        return own_network(self._model, self._shape, classes)


def own_network(model: Any, shape: tuple[int, ...], classes: int) -> nn.Module | None:
    """Make the caller's network for samples of a shape; None where the model goes by a name."""
    if model is None or isinstance(model, str):
        return None
    if isinstance(model, nn.Module):
        return model
    if not callable(model):
        raise ConfigError(
            f"model = {model!r} is no network: give a name, a torch.nn.Module, or a function of (shape, classes) that "
            "makes one."
        )
    made = model(shape, classes)
    if not isinstance(made, nn.Module):
        raise ConfigError(
            f"model: {getattr(model, '__name__', model)!s}(shape={shape}, classes={classes}) returned a "
            f"{type(made).__name__}; it must return a torch.nn.Module that returns logits."
        )
    return made
