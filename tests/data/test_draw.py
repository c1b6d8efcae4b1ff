"""Laws of drawing: disjoint, stratified, decided by the seed alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.core.labels import UNKNOWN
from deepbass.data.draw import draw_pool, hold_out
from deepbass.data.initial import choose_initial, find_initial, initial_labels, read_initial
from deepbass.data.pool import Pool

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


def test_initial_labels_of_ones_own_choice_are_found_by_name_and_by_row(tmp_path: Path) -> None:
    pool = Pool(np.zeros((6, 2), np.float32), [f"{letter}.png" for letter in "abcdef"]).part([1, 3, 5])
    truth = np.array([0, 1, UNKNOWN])
    listed = tmp_path / "initial.txt"
    listed.write_text("\ufeffd.png\n\n 1 \n", "utf-8")
    assert read_initial(listed) == ["d.png", "1"]
    np.testing.assert_array_equal(find_initial(read_initial(listed), pool, truth), [0, 1])
    for wanted, said in {"5": "is not known", "0": "of no sample", "g.png": "of no sample"}.items():
        with pytest.raises(DataError, match=said):
            find_initial([wanted], pool, truth)
    with pytest.raises(DataError, match=r"'1' is there twice"):
        find_initial(["b.png", 1], pool, truth)
    for content in (b"", b"\xff\xfe\xff"):
        listed.write_bytes(content)
        with pytest.raises(DataError, match="a name or a row number per line"):
            read_initial(listed)


@pytest.mark.parametrize("start", ["random", "typical"])
def test_no_count_per_class_is_needed_and_no_label_is_looked_at(start: str) -> None:
    rng = np.random.default_rng(0)
    pool = Pool(rng.normal(size=(60, 4)).astype(np.float32), "train")
    truth = np.where(np.arange(60) % 4 == 0, UNKNOWN, 0)
    truth[1] = 1  # a class of one
    config = Config(start=start, initial=9)
    chosen = initial_labels(config, pool, truth, ("common", "rare", "never met"))
    assert len(set(chosen.tolist())) == 9
    assert (truth[chosen] != UNKNOWN).all()
    others = np.where(truth == UNKNOWN, UNKNOWN, 1 - np.minimum(truth, 1))
    np.testing.assert_array_equal(chosen, initial_labels(config, pool, others, ("common", "rare", "never met")))
    with pytest.raises(DataError, match="only 45 samples have one"):
        initial_labels(Config(start=start, initial=46), pool, truth, ("common", "rare"))
