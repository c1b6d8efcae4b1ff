"""Laws of drawing: disjoint, stratified, decided by the seed alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbass.core.errors import DataError
from deepbass.data.draw import draw_pool, hold_out
from deepbass.data.initial import choose_initial, initial_at_random

truths = st.lists(st.integers(-1, 3), min_size=1, max_size=200).map(np.array)
seeds = st.integers(0, 100)


@given(truths, st.floats(0.01, 0.99), seeds)
def test_the_held_out_share_is_stratified_and_known(truth: np.ndarray, share: float, seed: int) -> None:
    held = hold_out(truth, 4, share, seed)
    assert len(set(held)) == len(held)
    assert (truth[held] >= 0).all()
    for class_ in range(4):
        size, taken = (truth == class_).sum(), (truth[held] == class_).sum()
        assert abs(taken - share * size) <= 1
        assert size < 2 or 1 <= taken < size
    np.testing.assert_array_equal(held, hold_out(truth, 4, share, seed))


@given(truths, seeds, st.data())
def test_a_smaller_pool_keeps_the_shares_of_the_classes(truth: np.ndarray, seed: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(truth)))
    drawn = draw_pool(truth, count, seed)
    assert len(set(drawn)) == len(drawn) == count
    for class_ in range(-1, 4):
        exact = (truth == class_).sum() * count / len(truth)
        assert abs((truth[drawn] == class_).sum() - exact) < 1
    np.testing.assert_array_equal(drawn, draw_pool(truth, count, seed))


@given(st.integers(2, 6), st.integers(0, 30), seeds)
def test_initial_labels_are_balanced_distinct_and_known(classes: int, more: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.concatenate([np.repeat(np.arange(classes), 20), np.full(30, -1)]))
    count = classes + more
    chosen = choose_initial(truth, classes, count, seed)
    per_class = np.bincount(truth[chosen], minlength=classes)
    assert len(set(chosen)) == count
    assert (truth[chosen] >= 0).all()
    assert per_class.max() - per_class.min() == (count % classes != 0)
    np.testing.assert_array_equal(chosen, choose_initial(truth, classes, count, seed))


@given(st.lists(st.integers(1, 9), min_size=2, max_size=5), seeds)
def test_all_labels_can_be_initial_whatever_the_sizes_of_the_classes(sizes: list[int], seed: int) -> None:
    """MNIST has 5,421 fives and 6,742 ones, and the paper a row with all 60,000 labels."""
    truth = np.random.default_rng(seed).permutation(np.repeat(np.arange(-1, len(sizes)), [7, *sizes]))
    chosen = choose_initial(truth, len(sizes), sum(sizes), seed)
    np.testing.assert_array_equal(chosen, np.flatnonzero(truth >= 0))


def test_all_labels_are_not_enough_where_a_class_has_none() -> None:
    with pytest.raises(DataError, match=r"Class 'dog' has 0 labelled samples"):
        choose_initial(np.array([0, 0, 0, -1]), ("cat", "dog"), 3, seed=0)


def test_another_seed_draws_other_samples() -> None:
    truth = np.tile(np.arange(10), 100)
    assert set(choose_initial(truth, 10, 100, 0)) != set(choose_initial(truth, 10, 100, 1))
    assert set(hold_out(truth, 10, 0.2, 0)) != set(hold_out(truth, 10, 0.2, 1))
    assert set(draw_pool(truth, 100, 0)) != set(draw_pool(truth, 100, 1))


def test_a_class_with_no_initial_label_is_named() -> None:
    with pytest.raises(DataError, match=r"a class with no initial label: '(cat|dog)'\. Ask for 2 or more"):
        choose_initial(np.array([0, 1, 0, 1]), ("cat", "dog"), 1, seed=0)


def test_a_class_with_too_few_labels_is_named() -> None:
    with pytest.raises(DataError, match=r"Class 'dog' has 1 labelled samples, but 2 are needed"):
        choose_initial(np.array([0, 0, 0, 0, 1]), ("cat", "dog"), 4, seed=0)


def test_more_initial_labels_than_labels_are_refused() -> None:
    with pytest.raises(DataError, match="only 3 samples have one"):
        choose_initial(np.array([0, 1, 1, -1]), 2, 4, seed=0)


@given(truths, st.integers(1, 300), seeds)
def test_labels_at_random_need_no_count_per_class(truth: np.ndarray, count: int, seed: int) -> None:
    if (truth < 0).all():
        with pytest.raises(DataError, match="No sample has a label"):
            initial_at_random(truth, count, seed)
        return
    chosen = initial_at_random(truth, count, seed)
    assert len(set(chosen)) == len(chosen) == min(count, (truth >= 0).sum())
    assert (truth[chosen] >= 0).all()
    np.testing.assert_array_equal(chosen, initial_at_random(truth, count, seed))


def test_rare_classes_are_met_at_random_as_often_as_they_are() -> None:
    truth = (np.arange(1000) % 10 == 0).astype(np.int64)
    met = [truth[initial_at_random(truth, 100, seed)].sum() for seed in range(50)]
    assert 8 < np.mean(met) < 12
