"""What to ask amid doubts: one answer for a whole neighbourhood, the next one elsewhere, never a copy but by lot."""

from __future__ import annotations

import numpy as np
import pytest

from deepbass.core import pool_places
from deepbass.core.graph import balanced, neighbour_graph
from deepbass.core.labels import Answers, Labels
from deepbass.core.lots import drawn
from deepbass.core.more_typical import TYPICAL_PER_CLASS
from deepbass.core.pool_places import Places
from deepbass.core.regional import amid_doubts, regional
from deepbass.data.pool import Pool
from tests.core.test_by_budget import believing, known
from tests.core.test_typical import blobs


def asked(points: np.ndarray, labels: Labels, margins: np.ndarray, count: int, seed: int = 0) -> np.ndarray:
    policy = regional(Places(Pool(points, "train"), 0)).about(labels)
    return policy(believing(margins), labels.askable, count, np.random.default_rng(seed))


def not_by_lot(chosen: np.ndarray, labels: Labels) -> np.ndarray:
    return np.setdiff1d(chosen, drawn(labels.askable, 1 + len(chosen) // 5))


def test_a_region_that_is_doubted_a_little_comes_before_a_stray_that_is_doubted_most() -> None:
    points, of = blobs([100, 80])
    margins = np.where(of == 1, 0.7, 1.0)
    margins[0] = 0.0  # in doubt as nobody else, amid others that are sure
    labels = known(len(points), np.array([2, 3]))
    for seed in range(5):
        assert set(of[not_by_lot(asked(points, labels, margins, 2, seed), labels)]) <= {1}


def test_while_a_class_has_no_label_clusters_that_have_none_are_asked_about_whatever_is_in_doubt() -> None:
    points, of = blobs([100, 80, 60, 40])
    doubts = np.where(of == 0, 0.0, 1.0)
    first = np.flatnonzero(of == 0)
    one_class = Labels.none(len(points), 2).answered(Answers(first[:4], np.zeros(4, dtype=np.int64)))
    assert {1, 2, 3} <= set(of[asked(points, one_class, doubts, 6)])
    both = known(len(points), first[:4])
    assert set(of[not_by_lot(asked(points, both, doubts, 4), both)]) == {0}


def test_a_class_that_is_never_met_is_not_looked_for_for_ever() -> None:
    points, of = blobs([100, 80])
    first = np.flatnonzero(of == 0)[: 2 * TYPICAL_PER_CLASS]
    labels = Labels.none(len(points), 2).answered(Answers(first, np.zeros(len(first), dtype=np.int64)))
    chosen = not_by_lot(asked(points, labels, np.where(of == 0, 0.0, 1.0), 4), labels)
    assert set(of[chosen]) == {0}  # which is in doubt


def test_the_next_question_lies_elsewhere() -> None:
    points, of = blobs([60, 60, 60, 60])
    graph = balanced(neighbour_graph(points, 10))
    doubt = np.array([0.1, 0.9, 0.8, 0.7])[of]
    chosen = amid_doubts(graph, doubt, np.ones(len(points), dtype=bool), 3)
    assert of[chosen].tolist() == [1, 2, 3]


def test_only_who_is_free_is_chosen_each_once_and_nobody_where_nobody_is() -> None:
    points, _ = blobs([30, 30])
    graph, doubt = balanced(neighbour_graph(points, 10)), np.random.default_rng(0).random(60)
    free = np.arange(60) % 7 == 0
    chosen = amid_doubts(graph, doubt, free, 100)
    assert sorted(chosen) == np.flatnonzero(free).tolist()
    assert len(amid_doubts(graph, doubt, np.zeros(60, dtype=bool), 5)) == 0
    assert len(amid_doubts(graph, np.zeros(60), free, 4)) == 4  # although nothing is in doubt


def test_copies_of_what_was_asked_are_not_asked_for() -> None:
    once, _ = blobs([40, 40])
    points = np.concatenate([once, once, once])
    labels = known(len(points), np.array([0, 1, 50, 51]))
    taken = set(labels.known.tolist())
    for seed in range(5):
        chosen = not_by_lot(asked(points, labels, np.zeros(len(points)), 10, seed), labels)
        originals = [*(chosen % len(once)), *taken]
        assert len(set(originals)) == len(originals)


def test_one_question_in_five_is_put_by_lot() -> None:
    points, of = blobs([100, 100])
    labels = known(len(points), np.array([0, 1]))
    margins = np.where(of == 0, 0.0, 1.0)
    lowest = drawn(labels.askable, 2)
    for seed in range(3):
        assert set(lowest.tolist()) <= set(asked(points, labels, margins, 10, seed).tolist())


@pytest.mark.parametrize("count", [1, 5, 60, 200])
def test_as_many_distinct_ones_are_asked_for_as_there_are_in_a_pool_larger_than_its_graph_too(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_places, "MOST_POINTS", 50)
    points, _ = blobs([60, 60])
    labels = known(len(points), np.array([0, 1]))
    chosen = asked(points, labels, np.linspace(0, 1, len(points)), count)
    assert len(chosen) == len(set(chosen.tolist())) == min(count, len(labels.askable))
    assert np.isin(chosen, labels.askable).all()
    assert chosen.tolist() == asked(points, labels, np.linspace(0, 1, len(points)), count).tolist()
