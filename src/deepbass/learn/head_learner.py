"""A learner for features: its model is a linear head, which is not trained step by step but solved.

With ``admit = "weighed"`` it learns from the unlabelled pool, too: heads that do so in different ways (`pool_heads`)
are cross-fitted over the known labels, and each enters the one head that comes out with the weight that it earned.
"""

from __future__ import annotations

import numpy as np
import safetensors.torch
import torch
from numpy.typing import NDArray
from torch import Tensor

from deepbass.core.belief import Belief, Floats
from deepbass.core.config import WEIGHED, Config
from deepbass.core.errors import NoDropoutError
from deepbass.core.guard import Evidence
from deepbass.core.labels import NO_IDS, UNKNOWN, Answers, Ids, Labels
from deepbass.core.need import EVERYTHING, Need
from deepbass.core.opinions import PLAIN, Weighing, alike
from deepbass.core.own_parts import OwnParts
from deepbass.core.randomness import generator
from deepbass.core.samples import Samples
from deepbass.learn.cross_fit import cross_fit
from deepbass.learn.heads import LinearHead, choose_strength, fit, same, weights_of
from deepbass.learn.learner import LocalLearner, OnProgress
from deepbass.learn.pool_heads import WAYS, Head, pool_heads
from deepbass.learn.pool_view import PoolView

_PREPARED_WITH = 20_000  # samples that centre and scale are taken from
_MOST_GUESSES = 20_000  # pseudo-labels that take part in a training: memory must not grow with the pool
_CHOOSE_AGAIN = 1.1  # times as many labels as at the last choice of the penalty
_WEIGH_AGAIN = 1.2  # times as many labels as when the ways of learning were last weighed
_READ_AT_A_TIME = 4096  # samples
_PACKED = "head."  # what the names of a head learner's own tensors begin with in a packed state


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
        own: OwnParts | None = None,
    ) -> None:
        model.prepare(pool.read(self._prepared_with(len(pool))), config.seed)
        self._view: PoolView | None = None  # made when it is needed first
        self._weighing, self._weighed_with = alike(len(WAYS)), 0
        super().__init__(model, pool, classes, config, on_progress, own)
        linear = self.model.linear
        weight, bias = linear.weight.detach().double(), linear.bias.detach().double()
        self._plain = Head(weight[:, self.model.seen()].clone(), bias.clone())

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
        weighed = self._config.admit == WEIGHED  # then the pool has its say below, and not by a guess for each sample
        members = NO_IDS if weighed else _some(labels.members, generator(seed, 0, "guesses"))
        ids = np.concatenate([known, members])
        answers = np.where(labels.answer[ids] != UNKNOWN, labels.answer[ids], labels.guess[ids]).astype(np.int64)
        head = self.model
        with self._timed("train"), torch.no_grad():
            self._on_progress("training", 0.0)
            classes = torch.from_numpy(answers).to(self.device)
            if len(known) > _CHOOSE_AGAIN * int(head.chosen_with) or len(known) < int(head.chosen_with):
                self._choose(known, classes[: len(known)], seed)
            inputs = self._prepared(self._pool.read(ids))
            self._on_progress("training", 0.2)
            weights = torch.from_numpy(weights_of(answers[: len(known)], len(members), copies))
            self._plain = Head(*fit(inputs, classes, weights.to(self.device), float(head.strength), *self._plain))
            seen = weighed and len(labels.members) > 0
            found = self._with_pool(labels, inputs, seed) if seen else self._plain
            head.linear.weight.copy_(self._widened(found.weight))
            head.linear.bias.copy_(found.bias)

    def predict_plain(self, samples: Samples, ids: Ids | None = None) -> Floats | None:
        """Predict by the head that has learned from the known labels alone."""
        return self._probs(self._plain, samples, np.arange(len(samples)) if ids is None else ids)

    def plain_from(self, answers: Answers, samples: Samples) -> Floats | None:
        """Predict as a head would that has learned from these labels alone, its penalty chosen by them."""
        with torch.no_grad():
            inputs = self._prepared(self._pool.read(answers.ids))
            classes = torch.from_numpy(answers.classes).to(self.device)
            rng = generator(self._config.seed, 0, "folds of plain learning")
            strength = choose_strength(inputs, classes, self._classes, rng).strength
            weights = torch.from_numpy(weights_of(answers.classes, 0, 1)).to(self.device)
            zero = Head(*(torch.zeros_like(part) for part in self._plain))
            found = Head(*fit(inputs, classes, weights, strength, *zero))
        return self._probs(found, samples, np.arange(len(samples)))

    def state(self) -> bytes:
        """Pack the head, and what it has beside it: the plain one, and how the ways of learning were weighed."""
        said = self._weighing
        own = {
            "weight": self._widened(self._plain.weight),
            "bias": self._plain.bias,
            "shares": torch.from_numpy(said.shares_M),
            "factors": torch.from_numpy(said.factors_M),
            "counts": torch.tensor([self._weighed_with, said.labels, said.right, said.plain]),
        }
        packed = {f"{_PACKED}{name}": tensor.cpu().contiguous().clone() for name, tensor in own.items()}
        return safetensors.torch.save(safetensors.torch.load(super().state()) | packed)

    def restore(self, state: bytes) -> None:
        """Take up a packed state; one of an earlier version has nothing beside the head, which stands in for it."""
        super().restore(state)
        tensors = safetensors.torch.load(state)
        own = {name.removeprefix(_PACKED): t for name, t in tensors.items() if name.startswith(_PACKED)}
        linear = self.model.linear
        weight, bias = own.get("weight", linear.weight.detach()), own.get("bias", linear.bias.detach())
        seen = weight.double().to(self.device)[:, self.model.seen()]
        # in memory as it was: rounding depends on it
        self._plain = Head(seen.clone(memory_format=torch.contiguous_format), bias.double().to(self.device))
        self._weighed_with, self.evidence = 0, None
        if "counts" in own and own["shares"].shape == (len(WAYS),):
            self._weighed_with, *counts = own["counts"].tolist()
        if self._weighed_with:
            self._judge(Weighing(own["shares"].numpy(), own["factors"].numpy(), *counts))

    def _prepared_with(self, count: int) -> Ids:
        """List samples of a pool of so many that centre and scale are taken from."""
        return np.unique(np.linspace(0, count - 1, min(count, _PREPARED_WITH)).astype(np.int64))

    def _taught_by(self, labels: Labels) -> Ids:
        """List samples that may teach; nobody else does: an audit's are not among them."""
        return np.union1d(labels.known, labels.members)

    def _choose(self, known: Ids, classes: Tensor, seed: int) -> None:
        """Choose the penalty, and the view of columns of numbers, by known labels that are kept back in turn."""
        head, samples, before = self.model, self._pool.read(known), self.model.view()
        found = []
        for view in head.views:
            head.look(view)
            rng = generator(seed, 0, "folds")
            found.append(choose_strength(self._prepared(samples), classes, self._classes, rng))
        best = int(np.argmin([choice.loss for choice in found]))
        head.look(head.views[best])
        head.strength.fill_(found[best].strength)
        head.chosen_with.fill_(len(known))
        if not same(head.view(), before):  # what was learned in other numbers, and of the pool in them, is out of date
            width = self._prepared(samples[:1]).shape[1]
            self._plain = Head(self._plain.weight.new_zeros(self._classes, width), self._plain.bias)
            self._view, self._weighed_with = None, 0

    def _with_pool(self, labels: Labels, inputs: Tensor, seed: int) -> Head:
        """Make one head of all ways to learn, by what each is worth on labels that it was kept from."""
        known = labels.known
        answers = labels.answer[known].astype(np.int64)
        taught_by = self._taught_by(labels)
        if self._view is None or not np.array_equal(self._view.of, taught_by):
            self._view = PoolView(self._pool, taught_by, self.model, self._config.seed)
        view, strength = self._view, float(self.model.strength)
        if not self._weighed_with <= len(known) < _WEIGH_AGAIN * self._weighed_with:
            folds = generator(seed, 0, "cross-fitting")
            self._judge(cross_fit(view, known, answers, inputs, self._classes, strength, folds))
            self._weighed_with = len(known)
        self._on_progress("training", 0.8)
        weight, bias = (self._weighing.factors_M[PLAIN] * part for part in self._plain)
        if self._weighing.shares_M[PLAIN] < 1:
            ways = pool_heads(view, known, answers, self._plain, strength)
            for factor, way in zip(self._weighing.factors_M[1:], ways, strict=True):
                weight = weight + factor * view.widened(way.weight.double()).to(self.device)
                bias = bias + factor * way.bias.double().to(self.device)
        return Head(weight, bias)

    def _judge(self, said: Weighing) -> None:
        """Keep how the ways of learning were weighed, and tell what the pool was worth."""
        self._weighing = said
        believed = 1 - float(said.shares_M[PLAIN])
        self.evidence = Evidence("pseudo-labels", said.labels, said.right, said.plain, believed)

    def _probs(self, head: Head, samples: Samples, ids: Ids) -> Floats:
        parts = np.array_split(ids, max(1, len(ids) // _READ_AT_A_TIME))
        with torch.no_grad():
            logits = [head.logits(self._prepared(samples.read(part))) for part in parts]
            return torch.softmax(torch.cat(logits), 1).cpu().numpy()

    def _prepared(self, samples: NDArray[np.float32]) -> Tensor:
        """Show samples as the head sees them, without what its view leaves out."""
        head = self.model
        return head.prepared(torch.from_numpy(samples).to(self.device))[:, head.seen()].contiguous().double()

    def _widened(self, weight: Tensor) -> Tensor:
        """Turn weights for what the head sees into the same ones for all that it could."""
        wide = weight.new_zeros(self.model.linear.weight.shape)
        wide[:, self.model.seen()] = weight
        return wide


def _some(members: Ids, rng: np.random.Generator) -> Ids:
    if len(members) <= _MOST_GUESSES:
        return members
    return np.sort(rng.choice(members, _MOST_GUESSES, replace=False))
