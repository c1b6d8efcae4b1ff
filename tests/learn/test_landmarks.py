"""Columns of numbers by nearness to landmarks: chosen where known labels say that a straight cut does not do."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from deepbass.core.config import Config
from deepbass.core.labels import Answers, Labels
from deepbass.data.pool import Pool
from deepbass.learn.choose_learner import learner_for
from deepbass.learn.head_learner import HeadLearner
from deepbass.learn.heads import LinearHead
from deepbass.learn.landmarks import nearness_of
from deepbass.learn.models import build


def rings(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """One class lies around the other."""
    X = rng.normal(size=(500, 3))
    return X, np.linalg.norm(X, axis=1) > 1.5


def checks(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A class has two opposite quarters of the plane; the columns have units of their own, and one has a long tail."""
    X = rng.uniform(-1, 1, (500, 2))
    return np.sinh(4 * X) * [1, 1000] + 7, X[:, 0] * X[:, 1] > 0


def halves(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A line parts the classes."""
    X = rng.normal(size=(500, 4))
    return X, X @ [1, -2, 1, 0.5] > 0.3


def learner_of(X: np.ndarray, **settings: object) -> HeadLearner:
    config = Config.of({"features": "pixels", "model": "linear", "passes_pool": 5, **settings})
    pool = Pool(X.astype(np.float32), "train")
    made = learner_for(build(config, pool.shape, 2), pool, 2, config)
    assert isinstance(made, HeadLearner)
    return made


def labelled(y: np.ndarray, count: int) -> Labels:
    ids = np.arange(count)
    return Labels.none(len(y), 2).answered(Answers(ids, y[ids].astype(np.int64)))


def right(learner: HeadLearner, X: np.ndarray, y: np.ndarray) -> float:
    return float((learner.probabilities(Pool(X.astype(np.float32), "train")).argmax(1) == y).mean())


def curved(learner: HeadLearner) -> bool:
    return bool(learner.model.directions.any())


@pytest.mark.parametrize("kind", [rings, checks])
@pytest.mark.parametrize("features", ["pixels", "table"])
def test_curves_are_seen_where_no_line_parts_the_classes(kind, features: str) -> None:  # type: ignore[no-untyped-def]
    X, y = kind(np.random.default_rng(0))
    learner = learner_of(X, features=features)
    learner.train(labelled(y, 120), epochs=1, copies=20, seed=0)
    assert curved(learner)
    assert right(learner, X, y) > 0.85


def test_a_line_stays_a_line() -> None:
    X, y = halves(np.random.default_rng(0))
    learner = learner_of(X)
    learner.train(labelled(y, 120), epochs=1, copies=20, seed=0)
    assert not curved(learner)
    assert not learner.model.linear.weight[:, X.shape[1] :].any()
    assert right(learner, X, y) > 0.95


def test_a_change_of_view_goes_on_bit_for_bit() -> None:
    X, y = (part[:200] for part in rings(np.random.default_rng(1)))
    first = learner_of(X, admit="weighed")
    views = []
    for count in (4, 60, 63):  # too few to tell; enough; no new choice
        second = learner_of(X, admit="weighed")
        second.restore(first.state())
        guesses = labelled(y, count).guessed(np.arange(count, len(y)), np.zeros(len(y) - count, np.int64))
        for each in (first, second):
            each.train(guesses, epochs=1, copies=20, seed=count)
        assert first.state() == second.state()
        views.append(curved(first))
    assert views == [False, True, True]


def test_every_view_has_a_mean_of_0_and_a_mean_square_length_of_1() -> None:
    X, _ = checks(np.random.default_rng(2))
    head = LinearHead(2, 2, by_column=True, curved=True)
    rows = X.astype(np.float32)
    head.prepare(rows)
    assert len(head.views) == 3
    for view in head.views:
        head.look(view)
        prepared = head.prepared(torch.from_numpy(rows))
        assert float(prepared.square().sum(1).mean()) == pytest.approx(1, rel=1e-3)
        assert float(prepared.mean(0).abs().max()) < 1e-3
        assert not prepared[:, len(head.centre) :].any() or head.seen() == slice(None)


@pytest.mark.parametrize("compiling", [False, True])  # ONNX and torch.compile have a form of their own
def test_nearness_falls_off_with_the_sum_of_the_differences(compiling: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: compiling)
    rows = torch.from_numpy(np.random.default_rng(4).standard_t(2, (300, 5)))
    found = nearness_of(rows, rows.mean(0), np.random.default_rng(0))
    assert found is not None
    bent = (torch.asinh((rows - rows.mean(0)) * found.bend) * found.rates).numpy()
    apart = np.abs(bent[:, None] - found.landmarks.numpy()).sum(2)
    expected = np.exp(-apart) @ found.directions.numpy() - found.offset.numpy()
    np.testing.assert_allclose(found.of((rows - rows.mean(0)).float()), expected, atol=1e-4)
    between = torch.pdist(found.landmarks, p=1).median()
    assert float(between) == pytest.approx(1, rel=1e-5)


def test_a_row_alone_is_seen_as_among_others_and_far_off_as_nothing_special() -> None:
    X, y = rings(np.random.default_rng(3))
    learner = learner_of(X)
    learner.train(labelled(y, 120), epochs=1, copies=20, seed=0)
    rows = torch.from_numpy(X.astype(np.float32))
    with torch.no_grad():
        together = learner.model.eval()(rows)
        alone = torch.cat([learner.model(row[None]) for row in rows[:50]])
        far = learner.model(torch.tensor([[1e30, -1e30, 0.0]]))
    torch.testing.assert_close(alone, together[:50], atol=1e-3, rtol=0)
    assert torch.isfinite(far).all()


@pytest.mark.parametrize(
    "X",
    [
        np.full((6, 3), 0.1),
        np.repeat([[0.0, 5, 1], [1, 5, 1]], [3, 3], axis=0),
        np.column_stack([np.arange(6) * 1e6, np.full(6, 0.1), np.zeros(6)]),
    ],
    ids=["one distinct row", "two distinct rows", "constant columns"],
)
def test_few_rows_and_constant_columns_do_no_harm(X: np.ndarray) -> None:
    y = np.arange(len(X)) >= len(X) / 2
    learner = learner_of(X)
    learner.train(labelled(y, len(X)), epochs=1, copies=20, seed=0)
    assert np.isfinite(learner.probabilities(Pool(X.astype(np.float32), "train"))).all()


def test_a_column_that_is_hardly_ever_told_does_no_harm() -> None:
    rows = np.random.default_rng(4).normal(size=(12_000, 3)).astype(np.float32)
    rows[:, 1], rows[:, 2] = np.arange(12_000) == 1, np.arange(12_000) == 9_000
    head = LinearHead(3, 2, by_column=True, curved=True)
    head.prepare(rows)
    for view in head.views:
        head.look(view)
        assert torch.isfinite(head.prepared(torch.from_numpy(rows))).all()


def test_heads_on_computed_features_are_what_they_were() -> None:
    head = build(Config.of({"features": "words"}), (30,), 4)
    assert isinstance(head, LinearHead)
    assert set(head.state_dict()) == {"centre", "scale", "strength", "chosen_with", "linear.weight", "linear.bias"}
    head.prepare(np.random.default_rng(0).normal(size=(50, 30)).astype(np.float32))
    assert [view.near for view in head.views] == [None]
