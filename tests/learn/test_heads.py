"""The linear head: solved to its optimum, its penalty chosen on labels that were kept back."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from deepbass.core.config import Config
from deepbass.core.labels import Answers, Labels
from deepbass.data.pool import Pool
from deepbass.learn.choose_learner import learner_for
from deepbass.learn.head_learner import HeadLearner
from deepbass.learn.heads import STRENGTHS, LinearHead, choose_strength, fit, folds_of, weights_of
from deepbass.learn.models import build


def clouds(samples: int, width: int, classes: int, apart: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw clouds of points, one per class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, samples)
    centres = rng.normal(size=(classes, width)) * apart
    return (centres[y] + rng.normal(size=(samples, width))).astype(np.float32), y


@pytest.mark.parametrize(("samples", "width"), [(200, 10), (30, 100)])
@pytest.mark.parametrize("strength", [0.01, 1.0, 100.0])
def test_the_optimum_is_scikit_learns(samples: int, width: int, strength: float) -> None:
    X, y = clouds(samples, width, 3, 0.5)
    weights = np.random.default_rng(1).uniform(0.1, 2, samples)
    zero = torch.zeros(3, width, dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    W, b = fit(torch.from_numpy(X).double(), torch.from_numpy(y), torch.from_numpy(weights), strength, *zero)
    theirs = LogisticRegression(C=strength, tol=1e-10, max_iter=5000).fit(X.astype(np.float64), y, weights)
    np.testing.assert_allclose(W.numpy(), theirs.coef_, atol=2e-3 * max(1e-2, np.abs(theirs.coef_).max()))
    ours = torch.softmax(torch.from_numpy(X).double() @ W.T + b, 1)
    np.testing.assert_allclose(ours.numpy(), theirs.predict_proba(X.astype(np.float64)), atol=2e-3)


def test_a_penalty_is_strong_where_features_mislead_and_weak_where_they_tell() -> None:
    rng = np.random.default_rng(0)
    told, y = clouds(120, 20, 3, 3.0)
    noise = rng.normal(size=(120, 20)).astype(np.float32)

    def chosen(X: np.ndarray) -> float:
        scaled = torch.from_numpy(X / np.sqrt((X**2).sum(1).mean())).double()
        return choose_strength(scaled, torch.from_numpy(y), 3, np.random.default_rng(0)).strength

    assert chosen(noise) == STRENGTHS[0]
    assert chosen(told) >= 10


def test_folds_are_even_and_so_are_classes_in_them() -> None:
    y = np.repeat([0, 1, 2], [50, 25, 7])
    folds = folds_of(y, 5, np.random.default_rng(3))
    assert set(np.bincount(folds).tolist()) <= {16, 17}
    for class_ in range(3):
        counts = np.bincount(folds[y == class_], minlength=5)
        assert counts.max() - counts.min() <= 1


def test_classes_count_alike_where_chance_made_them_differ_and_guesses_less() -> None:
    answers = np.array([0, 0, 0, 0, 2, 2])  # of class 1 nothing is known
    weights = weights_of(answers, 3, 20)
    np.testing.assert_allclose(weights, [3 / 4] * 4 + [3 / 2] * 2 + [0.05] * 3)


def test_a_class_that_is_rarer_counts_for_more_half_way() -> None:
    weights = weights_of(np.repeat([0, 1, 2], [4_000, 3_000, 2_000]), 0, 1)
    assert weights[4_000] / weights[0] == pytest.approx(np.sqrt(4 / 3), rel=0.01)
    assert weights[-1] / weights[0] == pytest.approx(np.sqrt(2), rel=0.01)
    assert weights.mean() == pytest.approx(1)


@pytest.mark.parametrize(("common", "rare"), [(19, 1), (95, 5), (9_000, 1_000)])
def test_where_accuracy_misleads_every_class_counts_alike(common: int, rare: int) -> None:
    weights = weights_of(np.repeat([0, 1], [common, rare]), 0, 1)
    assert weights[:common].sum() == pytest.approx(weights[common:].sum())


def config(**more: object) -> Config:
    return Config.of({"features": "words", "passes_pool": 5, **more})


def labelled(y: np.ndarray, known: int, classes: int) -> Labels:
    ids = np.arange(known)
    return Labels.none(len(y), classes).answered(Answers(ids, y[ids]))


def test_it_learns_keeps_uncertainty_and_goes_on_bit_for_bit() -> None:
    X, y = clouds(400, 30, 4, 0.8)
    pool = Pool(X * 7 + 100, "train")  # of any range: it is centred and scaled

    def learner() -> HeadLearner:
        made = learner_for(build(config(), (30,), 4), pool, 4, config())
        assert isinstance(made, HeadLearner)
        return made

    first = learner()
    first.train(labelled(y, 60, 4), epochs=1, copies=20, seed=5)
    assert (first.probabilities(pool).argmax(1) == y)[60:].mean() > 0.85
    belief = first.infer(None, passes=5, seed=1)
    assert 0 < belief.mutual_information.mean() < belief.entropy.mean()

    second = learner()
    second.restore(first.state())
    more = labelled(y, 61, 4).guessed(np.arange(61, 400), first.probabilities(pool).argmax(1)[61:])
    for each in (first, second):
        each.train(more, epochs=1, copies=20, seed=6)
    assert first.state() == second.state()
    assert int(first.model.chosen_with) == 60  # one label more is no reason to choose again


@pytest.mark.parametrize("units", [True, False])
def test_known_labels_tell_whether_columns_have_units_of_their_own(units: bool) -> None:
    told, y = clouds(600, 5, 3, 2.0)
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(600, 60)).astype(np.float32)
    # what tells the classes apart is small beside one column of noise; or large beside many, as in an embedding
    X = np.hstack([told, 300 * noise[:, :1]]) if units else np.hstack([told, 0.1 * noise])
    settings = config(features="pixels", model="linear", admit="weighed")
    pool = Pool(X, "train")

    def learner() -> HeadLearner:
        made = learner_for(build(settings, X.shape[1:], 3), pool, 3, settings)
        assert isinstance(made, HeadLearner)
        return made

    first, labels = learner(), labelled(y, 40, 3)
    first.train(labels, epochs=1, copies=20, seed=5)
    by_column, by_length = (view.scale for view in first.model.views[:2])
    expected, found = by_column if units else by_length, first.model.scale
    torch.testing.assert_close(found / found.norm(), expected / expected.norm())
    assert (first.probabilities(pool).argmax(1) == y)[40:].mean() > 0.9

    second = learner()  # begins with the other guess, and takes up what was chosen
    second.restore(first.state())
    more = labelled(y, 60, 3).guessed(np.arange(60, 600), first.probabilities(pool).argmax(1)[60:])
    for each in (first, second):
        each.train(more, epochs=1, copies=20, seed=6)
    assert first.state() == second.state()


def test_one_class_no_label_and_features_without_spread_do_no_harm() -> None:
    flat = Pool(np.ones((20, 3), np.float32), "train")
    learner = learner_for(build(config(), (3,), 2), flat, 2, config())
    learner.rehearse()
    learner.train(Labels.none(20, 2), epochs=1, copies=20, seed=0)
    learner.train(labelled(np.zeros(20, np.int64), 3, 2), epochs=1, copies=20, seed=0)
    assert (learner.probabilities(flat).argmax(1) == 0).all()
    assert (learner.infer(None, passes=5, seed=0).guess == 0).all()


def test_centre_and_scale_make_the_mean_square_length_one() -> None:
    X, _ = clouds(100, 6, 2, 1.0)
    head = LinearHead(6, 2)
    head.prepare(X * 50 - 3)
    prepared = head.prepared(torch.from_numpy(X * 50 - 3))
    assert float(prepared.square().sum(1).mean()) == pytest.approx(1, rel=1e-4)
    assert float(prepared.mean(0).abs().max()) < 1e-5


@pytest.mark.parametrize("at_the_end", [True, False])
def test_known_labels_tell_whether_a_networks_end_or_what_it_saw_before_tells_more(at_the_end: bool) -> None:
    width, end = 30, 20
    X, y = clouds(300, width, 3, 0.0)
    told, of_it = (slice(end), end) if at_the_end else (slice(end, width), width - end)
    X[:, told] = clouds(300, of_it, 3, 1.0)[0]  # the same classes, for the seed is the same
    X[:, :end] *= 3
    pool, config = Pool(X, "train"), Config(model="linear", features="imagenet-depths", seed=0)
    learner = HeadLearner(LinearHead(width, 3, end=end), pool, 3, config)
    known = np.arange(90)
    learner.train(Labels.none(300, 3).answered(Answers(known, y[known])), epochs=1, copies=1, seed=0)
    assert bool(learner.model.scale[:end].any()) == at_the_end
    right = learner.probabilities(pool).argmax(1) == y
    assert right[90:].mean() > 0.9
    again = HeadLearner(LinearHead(width, 3, end=end), pool, 3, config)
    again.restore(learner.state())
    np.testing.assert_array_equal(again.probabilities(pool), learner.probabilities(pool))
