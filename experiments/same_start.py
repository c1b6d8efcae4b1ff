"""The paper's convolutional network with the same initial weights in all layers of one shape.

The code that the authors published gives every layer one initialiser with one seed, which draws the same numbers for
the second, third and fourth convolution.
"""

from __future__ import annotations

from torch import nn

from deepbass.learn.models import paper_cnn


def build(shape: tuple[int, ...], classes: int) -> nn.Sequential:
    """Take the paper's network and start convolutions of one shape with the weights of the first of them."""
    network = paper_cnn(shape, classes)
    _, second, *later = (layer for layer in network if isinstance(layer, nn.Conv2d))
    for layer in later:
        layer.load_state_dict(second.state_dict())
    return network
