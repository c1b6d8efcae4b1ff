"""The paper's two networks, a small one for pictures, and the hook for the user's own."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from deepbass.core.config import OWN, Config
from deepbass.core.errors import ConfigError
from deepbass.core.foreign import guarded, reason_of
from deepbass.core.loop import UNTRAINED
from deepbass.core.own_model import check_named, import_function, is_code
from deepbass.core.randomness import seed_for
from deepbass.learn.heads import LinearHead

DEPTHS, END = "imagenet-depths", 1280  # features that are seen on a network's way, and how many are its end's


def paper_cnn(shape: tuple[int, ...], classes: int, dropout: float = 0.33) -> nn.Sequential:
    """Build the paper's convolutional network: 14,970 parameters on 28 x 28 grey images and ten classes."""
    if len(shape) != 3 or min(shape[1:]) < 4:
        raise ConfigError(
            f"model 'cnn' needs images of at least 4 x 4 pixels (channels, height, width); the samples are {shape}. "
            "Use model 'mlp', or your own."
        )
    channels, height, width = shape
    layers: list[nn.Module] = []
    for block in range(4):
        layers += [
            nn.Conv2d(channels if block == 0 else 16, 16, 3, padding=1),
            nn.LeakyReLU(0.1, inplace=True),
            nn.Dropout(dropout),
        ]
        if block in (1, 3):
            layers.append(nn.MaxPool2d(2))
    features = 16 * (height // 2 // 2) * (width // 2 // 2)
    return _glorot(nn.Sequential(*layers, nn.Flatten(), nn.Linear(features, classes)))


def small_cnn(shape: tuple[int, ...], classes: int, dropout: float = 0.33) -> nn.Sequential:
    """Build a small network for pictures, in which dropout follows pooling.

    In the paper's, pooling takes the highest of what dropout left: with dropout off, it sees other activations than it
    was trained with. Here a pass without dropout is the mean of those with it, but for what is not linear. Blocks halve
    the sides until 8 pixels are left, at least two times; while the sides are large, blocks are cheap.
    """
    if len(shape) != 3 or min(shape[1:]) < 4:
        raise ConfigError(
            f"model 'small-cnn' needs images of at least 4 x 4 pixels (channels, height, width); the samples are "
            f"{shape}. Use model 'mlp', or your own."
        )
    channels, height, width = shape
    layers: list[nn.Module] = []
    blocks = 0
    while min(height, width) >= 4 and (blocks < 2 or max(height, width) > 8):
        wide = 16 if max(height, width) > 16 else 32
        for _ in range(1 if max(height, width) > 32 else 2):
            layers += [nn.Conv2d(channels, wide, 3, padding=1), nn.LeakyReLU(0.1, inplace=True)]
            channels = wide
        layers += [nn.MaxPool2d(2), nn.Dropout(dropout)]
        height, width, blocks = height // 2, width // 2, blocks + 1
    return _glorot(nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels * height * width, classes)))


def paper_mlp(shape: tuple[int, ...], classes: int, dropout: float = 0.33) -> nn.Sequential:
    """Build the paper's fully connected network: three hidden layers of fifty."""
    layers: list[nn.Module] = [nn.Flatten()]
    inputs = int(torch.Size(shape).numel())
    for _ in range(3):
        layers += [nn.Linear(inputs, 50), nn.LeakyReLU(0.1, inplace=True), nn.Dropout(dropout)]
        inputs = 50
    return _glorot(nn.Sequential(*layers, nn.Linear(inputs, classes)))


def build(config: Config, shape: tuple[int, ...], classes: int, *, named: str | None = None) -> nn.Module:
    """Make the configured model with initial weights that depend on the run's seed alone.

    A configuration may come from a folder, and a model of one's own is code: it is what the user has ``named`` that is
    run, and nothing else.
    """
    check_named(config.model, named, "The configuration", f"model={config.model!r}")
    if config.model == OWN:
        raise ConfigError(f"model = {OWN!r}: pass the model itself, as in deepbass.run(..., model=...).")
    with torch.random.fork_rng():
        torch.manual_seed(seed_for(config.seed, UNTRAINED, "weights"))
        if named is not None and is_code(config.model):
            return _users_own(named, shape, classes)
        name = config.model
        if name == "auto" and config.features not in ("auto", "pixels"):
            name = "linear"
        elif name == "auto":
            name = "cnn" if len(shape) == 3 and min(shape[1:]) >= 4 else "mlp"
        with guarded(lambda cause: ConfigError(_no_model(name, shape, classes, cause))):
            if name == "linear" and config.features in ("auto", "pixels") and len(shape) == 1:
                # columns of numbers, as they are
                return LinearHead(shape[0], classes, config.dropout, by_column=True, curved=True)
            if name == "linear" and config.features == "table":  # on scales of their own already
                return LinearHead(shape[0], classes, config.dropout, curved=True)
            if name == "linear" and config.features == DEPTHS:
                return LinearHead(shape[0], classes, config.dropout, end=END)
            return BUILT_IN[name](shape, classes, config.dropout)


def _no_model(name: str, shape: tuple[int, ...], classes: int, cause: Exception) -> str:
    return f"There is no model {name!r} for samples of shape {shape} and {classes} classes ({reason_of(cause)})."


def linear_head(shape: tuple[int, ...], classes: int, dropout: float = 0.33) -> LinearHead:
    """Build a linear layer on features; `HeadLearner` solves it."""
    return LinearHead(int(torch.Size(shape).numel()), classes, dropout)


BUILT_IN: dict[str, Callable[[tuple[int, ...], int, float], nn.Module]] = {
    "cnn": paper_cnn,
    "small-cnn": small_cnn,
    "mlp": paper_mlp,
    "linear": linear_head,
}


def parameters(model: nn.Module) -> int:
    """Count the learnable parameters."""
    return sum(weights.numel() for weights in model.parameters() if weights.requires_grad)


def _glorot(model: nn.Sequential) -> nn.Sequential:
    """Start as Keras does: Glorot uniform kernels, biases zero."""
    for layer in model:
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]
    return model


def _users_own(reference: str, shape: tuple[int, ...], classes: int) -> nn.Module:
    """Call the user's function, named as ``where:function``, with the sample shape and the number of classes."""
    function = import_function("model", reference)
    name = reference.rpartition(":")[2]
    model = function(shape, classes)
    if not isinstance(model, nn.Module):
        raise ConfigError(
            f"model {reference!r}: {name}(shape={shape}, classes={classes}) returned a {type(model).__name__}; "
            "it must return a torch.nn.Module that returns logits."
        )
    return model
