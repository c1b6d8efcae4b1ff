"""A teacher is the exact moving average; guesses that mislead are turned off; all survives a stop to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from deepbass.core.config import Config
from deepbass.core.errors import StoreError
from deepbass.core.labels import Answers, Ids, Labels
from deepbass.core.lots import drawn
from deepbass.learn.averaged import Averaged, decay_at
from deepbass.learn.choose_learner import learner_for
from deepbass.learn.learner import engine_for
from deepbass.learn.models import build
from deepbass.learn.optimisation import Optimisation
from deepbass.learn.packed_state import packed_weights
from deepbass.learn.second_opinion import SecondOpinion
from deepbass.learn.teacher import TeacherLearner
from tests.learn.arrays import Arrays

CLASSES, SAMPLES, SHAPE = 3, 240, (1, 8, 8)
FIRST = np.arange(60)  # known from the start


def bars(noise: float = 0.3, seed: int = 0) -> tuple[Arrays, NDArray[np.int64]]:
    """Draw pictures of a bright bar: across at the top, across at the bottom, or from top to bottom."""
    rng, classes = np.random.default_rng(seed), np.arange(SAMPLES) % CLASSES
    values = noise * rng.normal(size=(SAMPLES, *SHAPE))
    for class_, where in enumerate((np.s_[1:3, :], np.s_[5:7, :], np.s_[:, 3:5])):
        values[classes == class_, 0, where[0], where[1]] += 1
    return Arrays(values.astype(np.float32)), classes


def config(**settings: object) -> Config:
    chosen = {"model": "small-cnn", "teacher": 0.9, "batch_size": 32, "iterations": 4, "learning_rate": 3e-3}
    return Config.of({**chosen, **settings})


def learner(pool: Arrays, **settings: object) -> TeacherLearner:
    made = learner_for(build(config(**settings), SHAPE, CLASSES), pool, CLASSES, config(**settings))
    assert isinstance(made, TeacherLearner)
    return made


def told(classes: NDArray[np.int64], ids: Ids) -> Labels:
    return Labels.none(SAMPLES, CLASSES).answered(Answers(ids, classes[ids]))


def weights(model: torch.nn.Module) -> list[NDArray[np.float64]]:
    return [each.detach().numpy().astype(np.float64) for each in model.parameters()]


def test_the_teacher_is_the_moving_average_of_its_student() -> None:
    pool, classes = bars()
    chosen = config()
    pair = Averaged(
        build(chosen, SHAPE, CLASSES),
        0.9,
        lambda model: engine_for(model, pool, CLASSES, chosen, torch.device("cpu")),
        lambda model: Optimisation(model, chosen),
    )
    mean = weights(pair.teacher)
    with pair.trained.training(0):
        for step in range(1, 100):
            rows = np.arange(step, step + 32)
            pair.zero_grad()
            pair.trained.backward_on(rows, classes[rows])
            pair.step()
            kept = min(0.9, step / (step + 10))
            assert decay_at(step, 0.9) == kept
            mean = [kept * m + (1 - kept) * w for m, w in zip(mean, weights(pair.student), strict=True)]
    for got, expected, student in zip(weights(pair.teacher), mean, weights(pair.student), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-5)
        assert np.abs(got - student).max() > 1e-4


def grown(subject: TeacherLearner, classes: NDArray[np.int64], guessed: NDArray[np.int64], rounds: int) -> Labels:
    """Train on first labels, then on guesses, with a few more labels by lot each time."""
    labels = told(classes, FIRST)
    subject.train(labels, epochs=4, copies=4, seed=0)
    for round_ in range(rounds):
        labels = labels.guessed(np.arange(SAMPLES), guessed)
        asked = drawn(labels.askable, 8)
        labels = labels.wanted(asked).answered(Answers(asked, classes[asked]))
        subject.train(labels, epochs=2, copies=2, seed=1 + round_)
    return labels


def test_guesses_that_nobody_else_makes_are_not_learned_until_guesses_are_proven(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool, classes = bars()
    wrong, shown = (classes + 1) % CLASSES, list[int]()
    borne_out = TeacherLearner._borne_out

    def watched(self: TeacherLearner, ids: Ids, labels: Labels, opinion_N: NDArray[np.int64]) -> Ids:
        kept = borne_out(self, ids, labels, opinion_N)
        shown.extend(kept.tolist())
        return kept

    monkeypatch.setattr(TeacherLearner, "_borne_out", watched)
    subject = learner(pool)
    grown(subject, classes, wrong, 5)
    assert len(set(shown)) < 0.1 * SAMPLES
    assert subject.evaluate(pool, classes).accuracy > 0.9

    shown.clear()
    grown(learner(pool), classes, classes, 5)
    assert len(set(shown)) > 0.5 * SAMPLES  # what is right is shared by others

    shown.clear()
    monkeypatch.setattr("deepbass.learn.held_back.proven", lambda better, worse: True)
    grown(learner(pool), classes, wrong, 2)
    assert shown == []  # who has been proven right is not asked for another's opinion


def test_guesses_that_mislead_are_turned_off_and_what_they_did_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, classes = bars()
    misled = (classes + 1) % CLASSES
    monkeypatch.setattr(SecondOpinion, "of_all", lambda self, labels: misled)  # who would bear them out
    subject = learner(pool)
    grown(subject, classes, misled, 5)
    evidence = subject.evidence
    assert evidence is not None
    assert evidence.weight == 0
    assert evidence.points < -5
    assert "not used" in evidence.words
    subject.temperature = 1.0  # how sure it is hangs on what was kept back
    np.testing.assert_array_equal(subject.predict(pool), subject.predict_plain(pool))
    assert subject.evaluate(pool, classes).accuracy > 0.9


def test_guesses_that_are_right_stay_in_use() -> None:
    pool, classes = bars(noise=0.6)
    subject = learner(pool)
    grown(subject, classes, classes, 5)
    evidence = subject.evidence
    assert evidence is not None
    assert evidence.weight == 1
    assert evidence.labels >= len(FIRST) // 5
    assert subject.evaluate(pool, classes).accuracy > 0.9
    plain = subject.predict_plain(pool)
    assert (plain != subject.predict(pool)).any()


def test_what_is_kept_back_is_not_learned_from_until_it_was_predicted() -> None:
    read: list[int] = []

    class Watched(Arrays):
        def read(self, ids: Ids) -> NDArray[np.float32]:
            read.extend(ids.tolist() if len(ids) <= 32 else [])  # batches; a graph of all pictures knows no label
            return super().read(ids)

    values, classes = bars()
    subject = learner(Watched(values.read(np.arange(SAMPLES))), iterations=12)
    labels = told(classes, FIRST)
    read.clear()
    subject.train(labels, epochs=2, copies=2, seed=0)
    kept = set(FIRST.tolist()) - set(read)
    assert len(kept) == len(FIRST) // 5
    for seed in (1, 2):
        subject.train(labels.guessed(np.arange(SAMPLES), classes), epochs=1, copies=1, seed=seed)
    assert not kept & set(read)
    assert subject.evidence is not None and subject.evidence.labels == 0
    for seed in (3, 4):
        subject.train(labels.guessed(np.arange(SAMPLES), classes), epochs=1, copies=1, seed=seed)
    assert kept <= set(read)
    assert subject.evidence is not None and subject.evidence.labels == len(kept)


@pytest.mark.parametrize("stop", [1, 4])
def test_stop_and_resume_equals_not_stopping(stop: int) -> None:
    pool, classes = bars()
    unbroken, begun, resumed = (learner(pool, guesses=50) for _ in range(3))
    labels = told(classes, FIRST)

    def go(subject: TeacherLearner, rounds: range) -> None:
        for round_ in rounds:
            new = drawn(np.arange(SAMPLES), 10 * round_)
            now = labels.answered(Answers(new, classes[new])).guessed(np.arange(SAMPLES), (classes + 1) % CLASSES)
            subject.train(now if round_ else labels, epochs=1, copies=2, seed=round_)

    go(unbroken, range(6))
    go(begun, range(stop))
    resumed.restore(begun.state())
    assert resumed.evidence == begun.evidence
    go(resumed, range(stop, 6))
    assert resumed.state() == unbroken.state()
    assert resumed.evidence == unbroken.evidence


def test_where_no_guess_is_wanted_there_is_none_from_neighbours_either() -> None:
    pool, classes = bars()
    subject = learner(pool, admit="none")
    labels = told(classes, FIRST)
    for seed in range(3):
        subject.train(labels, epochs=1, copies=1, seed=seed)
    np.testing.assert_array_equal(subject.predict(pool), subject.predict_plain(pool))
    assert subject.evidence is None
    assert int(subject._with.tensors("")["steps"]) == 3 * 2  # all 60 labels, 32 at a time: none is kept back


def test_the_model_that_is_packed_is_the_teacher() -> None:
    pool, classes = bars()
    subject = learner(pool)
    subject.train(told(classes, FIRST), epochs=2, copies=2, seed=0)
    packed = packed_weights(subject.state(), "here")
    again = build(config(), SHAPE, CLASSES)
    again.load_state_dict(packed)
    fresh = learner_for(again, pool, CLASSES, config())
    np.testing.assert_array_equal(fresh.predict(pool), subject.predict(pool))


def test_a_checkpoint_of_another_kind_is_refused() -> None:
    pool, _ = bars()
    plain = learner_for(build(config(teacher=0), SHAPE, CLASSES), pool, CLASSES, config(teacher=0))
    with pytest.raises(StoreError, match="does not fit"):
        learner(pool).restore(plain.state())


def test_no_more_guesses_than_wanted_are_shown() -> None:
    pool, classes = bars()
    steps = []
    for guesses in (16, 128):
        subject = learner(pool, guesses=guesses)
        subject.train(told(classes, FIRST), epochs=1, copies=1, seed=0)
        before = int(subject._with.tensors("")["steps"])
        labels = told(classes, FIRST).guessed(np.arange(SAMPLES), classes)
        subject.train(labels, epochs=1, copies=1, seed=1)
        steps.append(int(subject._with.tensors("")["steps"]) - before)
    assert steps == [2, 6]  # 48 known and 16 guesses, or 128, 32 at a time
