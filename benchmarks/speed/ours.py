"""deepbass itself, as its command runs it, and with one device after the other switched off."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from deepbass.core.belief import Floats
from deepbass.core.config import Config
from deepbass.core.labels import Ids, Labels
from deepbass.core.loop import Method, State, after, run
from deepbass.data.pool import Pool
from deepbass.learn.learner import LocalLearner
from deepbass.learn.memory import keep_freed_memory
from deepbass.learn.models import paper_cnn
from deepbass.oracle import Simulated
from speed.start import CLASSES, Start
from speed.task import Task, mnist
from speed.timed import Timed, clocked
from speed.users_models import USERS, features

_QUIET_ITERATION, _ASKING_ITERATION = 13, 20  # by the paper's setting every tenth iteration asks


def settings_of(switches: dict[str, Any]) -> dict[str, Any]:
    """Keep the switches that this version of deepbass has."""
    there = {field.name for field in fields(Config)}
    return {name: value for name, value in switches.items() if name in there}


class Ours:
    """A learner for every piece, made afresh from the same weights; making it is not timed, and takes milliseconds."""

    def __init__(
        self, task: Task, start: Start, *, switches: dict[str, Any], keep_memory: bool = True, share: int = 1
    ) -> None:
        """Set up with some settings changed; ``share`` = 10 times a tenth of the pool, for what is slow."""
        if keep_memory:
            keep_freed_memory()  # as the command does when it starts
        self._task, self._start, self._share = task, start, 1 if task.whole else share
        self._data = mnist(task)
        self._config = Config(
            passes_pool=task.passes_pool,
            passes_known=task.passes_known,
            copies=task.copies,
            batch_size=task.batch,
            infer_batch=task.batch,
            **settings_of(switches),
        )
        self._weights = {name: torch.from_numpy(array) for name, array in start.weights.items()}
        self._warm_up()

    @property
    def about(self) -> dict[str, Any]:
        """Threads, and the settings that differ from the defaults."""
        defaults = Config().as_dict()
        changed = {name: value for name, value in self._config.as_dict().items() if value != defaults[name]}
        return {
            "threads": torch.get_num_threads(),
            "settings": changed,
            "engine": getattr(self._learner(), "engine", "torch"),
        }

    @property
    def pieces(self) -> dict[str, Callable[[], Timed]]:
        """The whole iteration, its parts, and users' models."""
        users = {
            f"{name} {part}": partial(getattr(self, f"_users_{part}"), name)
            for name in USERS
            for part in ("pool", "epoch")
        }
        return {
            "iteration": partial(self._iteration, _QUIET_ITERATION),
            "asking": partial(self._iteration, _ASKING_ITERATION),
            "pool": self._pool,
            "known": self._known,
            "epoch": self._epoch,
            **users,
        }

    def answers(self, what: str, ids: Ids, passes: int) -> Floats:
        """Infer as the loop does."""
        learner = self._learner() if what == "cnn" else self._users_learner(what)
        return learner.infer(ids, passes=passes, seed=1).mean_N_C

    def learner_and_labels(self) -> tuple[LocalLearner, Labels]:
        """Hand out what a profile needs."""
        return self._learner(), self._start.labels

    def _learner(self) -> LocalLearner:
        model = paper_cnn(self._data.pool.shape, CLASSES, self._config.dropout)
        model.load_state_dict(self._weights)
        return LocalLearner(model, self._data.pool, CLASSES, self._config)

    def _warm_up(self) -> None:
        """Load, compile and touch everything once: what happens once in a run of hours is no part of an iteration."""
        learner, few = self._learner(), np.arange(2 * self._task.batch)
        answer = self._data.truth.copy()
        answer[few[-1] :] = -1
        none = np.full_like(answer, -1)
        labels = Labels(CLASSES, answer, none, np.zeros(len(answer), dtype=np.bool_))
        learner.infer(few, passes=2, seed=0)
        learner.train(labels, epochs=1, copies=1, seed=0)

    def _iteration(self, number: int) -> Timed:
        """Run Algorithm 1 for one iteration, by the loop itself."""
        learner = self._learner()
        method = replace(Method.of(self._config), stop=after(number + 1))
        oracle = Simulated(self._data.truth, CLASSES)
        state = State(self._start.labels, iteration=number)
        begin = time.perf_counter()
        end = run(learner, oracle, method, state, lambda step: None)
        seconds = time.perf_counter() - begin
        guessed = end.labels.members
        facts = {
            "parts": dict(learner.seconds),
            "pseudo_accuracy": float((end.labels.guess[guessed] == self._data.truth[guessed]).mean()),
            "pseudo_labels": hashlib.sha256(end.labels.guess.tobytes()).hexdigest()[:16],
            "known": len(end.labels.known),
        }
        return Timed(seconds, facts=facts)

    def _pool(self) -> Timed:
        """Make all the passes over the pool, or over every n-th sample of it, with no early exit."""
        learner, passes = self._learner(), self._task.passes_pool
        if self._share == 1:
            return clocked(lambda: learner.infer(None, passes=passes, seed=1))
        ids = np.arange(0, self._task.samples, self._share)
        how = f"{len(ids):,} of {self._task.samples:,} samples"
        return clocked(lambda: learner.infer(ids, passes=passes, seed=1), self._share, how)

    def _known(self) -> Timed:
        learner, passes = self._learner(), self._task.passes_known
        return clocked(lambda: learner.infer(self._start.known, passes=passes, seed=1))

    def _epoch(self) -> Timed:
        learner, labels = self._learner(), self._start.labels
        return clocked(lambda: learner.train(labels, epochs=1, copies=self._task.copies, seed=1))

    def _users_learner(self, name: str) -> LocalLearner:
        samples, _ = features(name, self._task)
        model: nn.Module = USERS[name]()
        return LocalLearner(model, Pool(samples, name), CLASSES, self._config)

    def _users_pool(self, name: str) -> Timed:
        learner, passes = self._users_learner(name), self._task.passes_pool
        return clocked(lambda: learner.infer(None, passes=passes, seed=1))

    def _users_epoch(self, name: str) -> Timed:
        learner = self._users_learner(name)
        _, classes = features(name, self._task)
        labels = all_guessed(classes)
        return clocked(lambda: learner.train(labels, epochs=1, copies=self._task.copies, seed=1))


def all_guessed(classes: NDArray[np.int64]) -> Labels:
    """Make labels of which all are guesses and none is known."""
    none = np.full_like(classes, -1)
    return Labels(CLASSES, none, classes.copy(), np.zeros(len(classes), dtype=np.bool_))
