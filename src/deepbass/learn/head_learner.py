"""A learner for features: its model is a linear head, which is not trained step by step but solved."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from deepbass.core.belief import Belief
from deepbass.core.config import Config
from deepbass.core.errors import NoDropoutError
from deepbass.core.labels import UNKNOWN, Ids, Labels
from deepbass.core.need import EVERYTHING, Need
from deepbass.core.randomness import generator
from deepbass.core.samples import Samples
from deepbass.learn.heads import LinearHead, choose_strength, fit, weights_of
from deepbass.learn.learner import LocalLearner, OnProgress
from deepbass.learn.teacher import TeacherLearner

_PREPARED_WITH = 20_000  # samples that centre and scale are taken from
_MOST_GUESSES = 20_000  # pseudo-labels that take part in a training: memory must not grow with the pool
_CHOOSE_AGAIN = 1.1  # times as many labels as at the last choice of the penalty


class HeadLearner(LocalLearner):
    """Solves its head anew on all labels, from where it stands. Satisfies the loop's Learner protocol."""

    model: LinearHead

    def __init__(
        self,
        model: LinearHead,
        pool: Samples,
        classes: int,
        config: Config,
        on_progress: OnProgress = lambda what, share: None,
    ) -> None:
        some = np.unique(np.linspace(0, len(pool) - 1, min(len(pool), _PREPARED_WITH)).astype(np.int64))
        model.prepare(pool.read(some))
        super().__init__(model, pool, classes, config, on_progress)

    def rehearse(self) -> None:
        """Do nothing: there is dropout, and a head that has learned nothing yet has nothing to show of it."""

    def infer(self, ids: Ids | None, *, passes: int, seed: int, need: Need = EVERYTHING) -> Belief:
        """Average the probabilities over dropout passes, as far as needed.

        Where all of them are the same, because one class only was met or the features tell nothing, one is enough.
        """
        try:
            return super().infer(ids, passes=passes, seed=seed, need=need)
        except NoDropoutError:
            return super().infer(ids, passes=0, seed=seed, need=need)

    def train(self, labels: Labels, *, epochs: int, copies: int, seed: int) -> None:
        """Find the optimum on known labels and guesses; ``epochs`` do not matter where nothing is left to gain."""
        known = labels.known
        if not len(known):
            return
        members = _some(labels.members, generator(seed, 0, "guesses"))
        ids = np.concatenate([known, members])
        answers = np.where(labels.answer[ids] != UNKNOWN, labels.answer[ids], labels.guess[ids])
        head = self.model
        with self._timed("train"), torch.no_grad():
            self._on_progress("training", 0.0)
            inputs = head.prepared(torch.from_numpy(self._pool.read(ids)).to(self.device)).double()
            classes = torch.from_numpy(answers).to(self.device)
            if len(known) > _CHOOSE_AGAIN * int(head.chosen_with) or len(known) < int(head.chosen_with):
                rng = generator(seed, 0, "folds")
                strength = choose_strength(inputs[: len(known)], classes[: len(known)], self._classes, rng)
                head.strength.fill_(strength)
                head.chosen_with.fill_(len(known))
            self._on_progress("training", 0.5)
            weights = torch.from_numpy(weights_of(answers[: len(known)], len(members), copies))
            W, b = head.linear.weight.double(), head.linear.bias.double()
            W, b = fit(inputs, classes, weights.to(self.device), float(head.strength), W, b)
            head.linear.weight.copy_(W)
            head.linear.bias.copy_(b)


def _some(members: Ids, rng: np.random.Generator) -> Ids:
    if len(members) <= _MOST_GUESSES:
        return members
    return np.sort(rng.choice(members, _MOST_GUESSES, replace=False))


def learner_for(
    model: nn.Module,
    pool: Samples,
    classes: int,
    config: Config,
    on_progress: Callable[[str, float], None] = lambda what, share: None,
) -> LocalLearner:
    """Make the learner that suits a model."""
    if isinstance(model, LinearHead):
        return HeadLearner(model, pool, classes, config, on_progress)
    kind = TeacherLearner if config.teacher else LocalLearner
    return kind(model, pool, classes, config, on_progress)
