"""A learner for pictures: a teacher guesses, a student learns from strong views, and guesses have to prove their worth.

Two pairs of student and teacher begin alike. The first learns from known labels and guesses; it is what is asked, saved
and used. The second learns from known labels alone: it is what plain supervised learning would have come to, and what
the first is held against (learn/held_back.py). Where guesses harm, the first becomes the second.
"""

from __future__ import annotations

import copy

import numpy as np
import safetensors.torch
import torch
from torch import nn

from deepbass.core.belief import Floats
from deepbass.core.config import Config
from deepbass.core.errors import StoreError
from deepbass.core.foreign import guarded
from deepbass.core.guard import Evidence
from deepbass.core.labels import UNKNOWN, Answers, Classes, Ids, Labels
from deepbass.core.own_parts import OwnParts
from deepbass.core.randomness import generator, seed_for
from deepbass.core.samples import Samples
from deepbass.learn.averaged import Averaged
from deepbass.learn.engine import Engine
from deepbass.learn.first_guesses import first_guesses
from deepbass.learn.held_back import HeldBack
from deepbass.learn.learner import LocalLearner, OnProgress, batches_of, engine_for
from deepbass.learn.optimisation import Optimisation
from deepbass.learn.packed_state import MODEL, as_bytes
from deepbass.learn.strong_views import changes_for, strong_views

_TRIAL = 4  # a quarter of the iterations is the trial in which some labels are kept back
_WITH, _PLAIN = "guesses.", "plain."


class TeacherLearner(LocalLearner):
    """Trains students and asks their teachers. Satisfies the loop's Learner protocol; its model is the teacher."""

    def __init__(
        self,
        model: nn.Module,
        pool: Samples,
        classes: int,
        config: Config,
        on_progress: OnProgress = lambda what, share: None,
        own: OwnParts | None = None,
    ) -> None:
        self._changes = changes_for(config.views, pool.shape)
        super().__init__(model, pool, classes, config, on_progress, own)

        def engine_of(network: nn.Module) -> Engine:
            return engine_for(network, pool, classes, config, self.device, own=own)

        def pair(teacher: nn.Module, asked: Engine | None = None) -> Averaged:
            return Averaged(
                teacher, config.teacher, engine_of, lambda student: Optimisation(student, config, own), asked
            )

        self._with = pair(self.model, self._engine)
        self._plain = pair(copy.deepcopy(self.model))
        self._held = HeldBack()
        self._trainings = 0

    def train(self, labels: Labels, *, epochs: int, copies: int, seed: int) -> None:
        """Train both students on known labels, ``copies`` times each, and the first on guesses as well.

        At first there are no guesses but those of the neighbours of known labels.
        """
        first, guessing = self._trainings == 0, self._config.admit != "none"
        if first and guessing:
            self._held.keep_some(labels, seed)
        elif guessing:
            self._judge(labels)
        weight = self.evidence.weight if self.evidence else 1.0
        with self._timed("train"), self._seeded(seed):
            labels = labels.answered(Answers(self._held.kept, np.full(len(self._held.kept), UNKNOWN)))
            known = np.repeat(labels.known, copies)
            if first and guessing:
                labels = first_guesses(self._pool, labels, generator(seed, 0, "first guesses"))
            members = np.setdiff1d(labels.members, self._held.kept)
            most = min(len(members), len(known) if first else self._config.guesses or len(members))
            if len(known):
                self._epochs(self._plain, labels, known, members[:0], 0, epochs, seed)
                if weight == 0 or not len(members):
                    self._with.become(self._plain)
                else:
                    count = round(weight * most)
                    self._epochs(self._with, labels, known, members, count, epochs, seed_for(seed, 0, "with guesses"))
            self._held.learned = np.union1d(self._held.learned, labels.known)
        self._trainings += 1

    def predict_plain(self, samples: Samples, ids: Ids | None = None) -> Floats:
        """Predict as a network that has learned from known labels alone, with the same views and as long."""
        return self._predicted_by(self._plain.asked, samples, ids)

    def state(self) -> bytes:
        """Pack both pairs, what was kept back and the evidence; the first teacher is there as the model, too."""
        weights = {f"{MODEL}{name}": tensor for name, tensor in self.model.state_dict().items()}
        counted = {"trainings": torch.tensor(self._trainings), "evidence": self._told()}
        return as_bytes(
            {**weights, **self._with.tensors(_WITH), **self._plain.tensors(_PLAIN), **self._held.tensors(), **counted}
        )

    def restore(self, state: bytes) -> None:
        """Take up a packed state; the model must be the one that was packed."""
        with guarded(lambda cause: StoreError(f"The checkpoint does not fit the model: {cause}")):
            tensors = safetensors.torch.load(state)
            self._with.take_up(tensors, _WITH)
            self._plain.take_up(tensors, _PLAIN)
            self._held.take_up(tensors)
            self._trainings = int(tensors["trainings"])
            told = tensors["evidence"].tolist()
            self.evidence = Evidence("pseudo-labels", int(told[0]), *told[1:]) if told else None

    def _told(self) -> torch.Tensor:
        said = self.evidence
        told = (said.labels, said.right, said.plain, said.weight) if said else ()
        return torch.tensor(told, dtype=torch.float64)

    def _judge(self, labels: Labels) -> None:
        """Ask both teachers about labels that they have not learned from, and weigh the guesses by who was right."""
        self._ask(self._held.new(labels), labels, kept=False)
        if self._trainings > max(1, self._config.iterations // _TRIAL):
            self._ask(np.intersect1d(self._held.kept, labels.known), labels, kept=True)
            self._held.end_trial()
        self.evidence = self._held.evidence(labels)

    def _ask(self, ids: Ids, labels: Labels, *, kept: bool) -> None:
        right, plain = (
            self._predicted_by(pair.asked, self._pool, ids).argmax(1) == labels.answer[ids]
            for pair in (self._with, self._plain)
        )
        self._held.note(ids, kept, right, plain)

    def _epochs(
        self, pair: Averaged, labels: Labels, known: Ids, members: Ids, count: int, epochs: int, seed: int
    ) -> None:
        """Train a pair for some epochs, each with its own draw of so many guesses."""
        rng, views = np.random.default_rng(seed), generator(seed, 0, "views")
        with pair.trained.training(seed):
            for epoch in range(epochs):
                ids = np.concatenate([known, rng.choice(members, count, replace=False)])
                classes = _classes(labels, ids)
                batches = batches_of(rng.permutation(len(ids)), self._config.batch_size)
                for done, rows in enumerate(batches):
                    self._on_progress("training", (epoch + done / len(batches)) / epochs)
                    inputs = self._pool.read(ids[rows])
                    if self._changes is not None:
                        inputs = strong_views(inputs, self._changes, views)
                    pair.step(inputs, classes[rows])
                pair.end_epoch()


def _classes(labels: Labels, ids: Ids) -> Classes:
    classes: Classes = np.where(labels.answer[ids] != UNKNOWN, labels.answer[ids], labels.guess[ids])
    return classes
