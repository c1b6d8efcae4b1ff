"""Lots are distinct, fall alike everywhere, and tell afterwards which answers are a fair sample."""

from __future__ import annotations

import numpy as np

from deepbass.core.labels import Answers, Labels
from deepbass.core.lots import drawn, fair, lots


def test_every_id_has_a_lot_of_its_own_and_any_part_of_the_pool_its_share_of_the_lowest() -> None:
    ids = np.arange(100_000)
    assert len(np.unique(lots(ids))) == len(ids)
    lowest = drawn(ids, 10_000)
    shares = np.bincount(lowest // 10_000, minlength=10) / 1000
    assert abs(shares - 1).max() < 0.15


def test_a_draw_is_the_same_whenever_it_is_made_and_goes_on_where_it_stopped() -> None:
    ids = np.arange(500)
    first = drawn(ids, 20)
    np.testing.assert_array_equal(np.concatenate([first, drawn(np.setdiff1d(ids, first), 30)]), drawn(ids, 50))


def test_what_was_asked_for_another_reason_is_fair_only_where_its_lot_has_come() -> None:
    by_lot = drawn(np.arange(200), 200)
    labels = Labels.none(200, 2)
    known = np.concatenate([by_lot[:10], by_lot[11:13], by_lot[100:]])
    labels = labels.answered(Answers(known, np.zeros(len(known), dtype=np.int64)))
    assert set(fair(labels)) == set(by_lot[:10])
    labels = labels.answered(Answers(by_lot[10:11], np.zeros(1, dtype=np.int64)))
    assert set(fair(labels)) == set(by_lot[:13])
    everybody = labels.answered(Answers(np.arange(200), np.zeros(200, dtype=np.int64)))
    assert len(fair(everybody)) == 200


def test_samples_that_nobody_is_ever_asked_about_do_not_stand_in_the_way() -> None:
    order = drawn(np.arange(50), 50)
    known, audit = order[[0, 2, 3, 5]], order[[1, 4]]  # the second lowest lot is never asked
    labels = Labels.none(50, 2).answered(Answers(known, np.zeros(4, dtype=np.int64)))
    assert fair(labels).tolist() == [order[0]]
    assert set(fair(labels, audit).tolist()) == set(known.tolist())
