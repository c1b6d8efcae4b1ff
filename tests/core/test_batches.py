"""Batches chosen with regard to one another: BatchBALD against brute force, BADGE against gradients written out."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from deepbass.core import batch_bald as module
from deepbass.core.acquire import Acquire
from deepbass.core.badge import badge, seen_by_last_layer, spread_out
from deepbass.core.batch_bald import Joint, batch_bald, pick
from deepbass.core.belief import Belief, Floats, entropy
from deepbass.core.by_budget import acquisition
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError
from deepbass.core.labels import Answers, Ids, Labels
from deepbass.core.pool_places import Places
from deepbass.data.pool import Pool


def draws(networks: int, samples: int, classes: int, seed: int = 0) -> Floats:
    """Make what some networks think of some samples."""
    return np.random.default_rng(seed).dirichlet(np.full(classes, 0.5), (networks, samples))


def information(probs_K_N_C: Floats, batch: list[int]) -> float:
    """Go through all configurations of a batch's labels: the entropy of all, less the mean of what networks leave."""
    joint = [
        np.mean([np.prod([network[i, c] for i, c in zip(batch, labels, strict=True)]) for network in probs_K_N_C])
        for labels in product(range(probs_K_N_C.shape[2]), repeat=len(batch))
    ]
    left = [-sum(float(network[i] @ np.log(network[i])) for i in batch) for network in probs_K_N_C]
    return -float(np.sum(joint * np.log(joint))) - float(np.mean(left))


@pytest.mark.parametrize(("classes", "seed"), [(2, 0), (3, 1), (3, 2)])
def test_every_pick_is_the_one_that_brute_force_finds(classes: int, seed: int) -> None:
    probs_K_N_C = draws(5, 7, classes, seed)
    found = pick(probs_K_N_C, 4, np.random.default_rng(0)).tolist()
    for done in range(4):
        best = max(set(range(7)) - set(found[:done]), key=lambda i: information(probs_K_N_C, [*found[:done], i]))
        assert found[done] == best


def test_drawn_configurations_come_near_to_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    probs_K_N_C, rng = draws(6, 8, 3, seed=3), np.random.default_rng(1)
    exact, drawn = Joint(6), Joint(6)
    for sample in range(4):
        exact = exact.and_also(probs_K_N_C[:, sample], rng)
        monkeypatch.setattr(module, "_EXACT", 1)
        drawn = drawn.and_also(probs_K_N_C[:, sample], rng)
        monkeypatch.undo()
    np.testing.assert_allclose(drawn.entropies_with(probs_K_N_C), exact.entropies_with(probs_K_N_C), rtol=0.02)


def test_memory_is_bounded_and_parts_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    probs_K_N_C = draws(4, 50, 5)
    joint = Joint(4).and_also(probs_K_N_C[:, 0], np.random.default_rng(0))
    whole = joint.entropies_with(probs_K_N_C)
    monkeypatch.setattr(module, "_NUMBERS", 60)
    np.testing.assert_allclose(joint.entropies_with(probs_K_N_C), whole)


def test_two_that_tell_the_same_are_not_both_asked_for() -> None:
    """One sample in two copies tells most; BALD would take both, a batch takes one and the next."""
    rng = np.random.default_rng(0)
    sure = np.where(rng.random((20, 1)) < 0.5, [0.99, 0.01], [0.01, 0.99])  # networks that contradict one another
    other = np.where(rng.random((20, 1)) < 0.5, [0.9, 0.1], [0.1, 0.9])
    assert set(pick(np.stack([sure, sure, other], axis=1), 2, rng).tolist()) in ({0, 2}, {1, 2})


POOL = Pool(np.repeat(np.random.default_rng(0).normal(size=(30, 6)), 3, axis=0).astype(np.float32), "train")


def asked(policy: Acquire, labels: Labels, count: int, seed: int = 0) -> Ids:
    """Ask about a pool in which every sample is there three times."""
    probs_K_N_C = np.repeat(draws(20, 30, 3), 3, axis=1)
    mean_N_C = probs_K_N_C.mean(0)

    def each(ids: Ids, passes: int) -> Floats:
        return probs_K_N_C[:passes, ids]

    ones = np.ones(90)
    belief = Belief(np.arange(90), mean_N_C, entropy(probs_K_N_C).mean(0), ones, 20 * ones.astype(np.int64), each)
    return policy.about(labels)(belief, labels.askable, count, np.random.default_rng(seed))


@pytest.mark.parametrize("make", [batch_bald, badge])
def test_batches_are_distinct_the_same_by_seed_and_hold_no_copies(make: Any) -> None:
    labels = Labels.none(90, 3).answered(Answers(np.array([1, 40]), np.array([0, 1])))
    policy = make(Places(POOL, 0))
    found = asked(policy, labels, 25)
    assert len(np.unique(found // 3)) == len(found) == 25
    assert not np.isin(found // 3, [0, 13]).any()  # copies of what is known
    np.testing.assert_array_equal(found, asked(make(Places(POOL, 0)), labels, 25))
    assert len(asked(policy, labels, 80)) == 28  # there are no more
    assert len(asked(policy, Labels.none(90, 3).wanted(np.arange(90)), 5)) == 0


def test_batch_bald_without_a_network_to_ask_says_so() -> None:
    belief = Belief(np.arange(3), np.full((3, 2), 0.5), np.ones(3), np.ones(3), np.ones(3, dtype=np.int64))
    with pytest.raises(ConfigError, match="asks the network again"):
        batch_bald(Places(POOL, 0))(belief, np.arange(3), 1, np.random.default_rng(0))
    with pytest.raises(ConfigError, match="where samples lie"):
        acquisition(Config(acquire="badge"), None)


def test_badge_draws_as_k_means_plus_plus_does_on_gradients_that_are_written_out() -> None:
    rng = np.random.default_rng(0)
    error_N_C, seen_N_H = rng.normal(size=(40, 3)), rng.normal(size=(40, 4))
    gradients = np.einsum("nc,nh->nch", error_N_C, seen_N_H).reshape(40, -1)
    found = spread_out(error_N_C, seen_N_H, 6, np.random.default_rng(5))
    draw, expected = np.random.default_rng(5), [int((gradients**2).sum(1).argmax())]
    draw.random()
    while len(expected) < 6:
        far = ((gradients[:, None] - gradients[expected]) ** 2).sum(2).min(1)
        expected.append(int(np.searchsorted(far.cumsum(), draw.random() * far.sum(), side="right")))
    assert found.tolist() == expected


def test_the_last_layer_sees_places_of_length_one_on_average_and_its_bias() -> None:
    seen = seen_by_last_layer(Places(POOL, 0).points, np.arange(90))
    assert (seen[:, :-1] ** 2).sum(1).mean() == pytest.approx(1.0)
    assert (seen[:, -1] == 1).all()


def test_samples_that_are_all_the_same_to_the_network_are_drawn_at_random() -> None:
    found = spread_out(np.zeros((9, 2)), np.ones((9, 3)), 4, np.random.default_rng(0))
    assert len(np.unique(found)) == 4
