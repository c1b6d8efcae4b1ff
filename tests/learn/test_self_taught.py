"""A network that taught itself finds what is alike however it is shown, by pool and seed alone, and stays as it was."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from deepbass.learn.self_taught import SelfTaught, unlikeness
from deepbass.learn.strong_views import Changes, changes_for, strong_views
from tests.learn.arrays import Arrays

CHANGES = changes_for("strong", (1, 16, 16)) or Changes()
COUNT = 300
ALL = np.arange(COUNT)


def digits_shown_otherwise() -> tuple[Arrays, NDArray[np.int64]]:
    """Draw digits, each turned, moved and stretched as it happens."""
    digits = load_digits()
    large = np.kron(digits.images[:COUNT, None] / 16, np.ones((2, 2))).astype(np.float32)
    return Arrays(strong_views(large, Changes(hole=0.3), np.random.default_rng(0))), digits.target[:COUNT]


def taught(pool: Arrays, seed: int = 1) -> SelfTaught:
    return SelfTaught(pool, CHANGES, seed)


def of_one_class(points: NDArray[np.float32], classes: NDArray[np.int64]) -> float:
    """How many nearest neighbours are of one class."""
    flat = points.reshape(len(points), -1)
    squares = (flat**2).sum(1)
    apart = squares[:, None] + squares - 2 * flat @ flat.T
    np.fill_diagonal(apart, np.inf)
    return float((classes[apart.argmin(1)] == classes).mean())


def test_how_badly_views_are_told_apart_is_what_counting_one_by_one_says() -> None:
    places = np.random.default_rng(0).normal(size=(10, 4))
    unit = places / np.linalg.norm(places, axis=1, keepdims=True)
    losses = []
    for one in range(10):
        other = (one + 5) % 10
        likeness = {each: math.exp(unit[one] @ unit[each] / 0.2) for each in range(10) if each != one}
        losses.append(-math.log(likeness[other] / sum(likeness.values())))
    assert float(unlikeness(torch.from_numpy(places))) == pytest.approx(np.mean(losses), rel=1e-9)


def test_neighbours_are_of_one_class_more_often_than_in_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepbass.learn.self_taught._PAIRS", 15_000)
    pool, classes = digits_shown_otherwise()
    in_pixels = of_one_class(pool.read(ALL), classes)
    assert in_pixels < 0.8
    assert of_one_class(taught(pool).read(ALL), classes) > in_pixels + 0.05


def test_they_follow_from_pool_and_seed_and_leave_the_generator_of_torch_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("deepbass.learn.self_taught._PAIRS", 2_000)
    pool, _ = digits_shown_otherwise()
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    places = taught(pool).read(ALL)
    assert torch.equal(torch.get_rng_state(), before)
    torch.set_num_threads(2 if threads == 1 else 1)
    torch.manual_seed(7)
    again = taught(pool)
    try:
        np.testing.assert_array_equal(again.read(ALL[:7]), places[:7])
        np.testing.assert_array_equal(again.read(ALL), places)
    finally:
        torch.set_num_threads(threads)
    assert not np.array_equal(taught(pool, seed=2).read(ALL), places)


def test_what_it_saw_is_taken_up_and_not_learned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepbass.learn.self_taught._PAIRS", 600)
    pool, _ = digits_shown_otherwise()
    first, second = taught(pool), taught(pool)
    assert first.tensors() == {}  # nobody has asked yet
    places = first.read(ALL)
    monkeypatch.setattr(SelfTaught, "_learn", lambda self: pytest.fail("it learned again"))
    second.take_up(first.tensors())
    np.testing.assert_array_equal(second.read(ALL), places)
    assert {name: tensor.tolist() for name, tensor in second.tensors().items()} == {
        name: tensor.tolist() for name, tensor in first.tensors().items()
    }


def test_it_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepbass.learn.self_taught._PAIRS", 2_000)
    shares: list[float] = []
    SelfTaught(digits_shown_otherwise()[0], CHANGES, 1, shares.append).read(ALL[:1])
    assert shares == sorted(shares)
    assert shares[-1] == 1


@pytest.mark.parametrize("shape", [(1, 12, 12), (3, 12, 17), (1, 70, 13), (3, 40, 50)])
def test_pictures_may_have_any_size(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepbass.learn.self_taught._PAIRS", 600)
    pool = Arrays(np.random.default_rng(0).uniform(size=(COUNT, *shape)).astype(np.float32))
    made = taught(pool)
    places = made.read(ALL[10:30])
    assert places.shape == (20, *made.shape)
    assert np.isfinite(places).all()


@pytest.mark.parametrize("count", [1, 2, 60])
def test_pictures_that_are_all_the_same_lie_in_one_place(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepbass.learn.self_taught._PAIRS", 600)
    places = taught(Arrays(np.ones((count, 1, 12, 12), np.float32))).read(np.arange(count))
    assert np.isfinite(places).all()
    np.testing.assert_allclose(places, np.broadcast_to(places[0], places.shape), atol=1e-4)
