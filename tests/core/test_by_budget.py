"""What to ask by how much is known: typical, then doubtful, never a copy."""

from __future__ import annotations

import numpy as np
import pytest

from deepbass.core.belief import Belief, BeliefSum
from deepbass.core.by_budget import acquisition, by_budget, fair_share, typical_share
from deepbass.core.config import BY_BUDGET, Config
from deepbass.core.errors import ConfigError
from deepbass.core.labels import Answers, Labels
from deepbass.core.more_typical import TYPICAL_PER_CLASS
from deepbass.core.pool_places import Places
from deepbass.data.pool import Pool
from tests.core.test_typical import blobs


def believing(margins: np.ndarray) -> Belief:
    """Make a belief about two classes with these leads of the first over the second."""
    total = BeliefSum(len(margins), 2)
    total.add(slice(None), np.stack([0.5 + margins / 2, 0.5 - margins / 2], axis=1))
    return total.belief(np.arange(len(margins)))


def asked(
    points: np.ndarray, labels: Labels, margins: np.ndarray, count: int, seed: int = 0, *, copies_differ: bool = False
) -> np.ndarray:
    policy = by_budget(Places(Pool(points, "train"), 0), copies_differ=copies_differ)
    return policy.about(labels)(believing(margins), labels.askable, count, np.random.default_rng(seed))


def known(samples: int, ids: np.ndarray) -> Labels:
    return Labels.none(samples, 2).answered(Answers(ids, ids % 2))


def test_few_labels_ask_for_clusters_that_have_none() -> None:
    points, of = blobs([100, 80, 60, 40])
    labels = known(len(points), np.flatnonzero(of == 0)[:4])  # two of each class, all in one cluster
    chosen = asked(points, labels, np.linspace(0, 1, len(points)), 6)
    assert {1, 2, 3} <= set(of[chosen])  # the doubts, which point to the first cluster, do not matter yet


def test_a_model_that_is_unsure_of_the_pool_asks_for_typical_samples_however_many_labels_it_has() -> None:
    points, of = blobs([100, 80, 60, 40])
    first = np.flatnonzero(of == 0)[: 2 * TYPICAL_PER_CLASS + 10]
    labels = known(len(points), first)
    doubts = np.where(of == 0, 0.0, 0.2)  # all of them, and most about the first cluster
    unsure = np.concatenate([asked(points, labels, doubts, 6, seed) for seed in range(5)])
    assert {1, 2, 3} <= set(of[unsure])
    sure = np.concatenate([asked(points, labels, np.where(of == 0, 0.6, 0.95), 6, seed) for seed in range(5)])
    assert (of[sure] == 0).mean() > 0.8


def test_the_share_of_typical_samples_falls_as_the_model_becomes_sure() -> None:
    shares = [typical_share(believing(np.full(10, lead))) for lead in (0.0, 0.4, 0.6, 0.8, 1.0)]
    assert shares == pytest.approx([1.0, 1.0, 0.5, 0.0, 0.0])


def test_many_labels_of_a_sure_model_ask_for_doubts_and_one_in_ten_at_random() -> None:
    points, _ = blobs([1000])
    margins = 0.8 + np.random.default_rng(1).permutation(1000) / 5000
    labels = known(1000, np.arange(TYPICAL_PER_CLASS * 2))
    doubtful = np.concatenate([asked(points, labels, margins, 10, seed) for seed in range(40)])
    inside = np.isin(doubtful, labels.askable[np.argsort(margins[labels.askable])[:50]])
    assert 0.8 < inside.mean() < 0.97
    assert len(set(doubtful.tolist())) > 60  # a draw, not the same ten every time


def test_more_is_left_to_chance_while_a_class_was_hardly_met() -> None:
    def with_counts(first: int, second: int) -> Labels:
        ids = np.arange(first + second)
        return Labels.none(100, 2).answered(Answers(ids, (ids >= first).astype(np.int64)))

    assert fair_share(Labels.none(100, 2)) == fair_share(with_counts(20, 2)) == 0.1
    assert fair_share(with_counts(20, 0)) == 1.0
    assert fair_share(with_counts(19, 1)) == 0.95
    assert fair_share(with_counts(1, 1)) == 0.5


@pytest.mark.parametrize("labels_known", [2, 30])
def test_of_samples_that_are_there_three_times_each_is_asked_for_once(labels_known: int) -> None:
    single, _ = blobs([25, 25])
    points = np.concatenate([single, single, single])
    labels = known(150, np.arange(labels_known))
    seen = set(range(labels_known))
    margins = np.random.default_rng(0).random(150)
    for turn in range(12):
        chosen = asked(points, labels, margins, 5, turn)
        contents = [int(id_) % 50 for id_ in chosen]
        assert not seen & set(contents)
        assert len(set(contents)) == len(contents)
        seen |= set(contents)
        labels = labels.wanted(chosen)
    assert seen == set(range(50))  # all of them in the end, and then nothing is left to ask for
    assert len(asked(points, labels, margins, 5)) == 0


def test_copies_of_rows_are_asked_for_when_every_row_was_and_not_before() -> None:
    single, _ = blobs([4, 4])
    points = np.concatenate([single, single, single])
    labels, margins = known(24, np.arange(2)), np.random.default_rng(0).random(24)
    first = asked(points, labels, margins, 5, copies_differ=True)
    assert len({int(id_) % 8 for id_ in first} | {0, 1}) == 7  # one is left
    labels = labels.wanted(first)
    then = asked(points, labels, margins, 5, copies_differ=True)
    assert {int(id_) % 8 for id_ in (*first, *then)} | {0, 1} == set(range(8))
    assert len({*then.tolist()} - {*first.tolist(), 0, 1}) == 5
    labels = labels.wanted(then)
    assert len(asked(points, labels, margins, 50, copies_differ=True)) == 24 - 12
    rows, features = Config(acquire=BY_BUDGET, features="table"), Config(acquire=BY_BUDGET, features="words")
    for config, copies in ((rows, 5), (features, 0)):
        policy = acquisition(config, Pool(np.concatenate([single[:2]] * 12), "train"))
        found = policy.about(known(24, np.arange(2)))
        assert len(found(believing(margins), np.arange(2, 24), 5, np.random.default_rng(0))) == copies


def test_what_is_chosen_is_distinct_askable_and_decided_by_the_seed() -> None:
    points, _ = blobs([60, 30])
    for count in (1, 7, 200):
        labels = known(90, np.arange(6)).wanted(np.arange(10, 20))
        margins = np.random.default_rng(2).random(90)
        chosen = asked(points, labels, margins, count)
        assert len(set(chosen.tolist())) == len(chosen) <= count
        assert np.isin(chosen, labels.askable).all()
        np.testing.assert_array_equal(chosen, asked(points, labels, margins, count))


def test_points_without_spread_are_one_question() -> None:
    flat = np.ones((40, 3), np.float32)
    assert len(asked(flat, known(40, np.arange(0)), np.zeros(40), 5)) == 1
    assert len(asked(flat, known(40, np.arange(8)), np.zeros(40), 5)) == 0


def test_it_is_not_made_without_a_pool() -> None:
    with pytest.raises(ConfigError, match="give the pool"):
        acquisition(Config(acquire=BY_BUDGET), None)
    acquisition(Config(), None)  # all others do without
