"""Advice to a network on pixels: what a linear head makes of the same pictures as another network sees them.

A network that learns from its own guesses cannot find out what it never doubted. A head on features of a network that
knows photographs errs elsewhere. Both are asked, and a sample is taken for what both together make of it: their
probabilities are multiplied (a product of experts: Hinton, 2002). Neither has to be trusted: the head is as sure as
known labels that were kept from it say that it may be, so where it tells nothing it says nothing. Where few labels
are of others than typical samples, which are told most easily, it is made more modest, and heard only if it knows more
than neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import safetensors.torch
import torch
from torch import Tensor

from deepbass.core.belief import Floats
from deepbass.core.config import WEIGHED, Config
from deepbass.core.labels import UNKNOWN, Classes, Ids, Labels
from deepbass.core.opinions import softmax
from deepbass.core.randomness import generator
from deepbass.core.samples import Samples
from deepbass.learn.engine import REPLACED_BY
from deepbass.learn.head_learner import HeadLearner
from deepbass.learn.heads import LinearHead
from deepbass.learn.minimise import one_thread
from deepbass.learn.pool_heads import Head

MOST = 6_000  # samples of the pool that are advised on: what is seen of them takes a minute to compute
_AGAIN = 1.1  # times as many labels as the head was last solved with
_OTHERS = 20  # labels that are not of typical samples: with no more, these show little of what the head knows
_HEAT = 2.0  # what the logits are divided by of who is surer than he may be: the network, and a head on typical labels
_TINY = 1e-9
_PACKED = "advice."  # what the names of its tensors begin with in a packed state


class Advice:
    """A head on features of some samples of the pool, and what it says of them."""

    def __init__(self, features: Samples, classes: int, config: Config) -> None:
        """Take ``features`` of all samples of the pool, of which only those are read that are advised on or known."""
        count = len(features)
        rng = generator(config.seed, 0, "advice")
        self.ids: Ids = np.arange(count) if count <= MOST else np.sort(rng.choice(count, MOST, replace=False))
        here = REPLACED_BY.set(None)  # whoever computes networks elsewhere has nothing to do for so small a head
        try:
            self._head = _AdvisingHead(self.ids, features, classes, config)
        finally:
            REPLACED_BY.reset(here)
        # hardly a label that is kept from the head shows what it knows of others than typical ones
        self.typical = (
            config.start == "typical" and config.budget is not None and config.budget - config.initial <= _OTHERS
        )
        self._solved_with = 0
        self._said_N_C: Floats | None = None  # by the head as it was last solved
        self.heard = True  # unless it is found to know less than others

    def learn(self, labels: Labels, left_out: Ids, seed: int) -> None:
        """Solve the head on known labels, if these are many more, or others, than last time."""
        known = len(labels.known)
        if self._solved_with <= known < _AGAIN * self._solved_with:
            return
        self._head.taught_by = np.setdiff1d(self.ids, left_out)
        unknown = self._head.taught_by[labels.answer[self._head.taught_by] == UNKNOWN]
        self._head.train(labels.guessed(unknown, np.zeros_like(unknown)), epochs=1, copies=1, seed=seed)
        self._solved_with, self._said_N_C = known, None

    def hold_against(self, neighbours_N_C: Floats, judge_N_C: Floats) -> None:
        """Find out whether neighbours of known labels know more than the head: then it is not heard.

        The judge has learned from neither: with who knows more it agrees more often.
        """
        judged_N = judge_N_C.argmax(1)
        head, neighbours = ((said_N_C.argmax(1) == judged_N).mean() for said_N_C in (self._said(), neighbours_N_C))
        self.heard = bool(head > neighbours)

    def guesses(self, others_N_C: Floats, bar: float) -> tuple[Ids, Classes]:
        """Tell what samples are taken for, given what somebody else makes of them, if that is surer than a bar."""
        joined_N_C = self.joined(others_N_C)
        sure = joined_N_C.max(1) > bar
        return self.ids[sure], joined_N_C.argmax(1)[sure]

    def joined(self, others_N_C: Floats) -> Floats:
        """Multiply what somebody else makes of the samples that are advised on by what the head does."""
        others, said = (np.log(np.maximum(probs_N_C, _TINY)) for probs_N_C in (others_N_C, self._said()))
        return softmax(others / _HEAT + (said / _HEAT if self.typical else said))

    @property
    def words(self) -> str | None:
        """Say how often the head was right."""
        told = self._head.evidence
        if told is None or not told.labels:
            return None
        said = (
            f"Advice by what a network for photographs sees: right about {told.right:.0f} of {told.labels} held-back "
            "labels"
        )
        return f"{said}." if self.heard else f"{said}; not used, as neighbours of known pictures seem to tell more."

    def _said(self) -> Floats:
        if self._said_N_C is None:
            self._said_N_C = self._head.modestly(self.ids) if self.typical else self._head.probabilities_of(self.ids)
        return self._said_N_C

    def tensors(self) -> dict[str, Tensor]:
        """Name all that a resume needs."""
        packed = safetensors.torch.load(self._head.state())
        return {
            **{f"{_PACKED}{name}": tensor for name, tensor in packed.items()},
            f"{_PACKED}solved_with": torch.tensor(self._solved_with),
            f"{_PACKED}heard": torch.tensor(self.heard),
        }

    def take_up(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on from what was packed."""
        own = {name.removeprefix(_PACKED): tensor for name, tensor in tensors.items() if name.startswith(_PACKED)}
        self._solved_with, self._said_N_C = int(own.pop("solved_with")), None
        self.heard = bool(own.pop("heard", True))  # which an earlier version always was
        self._head.restore(safetensors.torch.save(own))


class _AdvisingHead(HeadLearner):
    """A head whose pool is part of a larger one: nothing else is read but for known labels."""

    def __init__(self, ids: Ids, features: Samples, classes: int, config: Config) -> None:
        self.taught_by = ids
        (width,) = features.shape
        solved = Config(seed=config.seed, admit=WEIGHED, model="linear", device="cpu")
        super().__init__(LinearHead(width, classes, solved.dropout), features, classes, solved)

    def probabilities_of(self, ids: Ids, cooled: float = 1.0) -> Floats:
        """Predict samples by the head as it is used, its logits divided by a number."""
        linear = self.model.linear
        head = Head(linear.weight.detach().double() / cooled, linear.bias.detach().double() / cooled)
        with one_thread():  # so that what comes out does not hang on how many there are
            return self._probs(head, self._pool, ids)

    def modestly(self, ids: Ids) -> Floats:
        """Predict samples no surer than the head was trained to be, and rule out nothing that labels have not shown.

        What never happened in n cases is left 1 / (n + 2) (Laplace's rule of succession), alike for all classes.
        """
        unheard = 1 / (2 + (self.evidence.labels if self.evidence is not None else 0))
        probs_N_C = self.probabilities_of(ids, max(1.0, float(self._weighing.factors_M.sum())))
        mixed_N_C: Floats = (1 - unheard) * probs_N_C + unheard / probs_N_C.shape[1]
        return mixed_N_C

    def _prepared_with(self, count: int) -> Ids:
        return self.taught_by

    def _taught_by(self, labels: Labels) -> Ids:
        return self.taught_by
