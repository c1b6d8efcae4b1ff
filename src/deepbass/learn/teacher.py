"""A learner for pictures: a teacher guesses, a student learns from strong views, and guesses have to prove their worth.

Two pairs of student and teacher begin alike. The first learns from known labels and guesses; it is what is asked, saved
and used. The second learns from known labels alone: it is what plain supervised learning would have come to, and what
the first is held against (learn/held_back.py). Until guesses are proven to help, the first learns only those that the
second makes, too, or the neighbours of known labels: a network that learns from nobody but itself may come to see one
class everywhere. Where guesses harm, the first becomes the second. Where more can be seen of pictures than pixels,
guesses are made by the first teacher and by who sees that, together (learn/advice.py).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import safetensors.torch
import torch
from torch import nn

from deepbass.core.belief import Belief, Floats
from deepbass.core.config import Config
from deepbass.core.errors import StoreError
from deepbass.core.foreign import guarded
from deepbass.core.guard import Evidence
from deepbass.core.labels import NO_IDS, UNKNOWN, Answers, Classes, Ids, Labels
from deepbass.core.opinions import softmax
from deepbass.core.own_parts import OwnParts
from deepbass.core.randomness import generator, seed_for
from deepbass.core.samples import Samples
from deepbass.learn.advice import Advice
from deepbass.learn.averaged import Averaged
from deepbass.learn.engine import Engine
from deepbass.learn.held_back import HeldBack
from deepbass.learn.learner import LocalLearner, OnProgress, batches_of, engine_for
from deepbass.learn.optimisation import Optimisation
from deepbass.learn.packed_state import MODEL, as_bytes
from deepbass.learn.second_opinion import SURE, SecondOpinion
from deepbass.learn.self_taught import SelfTaught
from deepbass.learn.slabs import seeded
from deepbass.learn.strong_views import changes_for, strong_views

_SURE_TOGETHER = 0.9  # what the network and its adviser have to make of a sample together, to be learned from
_TRIAL = 4  # a quarter of the iterations is the trial in which some labels are kept back
_WITH, _PLAIN = "guesses.", "plain."
STUDENTS = (f"{_WITH}student.", f"{_PLAIN}student.")  # what the names of what is trained begin with


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
        features: Samples | None = None,
        places: SelfTaught | None = None,
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
        self._last = last_layer(self.model, classes)
        self._advice = Advice(features, classes, config) if features is not None else None
        self._places = places
        self.temperature = 1.0  # what the logits of predictions are divided by

    def train(self, labels: Labels, *, epochs: int, copies: int, seed: int) -> None:
        """Train both students on known labels, ``copies`` times each, and the first on guesses as well.

        At first there are no guesses but those of the neighbours of known labels.
        """
        first, guessing = self._trainings == 0, self._config.admit != "none"
        if first and guessing:
            self._held.keep_some(labels, seed)
        elif not self._held.begun:  # it goes on from what another one learned, from these labels or others
            self._held.learned = labels.known
        elif guessing:
            self._judge(labels)
        weight = self.evidence.weight if self.evidence else 1.0
        with self._timed("train"), seeded(self.device, seed):
            labels = labels.answered(Answers(self._held.kept, np.full(len(self._held.kept), UNKNOWN)))
            known = np.repeat(labels.known, copies)
            if len(known):
                self._epochs(self._plain, _Taught(labels), known, 0, epochs, seed)
                taught = self._taught(labels, first, seed) if guessing else _Taught(labels)
                if weight == 0 or not taught.count:
                    self._with.become(self._plain)
                else:
                    most = min(taught.count, len(known) if first else self._config.guesses or taught.count)
                    own = seed_for(seed, 0, "with guesses")
                    self._epochs(self._with, taught, known, round(weight * most), epochs, own)
            self._held.learned, self._held.begun = np.union1d(self._held.learned, labels.known), True
        self._trainings += 1

    @property
    def places(self) -> Samples:
        """Tell where the pool's pictures lie: as a network that taught itself sees them, if there is one."""
        return self._pool if self._places is None else self._places

    def leave_out(self, ids: Ids) -> None:
        """Never guess at some samples for training, nor count on labels of theirs: they are an audit's."""
        self._held.left_out = ids

    def predict(self, samples: Samples, ids: Ids | None = None) -> Floats:
        """Predict class probabilities, as sure as labels that were kept back say that the network may be."""
        with self._calibrated():
            return super().predict(samples, ids)

    def calibrated(self, belief: Belief) -> Belief:
        """Make a belief as sure as predictions are, for people to see; what is admitted goes by how it was."""
        if self.temperature == 1:
            return belief
        logits_N_C = np.log(np.maximum(belief.mean_N_C, 1e-300)) / self.temperature
        return replace(belief, mean_N_C=softmax(logits_N_C))

    def weights(self) -> dict[str, torch.Tensor]:
        """Name the weights of the network as it is used: its last layer has the temperature in it."""
        with self._calibrated():
            return super().weights()

    def trained_model(self) -> nn.Module:
        """Copy the teacher as it is used, in evaluation mode."""
        network = copy.deepcopy(self.model)
        network.load_state_dict(self.weights())
        return network.eval()

    def predict_plain(self, samples: Samples, ids: Ids | None = None) -> Floats:
        """Predict as a network that has learned from known labels alone, with the same views and as long."""
        return self._predicted_by(self._plain.asked, samples, ids)

    def state(self) -> bytes:
        """Pack both pairs, what was kept back and the evidence; the first teacher, calibrated, is the model, too."""
        weights = {f"{MODEL}{name}": tensor for name, tensor in self.weights().items()}
        counted = {
            "trainings": torch.tensor(self._trainings),
            "evidence": self._told(),
            "temperature": torch.tensor(self.temperature, dtype=torch.float64),
        }
        advice = self._advice.tensors() if self._advice is not None else {}
        places = self._places.tensors() if self._places is not None else {}
        pairs = {**self._with.tensors(_WITH), **self._plain.tensors(_PLAIN)}
        return as_bytes({**weights, **pairs, **self._held.tensors(), **counted, **advice, **places})

    def restore(self, state: bytes) -> None:
        """Take up a packed state; the model must be the one that was packed."""
        with guarded(lambda cause: StoreError(f"The checkpoint does not fit the model: {cause}")):
            tensors = safetensors.torch.load(state)
            self._with.take_up(tensors, _WITH)
            self._plain.take_up(tensors, _PLAIN)
            self._held.take_up(tensors)
            if self._advice is not None:
                self._advice.take_up(tensors)
                self.advice_in_words = self._advice.words
            if self._places is not None:
                self._places.take_up(tensors)
            self._trainings, self.temperature = int(tensors["trainings"]), float(tensors["temperature"])
            told = tensors["evidence"].tolist()
            self.evidence = Evidence("pseudo-labels", int(told[0]), *told[1:]) if told else None

    @contextmanager
    def _calibrated(self) -> Iterator[None]:
        """Divide the teacher's logits by the temperature for a while; its weights come back to the last bit."""
        layer, heat = self._last, self.temperature
        if layer is None or heat == 1:
            yield
            return
        parts = [part for part in (layer.weight, layer.bias) if part is not None]
        before = [part.detach().clone() for part in parts]
        try:
            with torch.no_grad():
                for part in parts:
                    part.div_(heat)
            yield
        finally:
            with torch.no_grad():
                for part, kept in zip(parts, before, strict=True):
                    part.copy_(kept)

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
        self.temperature = self._held.temperature(labels) if self._last is not None else 1.0

    def _ask(self, ids: Ids, labels: Labels, *, kept: bool) -> None:
        probs_N_C, plain_N_C = (self._predicted_by(pair.asked, self._pool, ids) for pair in (self._with, self._plain))
        self._held.note(ids, kept, labels, probs_N_C, plain_N_C)

    def _epochs(self, pair: Averaged, taught: _Taught, known: Ids, count: int, epochs: int, seed: int) -> None:
        """Train a pair for some epochs, each with its own draw of so many guesses, or of these what is borne out."""
        rng, views = np.random.default_rng(seed), generator(seed, 0, "views")
        with pair.trained.training(seed):
            for epoch in range(epochs):
                shown = known
                if self._config.shown is not None and len(known) > self._config.shown:
                    shown = rng.choice(known, self._config.shown, replace=False)
                ids = np.concatenate([shown, self._drawn(taught, count, rng)])
                classes = _classes(taught.labels, ids)
                batches = batches_of(rng.permutation(len(ids)), self._config.batch_size)
                for done, rows in enumerate(batches):
                    self._on_progress("training", (epoch + done / len(batches)) / epochs)
                    pair.zero_grad()
                    if self._changes is None:
                        pair.trained.backward_on(ids[rows], classes[rows])
                    else:
                        inputs = strong_views(self._pool.read(ids[rows]), self._changes, views)
                        pair.trained.backward(inputs, classes[rows])
                    pair.step()
                pair.end_epoch()

    @cached_property
    def _second_opinion(self) -> SecondOpinion:
        ways = [self._pool] if self._places is None else [self._pool, self._places]
        return SecondOpinion(ways, self._config.seed)

    def _taught(self, labels: Labels, first: bool, seed: int) -> _Taught:
        """Gather the guesses to learn from: the network's own, at first those of neighbours, and what advice makes."""
        advice, not_ours = self._heard(labels, seed), np.union1d(self._held.kept, self._held.left_out)
        joined = NO_IDS, NO_IDS
        if advice is not None:
            if first:  # there is no network yet: neighbours stand in for it
                others_N_C = self._second_opinion.probabilities(labels, advice.ids)
            else:
                others_N_C = self._predicted_by(self._with.asked, self._pool, advice.ids)
            joined = advice.guesses(others_N_C, SURE if first else _SURE_TOGETHER)
        if first:
            labels = self._second_opinion.first_guesses(labels)
        own = np.setdiff1d(labels.members, not_ours if advice is None else np.union1d(not_ours, advice.ids))
        taken = (labels.answer[joined[0]] == UNKNOWN) & ~np.isin(joined[0], not_ours)
        advised, classes = joined[0][taken], joined[1][taken]
        if len(advised):
            labels = labels.guessed(np.concatenate([own, advised]), np.concatenate([labels.guess[own], classes]))
        alone = first or self._held.proven or not len(own)  # then nobody has to share the network's own guesses
        return _Taught(labels, own, advised, None if alone else self._second_opinion.of_all(labels))

    def _heard(self, labels: Labels, seed: int) -> Advice | None:
        """Let who advises learn from known labels; None where nobody does, or neighbours of these know more."""
        advice = self._advice
        if advice is None:
            return None
        advice.learn(labels, self._held.left_out, seed)
        if advice.typical:
            neighbours_N_C = self._second_opinion.probabilities(labels, advice.ids)
            advice.hold_against(neighbours_N_C, self._predicted_by(self._plain.asked, self._pool, advice.ids))
        self.advice_in_words = advice.words
        return advice if advice.heard else None

    def _drawn(self, taught: _Taught, count: int, rng: np.random.Generator) -> Ids:
        """Draw so many guesses, half of them advised as far as there are such; of others, those that are borne out."""
        advised = min(len(taught.advised), max(count - len(taught.own), -(-count // 2)))
        drawn = rng.choice(taught.own, count - advised, replace=False)
        if taught.opinion_N is not None:
            drawn = self._borne_out(drawn, taught.labels, taught.opinion_N)
        if advised:
            drawn = np.concatenate([drawn, rng.choice(taught.advised, advised, replace=False)])
        return drawn

    def _borne_out(self, ids: Ids, labels: Labels, opinion_N: Classes) -> Ids:
        """Keep the guesses that neighbours of known labels make, too, or the network that never learned from any."""
        shared = opinion_N[ids] == labels.guess[ids]
        alone = ids[~shared]
        shared[~shared] = self._predicted_by(self._plain.asked, self._pool, alone).argmax(1) == labels.guess[alone]
        borne_out: Ids = ids[shared]
        return borne_out


@dataclass(frozen=True, eq=False)
class _Taught:
    """What is learned from: known labels, guesses of the network's own, and guesses that were made with advice."""

    labels: Labels  # with both kinds of guesses
    own: Ids = field(default_factory=lambda: NO_IDS)
    advised: Ids = field(default_factory=lambda: NO_IDS)
    opinion_N: Classes | None = None  # what others make of the pool, where the network's own guesses have to be shared

    @property
    def count(self) -> int:
        return len(self.own) + len(self.advised)


def last_layer(model: nn.Module, classes: int) -> nn.Linear | None:
    """Find the layer whose outputs are the logits; None where that cannot be told, and so nothing is calibrated."""
    last = list(model.modules())[-1] if isinstance(model, nn.Sequential) else None
    return last if isinstance(last, nn.Linear) and last.out_features == classes else None


def _classes(labels: Labels, ids: Ids) -> Classes:
    classes: Classes = np.where(labels.answer[ids] != UNKNOWN, labels.answer[ids], labels.guess[ids])
    return classes.astype(np.int64)
