"""Admission and acquisition, against what the paper says of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbass.core import acquire as acquire_module
from deepbass.core.acquire import ACQUIRE, _first, mixed
from deepbass.core.admit import ADMIT, admission
from deepbass.core.belief import Belief, BeliefSum
from deepbass.core.labels import NO_IDS, Answers, Labels
from deepbass.core.lots import drawn

CLASSES = 3


def some_belief(samples: int, seed: int, passes: int = 4) -> Belief:
    rng = np.random.default_rng(seed)
    total = BeliefSum(samples, CLASSES)
    for _ in range(passes):
        total.add(slice(None), rng.dirichlet(np.full(CLASSES, 0.3), size=samples))
    return total.belief(np.arange(samples))


def some_labels(samples: int, seed: int) -> Labels:
    rng = np.random.default_rng(seed)
    known = rng.choice(samples, size=rng.integers(0, samples + 1), replace=False)
    labels = Labels.none(samples, CLASSES).answered(Answers(known, rng.integers(0, CLASSES, len(known))))
    return labels.wanted(rng.choice(samples, size=rng.integers(0, samples + 1), replace=False))


seeds = st.integers(0, 2**32 - 1)


@given(st.sampled_from(sorted(ACQUIRE)), st.integers(2, 30), st.integers(1, 40), seeds)
def test_asked_ids_are_distinct_unlabelled_and_exist(policy: str, samples: int, count: int, seed: int) -> None:
    labels, belief = some_labels(samples, seed), some_belief(samples, seed)
    asked = ACQUIRE[policy](0.9)(belief, labels.askable, count, np.random.default_rng(seed))
    assert len(asked) <= count
    assert len(set(asked.tolist())) == len(asked)
    assert set(asked.tolist()) <= set(labels.askable.tolist())
    if policy not in ("above-average", "above-quantile", "none"):
        assert len(asked) == min(count, len(labels.askable))


@pytest.mark.parametrize(
    ("policy", "score"),
    [
        ("max-entropy", lambda b: b.entropy),
        ("bald", lambda b: b.mutual_information),
        ("variation-ratios", lambda b: 1 - b.agreement),
        ("least-confidence", lambda b: 1 - b.confidence),
        ("margin", lambda b: -b.margin),
    ],
)
def test_ranking_policies_take_the_highest_scores_and_the_lower_id_on_a_tie(policy, score) -> None:  # type: ignore[no-untyped-def]
    belief = some_belief(40, 5)
    askable = np.arange(0, 40, 2)
    asked = ACQUIRE[policy](0.9)(belief, askable, 6, np.random.default_rng(0))
    expected = sorted(askable.tolist(), key=lambda id_: (-score(belief)[id_], id_))[:6]
    assert asked.tolist() == expected


@pytest.mark.parametrize("policy", ["max-entropy", "bald", "variation-ratios", "least-confidence", "margin"])
def test_who_was_spared_passes_is_behind_those_that_made_all(policy: str) -> None:
    """It was found out of reach; its score over fewer passes says nothing against that."""
    total = BeliefSum(3, CLASSES)
    for votes in np.eye(CLASSES)[[0, 0, 1]]:
        total.add(np.array([0, 2]), np.stack([votes, votes]))
    for votes in np.eye(CLASSES)[[0, 1]]:  # as torn as can be, so far
        total.add(np.array([1]), votes[None])
    belief = total.belief(np.arange(3))
    assert ACQUIRE[policy](0.9)(belief, belief.ids, 2, np.random.default_rng(0)).tolist() == [0, 2]


def test_above_average_draws_from_those_above_the_average_over_the_whole_pool() -> None:
    belief = some_belief(60, 1)
    askable = np.arange(10, 60)
    above = {id_ for id_ in askable.tolist() if belief.entropy[id_] > belief.entropy.mean()}
    seen: set[int] = set()
    for seed in range(200):
        seen |= set(ACQUIRE["above-average"](0.9)(belief, askable, 5, np.random.default_rng(seed)).tolist())
    assert seen == above


def test_fewer_than_wanted_above_the_bar_is_no_error() -> None:
    belief = some_belief(10, 2)
    least = belief.ids[np.argsort(belief.entropy)[:4]]
    assert len(ACQUIRE["above-average"](0.9)(belief, least, 5, np.random.default_rng(0))) < 5
    flat = Belief(
        belief.ids, np.full((10, CLASSES), 1 / CLASSES), belief.expected_entropy, belief.agreement, belief.passes
    )
    assert len(ACQUIRE["above-average"](0.9)(flat, flat.ids, 5, np.random.default_rng(0))) == 0


def test_above_quantile_draws_from_the_upper_share_only() -> None:
    belief = some_belief(100, 3)
    bar = np.quantile(belief.entropy, 0.8)
    asked = ACQUIRE["above-quantile"](0.8)(belief, belief.ids, 50, np.random.default_rng(0))
    assert len(asked) == 20
    assert (belief.entropy[asked] > bar).all()


def test_margin_draw_asks_one_in_five_by_lot_and_draws_the_others_from_the_smallest_leads() -> None:
    belief = some_belief(400, 4)
    askable = np.arange(0, 400, 2)
    by_margin = askable[np.argsort(belief.margin[askable])]
    drawn_before: set[int] = set()
    for seed in range(4):
        asked = ACQUIRE["margin-draw"](0.9)(belief, askable, 10, np.random.default_rng(seed))
        assert len(asked) == 10
        by_lot = set(drawn(askable, 2).tolist())
        others = set(asked.tolist()) - by_lot
        assert len(others) == 8
        assert others <= set(by_margin[:52].tolist())
        drawn_before |= others
    assert len(drawn_before) > 16  # not the smallest leads each time


def test_one_question_at_a_time_is_put_by_lot_in_one_case_of_five() -> None:
    belief = some_belief(400, 4)
    asked = [ACQUIRE["margin-draw"](0.9)(belief, belief.ids, 1, np.random.default_rng(seed)) for seed in range(300)]
    by_lot = sum(one[0] == drawn(belief.ids, 1)[0] for one in asked)
    assert 35 < by_lot < 90


@given(st.integers(2, 30), seeds, st.sampled_from([0.0, 0.5, 0.9, 0.99]))
def test_confident_admits_what_is_above_the_bar_and_forgets_what_no_longer_is(
    samples: int, seed: int, bar: float
) -> None:
    belief = some_belief(samples, seed)
    labels = ADMIT["all-data"](belief, 1.0, some_labels(samples, seed))
    after = admission("confident", bar)(belief, 1.0, labels)
    assert set(after.members) == set(labels.unknown) & set(np.flatnonzero(belief.confidence > bar))
    assert (after.guess[after.members] == belief.guess[after.members]).all()


@given(st.lists(seeds, min_size=1, max_size=8), st.integers(2, 30), st.floats(0, 1))
def test_step_wise_membership_only_grows_and_guesses_are_refreshed(
    rounds: list[int], samples: int, threshold: float
) -> None:
    labels = Labels.none(samples, CLASSES)
    for seed in rounds:
        belief = some_belief(samples, seed)
        after = ADMIT["step-wise"](belief, threshold, labels)
        assert set(labels.members) <= set(after.members)
        assert set(after.members) == set(labels.members) | set(np.flatnonzero(belief.entropy < threshold))
        assert (after.guess[after.members] == belief.guess[after.members]).all()
        labels = after


@given(st.integers(2, 30), seeds)
def test_all_data_admits_everything_unlabelled_and_none_admits_nothing(samples: int, seed: int) -> None:
    labels, belief = some_labels(samples, seed), some_belief(samples, seed)
    assert ADMIT["all-data"](belief, 0.0, labels).members.tolist() == labels.unknown.tolist()
    assert len(ADMIT["none"](belief, 1.0, ADMIT["all-data"](belief, 1.0, labels)).members) == 0


@pytest.mark.parametrize("policy", sorted(ACQUIRE))
def test_nothing_left_to_ask_for_is_no_error(policy: str) -> None:
    assert len(ACQUIRE[policy](0.9)(some_belief(5, 0), NO_IDS, 3, np.random.default_rng(0))) == 0


def test_the_first_of_a_batch_are_a_bit_of_both_those_by_lot_in_their_order() -> None:
    """People answer a few of a batch before there is another: not the fair ones alone, nor the others alone."""
    fair, others = np.arange(10), np.arange(100, 190)
    firsts = []
    for seed in range(200):
        together = mixed(fair, others, np.random.default_rng(seed))
        assert together[together < 100].tolist() == fair.tolist()
        assert together[together >= 100].tolist() == others.tolist()
        firsts.append(together[0] < 100)
    assert 0.04 < np.mean(firsts) < 0.18


@given(st.integers(1, 30), st.integers(0, 40), seeds)
def test_the_first_are_those_of_ordering_all(samples: int, count: int, seed: int) -> None:
    """By passes, then by score, then by id: with ties in all three."""
    rng = np.random.default_rng(seed)
    ids = np.sort(rng.choice(100, samples, replace=False))
    score_N, passes_N = rng.integers(0, 4, samples) / 4, rng.integers(2, 4, samples)
    order = np.lexsort((ids, -score_N, -passes_N))[:count]
    assert _first(ids, score_N, passes_N, count).tolist() == order.tolist()


@given(st.sampled_from(["max-entropy", "margin", "variation-ratios"]), st.integers(2, 30), st.integers(1, 40), seeds)
def test_the_highest_of_all_are_among_the_highest_of_every_part(
    policy: str, samples: int, count: int, seed: int
) -> None:
    labels, belief = some_labels(samples, seed), some_belief(samples, seed)
    rng = np.random.default_rng(0)
    whole = ACQUIRE[policy](0.9)(belief, labels.askable, count, rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(acquire_module, "_AT_A_TIME", 3)
        assert ACQUIRE[policy](0.9)(belief, labels.askable, count, rng).tolist() == whole.tolist()
