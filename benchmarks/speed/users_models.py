"""Networks that users bring: a small ResNet with BatchNorm and one dropout, and an MLP on a hundred features."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

from deepbass.core.labels import Classes
from speed.start import CLASSES
from speed.task import Floats32, Task, mnist, pixels

_FEATURES = 100


class _Block(nn.Module):
    """Two convolutions and a way around them."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.around = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Add the two ways up."""
        return torch.relu(self.body(x) + self.around(x))


def _resnet() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, 1, 1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        _Block(16, 16, 1),
        _Block(16, 32, 2),
        _Block(32, 64, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.5),
        nn.Linear(64, CLASSES),
    )


def _mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(_FEATURES, 256),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(256, 256),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(256, CLASSES),
    )


def _seeded(build: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    """Give every side the same initial weights."""

    def built() -> nn.Module:
        torch.manual_seed(0)
        return build()

    return built


USERS: dict[str, Callable[[], nn.Module]] = {"resnet": _seeded(_resnet), "mlp": _seeded(_mlp)}


@cache
def features(name: str, task: Task) -> tuple[Floats32, Classes]:
    """Make the samples of a user's model and their labels: MNIST's images, or ten clouds of points."""
    if name == "resnet":
        data = mnist(task)
        return pixels(data)[: task.resnet_samples], data.truth[: task.resnet_samples]
    rng = np.random.default_rng(0)
    classes = rng.integers(0, CLASSES, task.mlp_samples)
    centres = rng.normal(size=(CLASSES, _FEATURES))
    return (centres[classes] + rng.normal(scale=2.0, size=(task.mlp_samples, _FEATURES))).astype(np.float32), classes
