"""The paper's convolutional network with dropout after max pooling instead of before it."""

from __future__ import annotations

from torch import nn

from deepbass.learn.models import paper_cnn


def build(shape: tuple[int, ...], classes: int) -> nn.Sequential:
    """Take the paper's network and swap every pooling with the dropout before it."""
    layers = list(paper_cnn(shape, classes))
    for place, layer in enumerate(layers):
        if isinstance(layer, nn.MaxPool2d):
            layers[place - 1 : place + 1] = [layer, layers[place - 1]]
    return nn.Sequential(*layers)
