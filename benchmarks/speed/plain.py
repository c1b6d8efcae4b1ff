"""Plain PyTorch: the simple code that a good user would write, with ``nn.Dropout`` left on for inference."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepbass.core.belief import Floats
from deepbass.core.labels import Ids
from deepbass.learn.models import paper_cnn  # the network alone; nothing else of deepbass runs here
from speed.start import CLASSES, Start
from speed.task import Task, curriculum, mnist, pixels
from speed.timed import Timed, clocked
from speed.users_models import USERS, features


def monte_carlo(model: nn.Module, images: Tensor, passes: int, batch: int) -> Tensor:
    """Average the probabilities over dropout passes."""
    _dropout_alone(model)
    total = torch.zeros(len(images), CLASSES)
    with torch.no_grad():
        for _ in range(passes):
            for first in range(0, len(images), batch):
                rows = slice(first, first + batch)
                total[rows] += model(images[rows]).softmax(1)
    return total / passes


def train(model: nn.Module, images: Tensor, classes: Tensor, batch: int) -> None:
    """Train for one epoch with Adam, and lambda * sum(w^2) on kernels."""
    kernels = [weights for weights in model.parameters() if weights.ndim > 1]
    others = [weights for weights in model.parameters() if weights.ndim <= 1]
    groups: list[dict[str, Any]] = [{"params": kernels, "weight_decay": 2e-3}, {"params": others}]
    optimiser = torch.optim.Adam(groups, lr=1e-3, eps=1e-7)
    model.train()
    order = torch.randperm(len(images))
    for first in range(0, len(images), batch):
        rows = order[first : first + batch]
        optimiser.zero_grad()
        F.cross_entropy(model(images[rows]), classes[rows]).backward()  # type: ignore[no-untyped-call]
        optimiser.step()


class Plain:
    """Plain PyTorch in its own process."""

    def __init__(self, task: Task, start: Start) -> None:
        self._task = task
        self._weights = {name: torch.from_numpy(array) for name, array in start.weights.items()}
        images = pixels(mnist(task))
        self._images, self._known = torch.from_numpy(images), torch.from_numpy(images[start.known])
        presented, classes = curriculum(images, start.answer, start.guess, task.copies)
        self._presented, self._classes = torch.from_numpy(presented), torch.from_numpy(classes)
        few = 2 * task.batch
        monte_carlo(self._model(), self._images[:few], 1, task.batch)
        train(self._model(), self._presented[:few], self._classes[:few], task.batch)

    @property
    def about(self) -> dict[str, Any]:
        """Threads."""
        return {"threads": torch.get_num_threads()}

    @property
    def pieces(self) -> dict[str, Callable[[], Timed]]:
        """The parts of an iteration, and users' models."""
        users = {
            f"{name} {part}": partial(getattr(self, f"_users_{part}"), name)
            for name in USERS
            for part in ("pool", "epoch")
        }
        return {
            "pool": partial(self._passes, self._images, self._task.passes_pool, 10),
            "known": partial(self._passes, self._known, self._task.passes_known, 10),
            "epoch": self._epoch,
            **users,
        }

    def answers(self, what: str, ids: Ids, passes: int) -> Floats:
        """Average over passes; without any, ask the network with dropout off."""
        if what == "cnn":
            model, images = self._model(), self._images[ids]
        else:
            model, images = USERS[what](), torch.from_numpy(features(what, self._task)[0][ids])
        if passes:
            return monte_carlo(model, images, passes, self._task.batch).double().numpy()
        with torch.no_grad():
            mean: Floats = model.eval()(images).softmax(1).double().numpy()
        return mean

    def profiled(self, samples: int) -> dict[str, Callable[[], object]]:
        """Hand out one pass and one epoch over some samples, for a profile."""
        some = np.random.default_rng(0).permutation(len(self._presented))[:samples]
        return {
            "pass": lambda: monte_carlo(self._model(), self._images[:samples], 1, self._task.batch),
            "epoch": lambda: train(self._model(), self._presented[some], self._classes[some], self._task.batch),
        }

    def _model(self) -> nn.Module:
        model = paper_cnn((1, 28, 28), CLASSES)
        model.load_state_dict(self._weights)
        return model

    def _passes(self, images: Tensor, passes: int, times: int) -> Timed:
        """Time one of every so many passes: they are all alike."""
        model, times = self._model(), 1 if self._task.whole else times
        work = partial(monte_carlo, model, images, passes // times, self._task.batch)
        return clocked(work, times, "in whole" if times == 1 else f"{passes // times} of {passes} passes")

    def _epoch(self) -> Timed:
        return clocked(partial(train, self._model(), self._presented, self._classes, self._task.batch))

    def _users_pool(self, name: str) -> Timed:
        images = torch.from_numpy(features(name, self._task)[0])
        return clocked(partial(monte_carlo, USERS[name](), images, self._task.passes_pool, self._task.batch))

    def _users_epoch(self, name: str) -> Timed:
        images, classes = features(name, self._task)
        work = partial(train, USERS[name](), torch.from_numpy(images), torch.from_numpy(classes), self._task.batch)
        return clocked(work)


def _dropout_alone(model: nn.Module) -> None:
    """Leave dropout in training mode and put all else, such as BatchNorm, into evaluation mode."""
    model.eval()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.train()
