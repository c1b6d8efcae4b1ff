"""Optimisers, schedules and losses of the user's own: they do as torch has them, and a resume goes on to the bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import SGD, Adam, Optimizer, RMSprop, lr_scheduler

from deepbass.core.config import OWN, Config
from deepbass.core.errors import ConfigError
from deepbass.core.labels import Answers, Labels
from deepbass.core.own_parts import OwnParts, names_of
from deepbass.learn.carry_over import carry_over
from deepbass.learn.choose_learner import learner_for
from deepbass.learn.learner import LocalLearner
from deepbass.learn.models import build
from tests.learn.arrays import Arrays

SHAPE, CLASSES, SAMPLES = (1, 8, 8), 3, 30
VALUES = np.random.default_rng(0).normal(size=(SAMPLES, *SHAPE)).astype(np.float32)
LABELS = Labels.none(SAMPLES, CLASSES).answered(Answers(np.arange(20), np.arange(20) % CLASSES))


class Shrinking(Optimizer):
    """An optimiser whose state is a plain number for every weight."""

    def __init__(self, weights: list[nn.Parameter]) -> None:
        super().__init__(weights, {"lr": 0.1})

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for weights in group["params"]:
                rate = self.state[weights].get("rate", group["lr"])
                weights.data.sub_(rate * weights.grad)
                self.state[weights]["rate"] = 0.9 * rate


def fresh(classes: int = CLASSES, settings: dict[str, Any] | None = None, **parts: Any) -> LocalLearner:
    config = Config.of({"batch_size": 8, "device": "cpu", **(settings or {}), **names_of(parts)})
    own = OwnParts(**{name: part for name, part in parts.items() if not isinstance(part, str)})
    return learner_for(build(config, SHAPE, classes), Arrays(VALUES), classes, config, own=own)


def train(learner: LocalLearner, seed: int) -> None:
    learner.train(LABELS, epochs=2, copies=1, seed=seed)


def warm_up(optimizer: Optimizer) -> lr_scheduler.LRScheduler:
    parts = [lr_scheduler.ConstantLR(optimizer, 0.1, 2), lr_scheduler.ExponentialLR(optimizer, 0.5)]
    return lr_scheduler.SequentialLR(optimizer, parts, [2])


PARTS: dict[str, dict[str, Any]] = {
    "adamw": {"optimizer": "adamw"},
    "sgd": {"optimizer": "sgd"},
    "a warm-up": {"schedule": warm_up},
    "milestones": {"schedule": lambda optimizer: lr_scheduler.MultiStepLR(optimizer, [1, 3])},
    "one cycle, of rate and momentum": {
        "optimizer": lambda weights: SGD(weights, lr=0.1, momentum=0.9),
        "schedule": lambda optimizer: lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=10),
    },
    "a function of the epoch": {"schedule": lambda optimizer: lr_scheduler.LambdaLR(optimizer, lambda e: 1 / (1 + e))},
    "rmsprop": {"optimizer": lambda weights: RMSprop(weights, lr=1e-3, centered=True)},
    "one of one's own": {"optimizer": Shrinking},
}


@pytest.mark.parametrize("teacher", [0.0, 0.9])
@pytest.mark.parametrize("kind", PARTS)
def test_a_learner_that_is_taken_up_again_goes_on_to_the_bit(kind: str, teacher: float) -> None:
    settings = {"teacher": teacher, "admit": "none"}
    unbroken = fresh(settings=settings, **PARTS[kind])
    train(unbroken, 1)
    packed = unbroken.state()
    train(unbroken, 2)
    resumed = fresh(settings=settings, **PARTS[kind])
    resumed.restore(packed)
    assert resumed.state() == packed
    train(resumed, 2)
    assert resumed.state() == unbroken.state()
    other = fresh(settings=settings)
    other.restore(fresh(settings=settings).state())
    train(other, 1)
    train(other, 2)
    assert other.state() != unbroken.state()  # it makes a difference


def test_rates_follow_the_schedule_epoch_by_epoch() -> None:
    rates: list[float] = []

    class Noted(lr_scheduler.ExponentialLR):
        def step(self, epoch: int | None = None) -> None:
            super().step(epoch)
            rates.append(float(self.get_last_lr()[0]))

    learner = fresh(schedule=lambda optimizer: Noted(optimizer, 0.5))
    train(learner, 1)
    train(learner, 2)
    assert rates[-4:] == [1e-3 * 0.5**epoch for epoch in (1, 2, 3, 4)]


@pytest.mark.parametrize("loss", [F.cross_entropy, lambda z, y: F.cross_entropy(z, y, reduction="none")])
def test_a_loss_is_one_number_or_one_for_every_sample(loss: Callable[[Tensor, Tensor], Tensor]) -> None:
    own, plain = fresh(loss=loss), fresh(settings={"kernel": "off"})
    assert own.engine == "torch"  # the kernel knows the cross-entropy alone
    for learner in (own, plain):
        train(learner, 1)
    for mine, theirs in zip(own.model.parameters(), plain.model.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-6)


def test_with_an_optimiser_of_ones_own_the_kernel_still_runs_the_network() -> None:
    own, plain = fresh(optimizer=lambda weights: Adam(weights, lr=1e-3, eps=1e-7)), fresh(settings={"l2": 0})
    assert own.engine == plain.engine
    for learner in (own, plain):
        train(learner, 1)
    for mine, theirs in zip(own.model.parameters(), plain.model.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)


def test_a_class_more_changes_nothing_in_the_schedule() -> None:
    parts: dict[str, Any] = {"schedule": lambda optimizer: lr_scheduler.ExponentialLR(optimizer, 0.5)}
    before, after = fresh(**parts), fresh(CLASSES + 1, **parts)
    train(before, 1)
    carry_over(before.state(), CLASSES, [*range(CLASSES), None], after, lambda: b"")
    rates = [group["lr"] for group in after._optimisation.optimiser.param_groups]
    assert rates == [1e-3 * 0.25] * len(rates)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"optimizer": lambda weights: 3}, "returned 3, which is no torch.optim.Optimizer"),
        ({"optimizer": torch.optim.LBFGS}, "LBFGS wants the loss again"),
        ({"schedule": lambda optimizer: 3}, "returned 3: return an LRScheduler"),
        ({"schedule": lr_scheduler.ReduceLROnPlateau}, "schedule = ReduceLROnPlateau returned .* goes by epochs alone"),
        ({"loss": lambda z, y: z}, r"returned a tensor of shape \(8, 3\) .* of shape \(8,\), one number for every"),
        ({"loss": lambda z, y: 1.0}, "returned 1.0 for logits"),
        ({"loss": lambda z, y: torch.ones(len(y))}, "that was computed from them"),
        ({"settings": {"optimizer": OWN}}, "pass the optimizer itself"),
        ({"settings": {"loss": "own.py:focal"}}, "pass the loss itself"),
        ({"settings": {"model": "linear", "optimizer": "sgd"}}, "optimizer = 'sgd': a linear head is not trained"),
        (
            {"settings": {"model": "linear"}, "loss": F.cross_entropy},
            "loss = .* is not trained step by step",
        ),
    ],
)
def test_what_cannot_be_is_said_at_once(parts: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        train(fresh(**parts), 1)


def test_what_cannot_be_kept_for_a_resume_is_named() -> None:
    class Odd(lr_scheduler.ExponentialLR):
        def __init__(self, optimizer: Optimizer) -> None:
            super().__init__(optimizer, 0.5)
            self.drawn = np.random.default_rng(0)

    with pytest.raises(ConfigError, match=r"schedule = Odd has Generator.* in its state, a Generator, which cannot be"):
        fresh(schedule=Odd).state()
