"""Give a network the dropout that it was built without: in front of its last layer."""

from __future__ import annotations

import copy

import torch.nn.functional as F
from torch import Tensor, nn

from deepbass.core.errors import ConfigError


class LinearAfterDropout(nn.Linear):
    """A linear layer whose inputs are dropped first; its weights have the names that they had."""

    p: float

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 (torch's name)
        """Drop, then multiply."""
        return super().forward(F.dropout(input, self.p, self.training))


def with_dropout(model: nn.Module, p: float = 0.33) -> nn.Module:
    """Copy a network and put dropout of rate ``p`` in front of its last linear layer; the one given stays as it is.

    The names of the weights stay, so that what was saved with one is loaded with the other.
    """
    if not 0 < p < 1:
        raise ConfigError(f"p = {p!r} is no rate of dropout: give a share between 0 and 1, as in 0.3.")
    made = copy.deepcopy(model)
    layers = [(name, layer) for name, layer in made.named_modules() if isinstance(layer, nn.Linear)]
    if not layers:
        raise ConfigError(
            f"The model, a {type(model).__name__}, has no linear layer that dropout could be put in front of: add "
            "nn.Dropout where it should be."
        )
    name, last = layers[-1]
    dropped = copy.copy(last)
    dropped.__class__ = LinearAfterDropout
    dropped.p = p  # type: ignore[assignment]
    if not name:
        return dropped
    parent, _, own = name.rpartition(".")
    setattr(made.get_submodule(parent), own, dropped)
    return made
