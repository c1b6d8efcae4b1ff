"""Where pictures lie for a network that taught itself, without any label, which views are of the same picture.

Of every picture of a batch two views are made (learn/strong_views.py), and a network has to find each one's other among
all of them (SimCLR: Chen, Kornblith, Norouzi, Hinton, 2020). What it sees then is what stays the same in views, and so
what a person would go by: neighbours there are of one class far more often than in pixels. But where pictures have more
in common with their views than what they show, a background say, pixels tell more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from deepbass.core.labels import Ids
from deepbass.core.randomness import generator, seed_for
from deepbass.core.samples import Samples
from deepbass.core.unrolled import Points
from deepbass.learn.augment import Images
from deepbass.learn.minimise import one_thread
from deepbass.learn.packed_state import pack, unpack
from deepbass.learn.slabs import seeded
from deepbass.learn.strong_views import Changes, strong_views

FEWEST, SMALLEST = 500, 12  # pictures, and pixels of their shorter side, from which on a network can teach itself
_MOST, _SIDE = 20_000, 32  # pictures that are learned from, and pixels of height and of width that are looked at
_PAIRS, _EPOCHS = 100_000, 100  # of views, and times that each picture is learned from: at most
_BATCH = 256
_STEP = 2e-3
_HEAT = 0.2  # what likeness is divided by
_WIDTH = 64  # numbers that tell where a picture lies
_AT_A_TIME = 1_000
_PACKED = "self-taught."  # what the names of its tensors begin with in a packed state

OnShare = Callable[[float], None]


class SelfTaught:
    """A pool of pictures as places; a network is taught when the first is read, and then packed with the learner."""

    def __init__(self, pool: Samples, changes: Changes, seed: int, on_share: OnShare = lambda share: None) -> None:
        self._pool, self._changes, self._seed, self._on_share = pool, changes, seed, on_share
        channels, height, width = pool.shape
        self._seen_as = channels, min(height, _SIDE), min(width, _SIDE)
        self.shape: tuple[int, ...] = (_WIDTH,)
        with seeded(torch.device("cpu"), seed_for(seed, 0, "self-taught weights")):
            self._network = _network(self._seen_as)
        self._is_taught = False

    def __len__(self) -> int:
        return len(self._pool)

    def read(self, ids: Ids) -> Points:
        """Tell where some samples lie: near is alike."""
        if not self._is_taught:
            self._learn()
        parts = np.array_split(ids, max(1, -(-len(ids) // _AT_A_TIME)))
        with one_thread(), torch.no_grad():
            seen = [functional.normalize(self._network(_tensor(self._seen(part)))) for part in parts]
            return torch.cat(seen).numpy()

    def tensors(self) -> dict[str, Tensor]:
        """Name all that a resume needs: nothing, as long as no place was read."""
        return pack(self._network, _PACKED) if self._is_taught else {}

    def take_up(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on from what was packed."""
        if any(name.startswith(_PACKED) for name in tensors):
            unpack(tensors, self._network, _PACKED)
            self._is_taught = True

    def _learn(self) -> None:
        rng, views = (generator(self._seed, 0, f"self-taught {what}") for what in ("order", "views"))
        count = len(self._pool)
        pictures = self._seen(np.arange(count) if count <= _MOST else np.sort(rng.choice(count, _MOST, replace=False)))
        batch = min(_BATCH, len(pictures))
        steps = max(1, min(_PAIRS, _EPOCHS * len(pictures)) // batch)
        order = np.concatenate([rng.permutation(len(pictures)) for _ in range(-(-steps * batch // len(pictures)))])
        optimiser = torch.optim.Adam(self._network.parameters(), lr=_STEP)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
        with one_thread():  # the bits that come out do not hang on how many there are
            for step in range(steps):
                rows = np.unique(order[step * batch : (step + 1) * batch])  # no picture is another one's other
                two = np.concatenate([strong_views(pictures[rows], self._changes, views) for _ in range(2)])
                optimiser.zero_grad()
                torch.autograd.backward(unlikeness(self._network(_tensor(two))))
                optimiser.step()
                schedule.step()
                self._on_share((step + 1) / steps)
        self._is_taught = True

    def _seen(self, ids: Ids) -> Images:
        pictures = np.empty((len(ids), *self._seen_as), dtype=np.float32)
        for start in range(0, len(ids), _AT_A_TIME):
            part = slice(start, start + _AT_A_TIME)
            whole = torch.from_numpy(self._pool.read(ids[part]).astype(np.float32, copy=False))
            pictures[part] = functional.adaptive_avg_pool2d(whole, self._seen_as[1:]).numpy()
        return pictures


def unlikeness(places_2N_D: Tensor) -> Tensor:
    """Tell how badly views are told apart: row n and row N + n are of one picture (NT-Xent)."""
    count = len(places_2N_D) // 2
    unit = functional.normalize(places_2N_D)
    alike = (unit @ unit.T / _HEAT).fill_diagonal_(-torch.inf)
    return functional.cross_entropy(alike, torch.arange(2 * count).roll(count))


def _network(shape: tuple[int, int, int]) -> nn.Module:
    """Make a small one: it is looked at a hundred thousand pairs of views before there is any label."""
    channels, height, width = shape
    smaller = [-(-side // 2) // 2 for side in (height, width)]
    layers = [
        nn.Conv2d(channels, 16, 5, stride=2, padding=2), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(),
        nn.Flatten(), nn.Linear(32 * math.prod(smaller), _WIDTH),
    ]  # fmt: skip
    network = nn.Sequential(*layers)
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return network


def _tensor(pictures: Images) -> Tensor:
    return torch.from_numpy(pictures).contiguous(memory_format=torch.channels_last)
