"""Advice: guesses are made by a network and a head on features together, and neither can lead the other far astray."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from deepbass.core.config import Config
from deepbass.core.labels import NO_IDS, Answers, Ids, Labels
from deepbass.core.samples import Samples
from deepbass.learn import advice as module
from deepbass.learn.advice import Advice
from deepbass.learn.choose_learner import learner_for
from deepbass.learn.models import build
from deepbass.learn.teacher import TeacherLearner
from tests.learn.arrays import Arrays
from tests.learn.test_teacher import CLASSES, FIRST, SAMPLES, SHAPE, bars, config, told

EVERYBODY = np.arange(SAMPLES)


class Counted(Arrays):
    """Features that know who was read."""

    def __init__(self, values: NDArray[np.float32]) -> None:
        super().__init__(values)
        self.seen: set[int] = set()

    def read(self, ids: Ids) -> NDArray[np.float32]:
        self.seen.update(ids.tolist())
        return super().read(ids)


def features(classes: NDArray[np.int64], told_apart: float = 3.0, width: int = 20) -> Counted:
    """Draw features that tell classes apart, or do not."""
    rng = np.random.default_rng(7)
    centres = rng.normal(size=(CLASSES, width))
    return Counted((told_apart * centres[classes] + rng.normal(size=(len(classes), width))).astype(np.float32))


def advised(pool: Arrays, seen: Samples | None, **settings: object) -> TeacherLearner:
    chosen = config(**settings)
    made = learner_for(build(chosen, SHAPE, CLASSES), pool, CLASSES, chosen, features=seen)
    assert isinstance(made, TeacherLearner)
    return made


def right(learner: TeacherLearner, pool: Arrays, classes: NDArray[np.int64]) -> float:
    return float((learner.predict(pool).argmax(1) == classes).mean())


def through(learner: TeacherLearner, labels: Labels, iterations: int = 4) -> None:
    """Train as the loop does, on what the learner makes of the pool."""
    learner.train(labels, epochs=6, copies=4, seed=0)
    for iteration in range(1, iterations + 1):
        belief = learner.infer(None, passes=0, seed=iteration)
        labels = labels.guessed(belief.ids, belief.guess)
        learner.train(labels, epochs=2, copies=4, seed=iteration)


def solved(seen: Samples, labels: Labels, left_out: Ids = NO_IDS, config: Config | None = None) -> Advice:
    made = Advice(seen, CLASSES, config or Config(seed=3))
    made.learn(labels, left_out, seed=0)
    return made


def test_what_both_are_in_doubt_about_together_is_the_product_of_what_each_says() -> None:
    _, classes = bars()
    made = solved(features(classes, 1.0), told(classes, FIRST))
    alone_N_C = made.joined(np.full((SAMPLES, CLASSES), 1 / CLASSES))
    others_N_C = np.random.default_rng(1).dirichlet(np.ones(CLASSES), SAMPLES)
    by_hand = alone_N_C * np.sqrt(others_N_C)  # the network's logits count half
    np.testing.assert_allclose(made.joined(others_N_C), by_hand / by_hand.sum(1, keepdims=True), atol=1e-9)


def test_who_sees_nothing_says_nothing() -> None:
    _, classes = bars()
    blind, seeing = (solved(features(classes, apart), told(classes, FIRST)) for apart in (0.0, 3.0))
    others_N_C = np.full((SAMPLES, CLASSES), 0.1)
    others_N_C[np.arange(SAMPLES), classes] = 0.8
    assert (seeing.joined(np.full_like(others_N_C, 1 / CLASSES)).argmax(1) == classes).mean() > 0.95
    assert (blind.joined(others_N_C).argmax(1) == classes).mean() > 0.9  # it does not talk anybody out of the truth


def test_what_typical_labels_have_never_shown_is_not_ruled_out() -> None:
    """Labels that are all right leave for every class its part of one in their number and two more."""
    _, classes = bars()
    labels = told(classes, FIRST)
    typical = Config(seed=3, start="typical", initial=len(FIRST), budget=len(FIRST))
    nothing_N_C = np.full((SAMPLES, CLASSES), 1 / CLASSES)
    seen = features(classes, 30.0)  # which nobody could take for one another
    modest_N_C = solved(seen, labels, config=typical).joined(nothing_N_C)
    others_N_C = solved(seen, labels, config=replace(typical, budget=len(FIRST) + 21)).joined(nothing_N_C)
    least = 1 / (CLASSES * (len(labels.known) + 2))
    modest_N_C = modest_N_C**2 / (modest_N_C**2).sum(1, keepdims=True)  # a head on typical labels counts half
    assert (modest_N_C.argmax(1) == classes).all()
    assert (modest_N_C.min(1) > least).all()
    assert (others_N_C.min(1) < least).all()
    np.testing.assert_allclose(modest_N_C.sum(1), 1)


def test_labels_that_are_all_right_make_a_modest_adviser_no_surer_than_it_was_trained_to_be() -> None:
    _, classes = bars()
    head = solved(features(classes, 0.8), told(classes, FIRST))._head
    factors_M, weights = head._weighing.factors_M.copy(), head.model.linear.weight.detach().clone()
    said = []
    for surer in (1.0, 3.0, 0.5):  # times what it was trained to be
        head._weighing = replace(head._weighing, factors_M=surer * factors_M / factors_M.sum())
        with torch.no_grad():
            head.model.linear.weight.copy_(surer * weights)
            head.model.linear.bias.zero_()
        said.append(head.modestly(EVERYBODY).max(1))
    np.testing.assert_allclose(said[1], said[0], rtol=1e-6)
    assert (said[2] < said[0]).all()


def test_advice_teaches_what_pixels_do_not_show() -> None:
    pool, classes = bars(noise=2.5)
    few = told(classes, np.arange(12))
    alone, taught = advised(pool, None), advised(pool, features(classes))
    for learner in (alone, taught):
        through(learner, few)
    assert right(taught, pool, classes) > right(alone, pool, classes) + 0.05
    assert alone.advice_in_words is None
    assert "right about" in (taught.advice_in_words or "")


def test_useless_advice_does_little_harm() -> None:
    pool, classes = bars(noise=0.5)
    learner = advised(pool, features(classes, 0.0))
    through(learner, told(classes, FIRST))
    assert right(learner, pool, classes) > 0.95


@pytest.mark.parametrize(("noise", "apart", "heard"), [(0.5, 0.5, False), (2.5, 3.0, True)])
def test_with_typical_labels_alone_a_head_that_knows_less_than_neighbours_is_not_heard(
    noise: float, apart: float, heard: bool
) -> None:
    pool, classes = bars(noise=noise)
    few, typical = told(classes, np.arange(12)), {"start": "typical", "initial": 12, "budget": 12}
    learner, resumed, unadvised = (
        advised(pool, seen, **typical) for seen in (features(classes, apart), features(classes, apart), None)
    )
    through(learner, few, iterations=2)
    assert ("not used" not in (learner.advice_in_words or "")) == heard
    resumed.restore(learner.state())
    assert resumed.advice_in_words == learner.advice_in_words
    through(unadvised, few, iterations=2)
    same = np.array_equal(learner.predict(pool), unadvised.predict(pool))
    assert same != heard  # who is not heard changes nothing
    assert not heard or right(learner, pool, classes) > right(unadvised, pool, classes)


def test_a_resumed_learner_goes_on_bit_for_bit() -> None:
    pool, classes = bars()
    labels = told(classes, FIRST)
    one, other = (advised(pool, features(classes)) for _ in range(2))
    one.train(labels, epochs=2, copies=2, seed=0)
    other.restore(one.state())
    assert other.advice_in_words == one.advice_in_words
    more = labels.answered(Answers(np.arange(60, 90), classes[60:90]))  # solved anew; and not, for one more
    for step, known in enumerate((more, more.answered(Answers(np.array([90]), classes[90:91])))):
        for learner in (one, other):
            learner.train(known.guessed(known.unknown, classes[known.unknown]), epochs=1, copies=2, seed=step)
    assert one.state() == other.state()


def test_of_a_large_pool_only_some_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 100)
    pool, classes = bars()
    seen = features(classes)
    learner = advised(pool, seen)
    through(learner, told(classes, FIRST), iterations=2)
    looked_at = Advice(features(classes), CLASSES, config()).ids
    assert len(looked_at) == 100
    assert seen.seen <= {0, 1, *looked_at.tolist(), *FIRST.tolist()}  # and who was asked about


def test_an_audits_samples_teach_nobody() -> None:
    _, classes = bars()
    labels, audit = told(classes, FIRST), np.arange(60, 120)
    with_others = solved(features(classes), labels, audit)
    taught_by = with_others._head.taught_by
    assert len(taught_by) == SAMPLES - len(audit)
    assert not np.isin(audit, taught_by).any()
