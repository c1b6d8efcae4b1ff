"""Rows outside, ids inside: nothing that passes through is about another sample than before."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from deepbass.core.acquire import ACQUIRE
from deepbass.core.admit import ADMIT
from deepbass.core.belief import Belief, Partial
from deepbass.core.errors import DataError
from deepbass.core.labels import Answers, Ids, Labels
from deepbass.core.row_map import RowMap
from deepbass.core.samples import Samples

ROWS = np.array([1, 3, 4, 8])
MAP = RowMap(ROWS, 10)
LABELS = Labels.none(4, 2).answered(Answers(np.array([1]), np.array([1]))).wanted(np.array([1, 2]))
PROBS = np.array([[0.9, 0.1], [0.2, 0.8], [0.55, 0.45], [0.6, 0.4]])
BELIEF = Belief(np.arange(4), PROBS, np.zeros(4), np.ones(4), np.full(4, 5))


def test_an_id_is_the_row_it_came_from_and_back() -> None:
    np.testing.assert_array_equal(MAP.ids(ROWS[[3, 0]]), [3, 0])
    np.testing.assert_array_equal(MAP.belief(BELIEF).ids, ROWS)
    labels = MAP.labels(LABELS)
    assert (labels.known.tolist(), np.flatnonzero(labels.asked).tolist(), len(labels)) == ([3], [3, 4], 10)


@pytest.mark.parametrize(("row", "says"), [(10, "does not exist"), (-1, "does not exist"), (2, "held out")])
def test_a_row_that_is_not_there_is_refused(row: int, says: str) -> None:
    with pytest.raises(DataError, match=f"Row {row} .*{says}"):
        MAP.ids([1, row])


@pytest.mark.parametrize("name", ["max-entropy", "random", "above-average"])
def test_a_rule_about_rows_chooses_the_samples_that_it_would_choose_by_id(name: str) -> None:
    rule, askable = ACQUIRE[name](0.9), np.array([0, 2, 3])
    by_id = rule(BELIEF, askable, 2, np.random.default_rng(0))
    np.testing.assert_array_equal(MAP.acquire(rule)(BELIEF, askable, 2, np.random.default_rng(0)), by_id)


@pytest.mark.parametrize("name", list(ADMIT))
def test_a_rule_about_rows_lets_the_samples_in_that_it_would_by_id(name: str) -> None:
    assert MAP.admit(ADMIT[name])(BELIEF, 0.7, LABELS) == ADMIT[name](BELIEF, 0.7, LABELS)


def test_what_a_rule_about_rows_needs_is_asked_about_ids() -> None:
    partial = Partial(np.arange(4), 2 * PROBS, np.zeros(4), np.zeros((4, 2), np.uint16), np.full(4, 2), 5)
    askable: Ids = np.array([0, 2])
    for rule in (ACQUIRE["margin"](0.9), ACQUIRE["bald"](0.9)):
        expected = rule.need(askable, 1).open(partial)
        np.testing.assert_array_equal(MAP.acquire(rule).need(askable, 1).open(partial), expected)


def test_a_start_rule_hears_of_rows_and_chooses_rows() -> None:
    class Numbers:
        shape = (1,)

        def __len__(self) -> int:
            return len(MAP.rows)

        def read(self, ids: Ids) -> NDArray[np.float32]:
            return ids[:, None].astype(np.float32)

    def rule(samples: Samples, there: Ids, count: int, rng: np.random.Generator) -> Ids:
        assert (len(samples), samples.shape, there.tolist()) == (MAP.total, (1,), MAP.rows[[0, 2]].tolist())
        np.testing.assert_array_equal(samples.read(there), [[0], [2]])
        return there[1:]

    assert MAP.start(rule)(Numbers(), np.array([0, 2]), 1, np.random.default_rng(0)).tolist() == [2]
