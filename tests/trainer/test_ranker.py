"""What the trainer leaves for the people's side: an order of asking, guesses, and how they changed."""

from __future__ import annotations

import numpy as np
import pytest
import safetensors.numpy

from deepbass.core.acquire import ACQUIRE
from deepbass.core.belief import Belief, BeliefSum
from deepbass.core.labels import NO_IDS, UNKNOWN, Answers, Labels
from deepbass.label.ranking import Ranking
from deepbass.trainer.item_rows import ItemRows
from deepbass.trainer.ranker import asking_order, make_ranking

SAMPLES, CLASSES = 30, 3


def some_belief(seed: int = 0, spared: int = 0) -> Belief:
    """Make a belief of four passes, of which some samples were spared the last."""
    rng = np.random.default_rng(seed)
    total = BeliefSum(SAMPLES, CLASSES)
    for number in range(4):
        rows = np.arange(SAMPLES if number < 3 else SAMPLES - spared)
        total.add(rows, rng.dirichlet(np.ones(CLASSES), size=len(rows)))
    return total.belief(np.arange(SAMPLES))


@pytest.mark.parametrize("policy", sorted(ACQUIRE))
def test_every_policy_orders_all_that_may_be_asked_for_and_nothing_else(policy: str) -> None:
    askable = np.arange(3, SAMPLES, 2)
    nothing = Labels.none(SAMPLES, CLASSES)
    order = asking_order(ACQUIRE[policy](0.9), some_belief(), nothing, askable, np.random.default_rng(0))
    assert sorted(order.tolist()) == askable.tolist()


@pytest.mark.parametrize("policy", ["max-entropy", "bald", "variation-ratios", "least-confidence", "margin"])
def test_the_order_begins_with_what_the_policy_asks_for(policy: str) -> None:
    acquire, belief, askable = ACQUIRE[policy](0.9), some_belief(spared=5), np.arange(SAMPLES)
    order = asking_order(acquire, belief, Labels.none(SAMPLES, CLASSES), askable, np.random.default_rng(0))
    assert order[:10].tolist() == acquire(belief, askable, 10, np.random.default_rng(0)).tolist()
    assert set(order[-5:].tolist()) == set(range(SAMPLES - 5, SAMPLES))  # spared passes: behind all others


def rank(
    rows: ItemRows,
    labels: Labels,
    *,
    with_labels: int,
    before: Ranking | None = None,
    seed: int = 0,
    class_ids: tuple[int, ...] = (0, 1, 2),
) -> Ranking:
    belief = some_belief(seed)
    order = asking_order(ACQUIRE["max-entropy"](0.9), belief, labels, labels.askable, np.random.default_rng(0))
    nothing = np.full(SAMPLES, UNKNOWN)
    return make_ranking(
        rows, belief, labels, order, nothing, class_ids=class_ids, believed_with=with_labels, before=before
    )


def test_the_highest_score_is_the_first_to_ask_and_what_is_known_has_none() -> None:
    known = np.array([4, 5])
    labels = Labels.none(SAMPLES, CLASSES).answered(Answers(known, np.array([0, 1])))
    ranking = rank(ItemRows(np.arange(SAMPLES), SAMPLES), labels, with_labels=2)
    assert np.isneginf(ranking.score[known]).all()
    assert np.isfinite(ranking.score).sum() == SAMPLES - 2
    assert ranking.score.argmax() == labels.askable[some_belief().entropy[labels.askable].argmax()]
    assert ranking.known == 2


def test_rows_and_items_are_told_apart() -> None:
    items = np.arange(0, 2 * SAMPLES, 2)[::-1].copy()  # every other item is broken, and the order is reversed
    ranking = rank(ItemRows(items, 2 * SAMPLES + 1), Labels.none(SAMPLES, CLASSES), with_labels=0)
    assert ranking.guess[items].tolist() == some_belief().guess.tolist()
    assert set(ranking.guess[1::2].tolist()) == {-1}
    assert np.isneginf(ranking.score[1::2]).all()
    rows = ItemRows(items, 2 * SAMPLES + 1)
    assert rows.of([0, 1, 2, 999]).tolist() == [SAMPLES - 2, SAMPLES - 1]
    assert rows.by_row({0: "a", 1: "b", 999: "c"}) == {SAMPLES - 1: "a"}


def test_guesses_name_classes_whatever_the_order_of_the_networks_outputs() -> None:
    rows, labels = ItemRows(np.arange(SAMPLES), SAMPLES + 1), Labels.none(SAMPLES, CLASSES)
    ranking = rank(rows, labels, with_labels=0, class_ids=(7, 2, 5))
    assert ranking.guess.tolist() == [(7, 2, 5)[guess] for guess in some_belief().guess] + [-1]
    assert set(ranking.predicted.tolist()) == {-1}
    assert ranking.snapshots[0].tolist() == ranking.guess.tolist()


def test_snapshots_of_all_guesses_come_every_ten_labels_and_stay_for_a_hundred() -> None:
    rows, labels = ItemRows(np.arange(SAMPLES), SAMPLES), Labels.none(SAMPLES, CLASSES)
    ranking: Ranking | None = None
    for known in range(9, 250):
        for _ in range(2):  # iterations without a new label
            ranking = rank(rows, labels, with_labels=known, before=ranking, seed=known)
    assert ranking is not None
    assert ranking.snapshot_labels.tolist() == list(range(149, 250, 10))
    for known, guess in zip(ranking.snapshot_labels, ranking.snapshots, strict=True):
        assert guess.tolist() == some_belief(int(known)).guess.tolist()


def test_snapshots_with_more_labels_than_now_are_forgotten_when_labels_are_taken_back() -> None:
    rows, labels = ItemRows(np.arange(SAMPLES), SAMPLES), Labels.none(SAMPLES, CLASSES)
    ranking = None
    for known in (10, 20, 30, 15):
        ranking = rank(rows, labels, with_labels=known, before=ranking)
    assert ranking is not None
    assert ranking.snapshot_labels.tolist() == [10]


def test_items_that_came_since_a_snapshot_had_no_guess_then() -> None:
    labels = Labels.none(SAMPLES, CLASSES)
    before = rank(ItemRows(np.arange(SAMPLES), SAMPLES), labels, with_labels=10)
    now = rank(ItemRows(np.arange(SAMPLES), SAMPLES + 2), labels, with_labels=20, before=before)
    assert now.snapshots.shape == (2, SAMPLES + 2)
    assert now.snapshots[0, SAMPLES:].tolist() == [-1, -1]


def test_a_ranking_comes_back_as_it_was_packed() -> None:
    ranking = rank(ItemRows(np.arange(SAMPLES), SAMPLES), Labels.none(SAMPLES, CLASSES), with_labels=3)
    again = Ranking.unpack(ranking.pack())
    assert all(np.array_equal(getattr(again, name), value) for name, value in vars(ranking).items())


def test_nothing_left_to_ask_for_is_a_ranking_too() -> None:
    everyone = np.arange(SAMPLES)
    labels = Labels.none(SAMPLES, CLASSES).answered(Answers(everyone, everyone % CLASSES))
    assert labels.askable.tolist() == NO_IDS.tolist()
    assert np.isneginf(rank(ItemRows(everyone, SAMPLES), labels, with_labels=SAMPLES).score).all()


def test_the_next_likeliest_class_is_told_with_its_share_and_older_rankings_have_none() -> None:
    items = np.arange(1, SAMPLES + 1)
    ranking = rank(ItemRows(items, SAMPLES + 1), Labels.none(SAMPLES, CLASSES), with_labels=0, class_ids=(7, 2, 5))
    for row, mean in zip(items, some_belief().mean_N_C, strict=True):
        best, second, _ = np.argsort(-mean)
        assert (ranking.guess[row], ranking.second[row]) == ((7, 2, 5)[best], (7, 2, 5)[second])
        assert ranking.second_confidence[row] == np.float32(mean[second])
    assert ranking.second[0] == -1
    arrays = safetensors.numpy.load(ranking.pack())
    del arrays["second"], arrays["second_confidence"]
    older = Ranking.unpack(safetensors.numpy.save(arrays))
    assert set(older.second.tolist()) == {-1}
    assert older.guess.tolist() == ranking.guess.tolist()
