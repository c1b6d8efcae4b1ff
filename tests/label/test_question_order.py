"""The order of questions is that of sorting all items by score and then by chance, however it is found."""

from __future__ import annotations

import numpy as np
import pytest

from deepbass.label.draws import draw
from deepbass.label.question_order import QuestionOrder, each, without
from tests.label.test_queue import ranking

COUNT = 5000
LEFT_OUT = frozenset(range(0, COUNT, 7))


def sorted_plainly(best: np.ndarray, seed: int) -> list[int]:
    chance = draw(seed, "order", COUNT)
    return [item for item in np.lexsort((chance, -best)).tolist() if item not in LEFT_OUT]


@pytest.mark.parametrize("seed", range(3))
def test_the_best_score_comes_first_and_equal_ones_at_random(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 20, COUNT - 100).astype(np.float32)
    scores[::50] = -np.inf
    best = np.concatenate([scores, np.full(100, -np.inf)])  # items that are newer than the ranking
    found = QuestionOrder(seed, COUNT, LEFT_OUT).by_ranking(ranking(scores.tolist()))
    assert found.tolist() == sorted_plainly(best, seed)


@pytest.mark.parametrize("seed", range(3))
def test_a_spread_comes_first_and_all_others_at_random(seed: int) -> None:
    spread = np.random.default_rng(seed).permutation(COUNT)[:600]
    best = np.full(COUNT, -np.inf)
    best[spread] = -np.arange(len(spread))
    found = QuestionOrder(seed, COUNT, LEFT_OUT).by_spread(spread.tolist())
    assert found.tolist() == sorted_plainly(best, seed)
    assert QuestionOrder(seed, COUNT, LEFT_OUT).by_spread(()).tolist() == sorted_plainly(np.zeros(COUNT), seed)


def test_what_is_known_is_left_out_in_the_same_order() -> None:
    ids = np.random.default_rng(0).permutation(COUNT)
    known = set(range(100, 4000))
    assert list(each(without(ids, known, COUNT))) == [item for item in ids.tolist() if item not in known]
    assert all(type(item) is int for item in each(ids))  # what is written to JSON and SQLite
