"""Learning from the pool: believed where kept-back labels bear it out, and nowhere else."""

from __future__ import annotations

import numpy as np
import torch

from deepbass.core.config import WEIGHED, Config
from deepbass.core.guard import Evidence
from deepbass.core.labels import Answers, Labels
from deepbass.data.pool import Pool
from deepbass.learn.choose_learner import learner_for
from deepbass.learn.head_learner import HeadLearner
from deepbass.learn.models import build


def clustered(samples: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw points whose classes are clouds: whoever sees the pool sees the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, samples)
    return (rng.normal(size=(classes, 20))[y] * 1.0 + rng.normal(size=(samples, 20))).astype(np.float32), y


def misleading(samples: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw two far-off clouds and part the classes in the midst of one: a head that is sure cuts between them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(samples, 10))
    X[:, 0] += 8 * rng.integers(0, 2, samples)
    return X.astype(np.float32), (X[:, 0] > 8).astype(np.int64)


def learned(X: np.ndarray, y: np.ndarray, count: int, *, seed: int = 0, **settings: object) -> HeadLearner:
    """Train on so many labels and on guesses about all the rest."""
    config = Config.of({"model": "linear", "admit": WEIGHED, "seed": seed, **settings})
    classes = int(y.max()) + 1
    pool = Pool(X, "train")
    learner = learner_for(build(config, pool.shape, classes), pool, classes, config)
    assert isinstance(learner, HeadLearner)
    learner.train(labels_of(y, count, seed), epochs=1, copies=20, seed=seed)
    return learner


def said_of(learner: HeadLearner) -> Evidence:
    assert learner.evidence is not None
    return learner.evidence


def labels_of(y: np.ndarray, count: int, seed: int) -> Labels:
    drawn = np.random.default_rng(seed).choice(len(y), count, replace=False)
    labels = Labels.none(len(y), int(y.max()) + 1).answered(Answers(drawn, y[drawn]))
    return labels.guessed(labels.unknown, np.zeros(len(labels.unknown), np.int64))


def right(learner: HeadLearner, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    pool = Pool(X, "train")
    plain = learner.predict_plain(pool)
    assert plain is not None
    return float((learner.predict(pool).argmax(1) == y).mean()), float((plain.argmax(1) == y).mean())


def test_where_classes_are_clouds_the_pool_is_believed_and_helps() -> None:
    X, y = clustered(1200, 6)
    learners = [learned(X, y, 15, seed=seed) for seed in range(4)]
    with_pool, plain = np.mean([right(learner, X, y) for learner in learners], axis=0)
    assert with_pool > plain + 0.05
    assert said_of(learners[0]).weight > 0.5


def test_where_the_pool_misleads_it_is_not_believed() -> None:
    X, y = misleading(1000)
    learners = [learned(X, y, 60, seed=seed) for seed in range(4)]
    with_pool, plain = np.mean([right(learner, X, y) for learner in learners], axis=0)
    assert with_pool > plain - 0.02
    ways = [said_of(learner) for learner in learners]
    assert np.mean([each.weight for each in ways]) < 0.5
    assert all(each.labels > 50 for each in ways)


def test_a_packed_learner_goes_on_bit_for_bit() -> None:
    X, y = clustered(600, 4)
    first = learned(X, y, 20)
    other = learned(X, y, 30, seed=7)
    other.restore(first.state())
    assert other.evidence == first.evidence
    other._config = first._config
    for learner in (first, other):
        learner.train(labels_of(y, 23, 0), epochs=1, copies=20, seed=3)  # too few more to weigh anew
    assert torch.equal(first.model.linear.weight, other.model.linear.weight)
    assert torch.equal(first.model.linear.bias, other.model.linear.bias)


def test_known_labels_alone_are_learned_from_where_there_are_no_guesses() -> None:
    X, y = clustered(400, 4)
    config = Config(model="linear", admit=WEIGHED)
    pool = Pool(X, "train")
    learner = learner_for(build(config, pool.shape, 4), pool, 4, config)
    known = labels_of(y, 20, 0)
    none = known.guessed(known.unknown[:0], known.unknown[:0])
    learner.train(none, epochs=1, copies=20, seed=0)
    plain = learner.predict_plain(pool)
    assert plain is not None
    np.testing.assert_allclose(learner.predict(pool), plain, atol=1e-6)
    assert learner.evidence is None


def test_only_samples_with_a_guess_are_learned_from() -> None:
    X, y = clustered(500, 3)
    hidden = np.arange(400, 500)
    known = np.arange(0, 30)

    def trained(noise: float) -> torch.Tensor:
        # as on features: of columns there would be landmarks, too, drawn from the whole pool, and views to choose from
        config = Config(model="linear", admit=WEIGHED, features="imagenet")
        moved = X.copy()
        moved[hidden] += noise * np.random.default_rng(0).permutation(moved[hidden])
        moved[hidden] -= moved[hidden].mean(0) - X[hidden].mean(0)  # what centre and scale see stays the same
        spread = np.square(X[hidden] - X.mean(0)).sum() / np.square(moved[hidden] - X.mean(0)).sum()
        moved[hidden] = (moved[hidden] - X.mean(0)) * np.sqrt(spread) + X.mean(0)
        pool = Pool(moved.astype(np.float32), "train")
        learner = learner_for(build(config, pool.shape, 3), pool, 3, config)
        labels = Labels.none(500, 3).answered(Answers(known, y[known]))
        labels = labels.guessed(np.arange(30, 400), np.zeros(370, np.int64))
        assert isinstance(learner, HeadLearner)
        learner.train(labels, epochs=1, copies=20, seed=0)
        return learner.model.linear.weight.detach().clone()

    torch.testing.assert_close(trained(0.0), trained(0.5), atol=0.05, rtol=0.05)


def test_odd_pools_do_no_harm() -> None:
    flat, y = np.ones((40, 5), np.float32), np.arange(40) % 2
    assert np.isfinite(learned(flat, y, 10).predict(Pool(flat, "train"))).all()  # no spread at all
    X, y = clustered(60, 3)
    everything = learned(X, y, 59)  # hardly anybody left to guess about
    assert right(everything, X, y)[0] > 0.5
    lonely = np.where(np.arange(60) == 0, 2, y % 2)  # a class with one sample
    assert np.isfinite(learned(X, lonely, 12).predict(Pool(X, "train"))).all()
    one = np.zeros(60, np.int64)
    assert np.isfinite(learned(X, np.where(np.arange(60) < 1, 1, one), 8, seed=3).predict(Pool(X, "train"))).all()
