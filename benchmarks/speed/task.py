"""What is timed: one iteration of the paper's MNIST experiment, the same for everybody."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.config import Config
from deepbass.core.labels import Classes
from deepbass.data import Data, load

Floats32 = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Task:
    """The sizes of everything; the defaults are the paper's."""

    samples: int = 60_000
    known: int = 300
    passes_pool: int = 10  # T'
    passes_known: int = 100  # T
    copies: int = 20  # of a known label, for each time a guess is trained on
    batch: int = 256
    rounds: int = 3
    whole: bool = False  # time the slow sides in whole, too
    quick: bool = False  # a smoke test, whose times mean nothing

    # the state in the middle of a run that all sides start from: early exit depends on how sure the network is
    start_epochs: int = 30  # on the known labels
    start_iterations: int = 3  # of the whole method

    resnet_samples: int = 4_000
    mlp_samples: int = 60_000
    checked: int = 128  # samples on which all sides have to give the same answers
    checked_passes: int = 100

    scale_sizes: tuple[int, ...] = field(default=(60_000, 300_000, 1_200_000))
    scale_passes: int = 2
    scale_slice: int = 20_480  # samples in each of the repeated timings

    @classmethod
    def of(cls, values: dict[str, Any]) -> Task:
        """Read a task back from JSON."""
        known = {name.name for name in fields(cls)}
        named: dict[str, Any] = {name: value for name, value in values.items() if name in known}
        named["scale_sizes"] = tuple(named["scale_sizes"])
        return cls(**named)

    @property
    def curriculum(self) -> int:
        """How many samples an epoch presents: the guesses once, the known labels in copies."""
        return self.samples - self.known + self.known * self.copies


QUICK = Task(
    samples=600,
    known=30,
    passes_known=20,
    rounds=1,
    quick=True,
    start_epochs=4,
    start_iterations=1,
    resnet_samples=100,
    mlp_samples=600,
    checked=32,
    checked_passes=40,
    scale_sizes=(1_000, 2_000, 4_000),
    scale_slice=512,
)


def mnist(task: Task) -> Data:
    """Load MNIST, or a part of it with all classes in their shares."""
    return load("mnist", Config(pool=None if task.samples == 60_000 else task.samples))


def pixels(data: Data) -> Floats32:
    """Read the whole pool as one array, which is how a user of a plain framework would keep it."""
    return data.pool.read(np.arange(len(data.pool)))


def curriculum(images: Floats32, answer: Classes, guess: Classes, copies: int) -> tuple[Floats32, Classes]:
    """Lay out what one epoch trains on: every known label in copies, every guess once."""
    known, guessed = np.flatnonzero(answer >= 0), np.flatnonzero(guess >= 0)
    ids = np.concatenate([np.repeat(known, copies), guessed])
    return images[ids], np.where(answer >= 0, answer, guess)[ids]
