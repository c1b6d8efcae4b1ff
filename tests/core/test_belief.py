"""The equations of the paper against a few lines of independent NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from deepbass.core.belief import Belief, BeliefSum, Floats, entropy


@st.composite
def passes(draw: st.DrawFn) -> Floats:
    """Draw the probabilities of some dropout passes: T x N x C, rows summing to one, exact zeros included."""
    shape = (draw(st.integers(1, 6)), draw(st.integers(1, 8)), draw(st.integers(2, 7)))
    weights = draw(hnp.arrays(np.float64, shape, elements=st.floats(0, 1)))
    weights[..., 0] += (weights.sum(-1) == 0) * 1.0
    probs: Floats = weights / weights.sum(-1, keepdims=True)
    return probs


def summed(probs_T_N_C: Floats) -> Belief:
    total = BeliefSum(*probs_T_N_C.shape[1:])
    for probs_N_C in probs_T_N_C:
        total.add(slice(None), probs_N_C)
    return total.belief(np.arange(probs_T_N_C.shape[1]))


def slow_entropy(probs: Floats) -> float:
    total: float = -sum(p * math.log(p) for p in probs.tolist() if p > 0) / math.log(len(probs))
    return total


@given(passes())
def test_entropy_lies_between_zero_and_one(probs: Floats) -> None:
    assert ((entropy(probs) >= 0) & (entropy(probs) <= 1)).all()


def test_entropy_is_zero_when_certain_and_one_when_uniform() -> None:
    for classes in (2, 3, 10, 100):
        assert entropy(np.eye(classes)).tolist() == [0.0] * classes
        assert entropy(np.full((1, classes), 1 / classes))[0] == pytest.approx(1.0, abs=1e-12)


@given(passes())
def test_streamed_statistics_equal_those_of_all_passes_at_once(probs_T_N_C: Floats) -> None:
    belief = summed(probs_T_N_C)
    mean_N_C = probs_T_N_C.mean(0)
    np.testing.assert_allclose(belief.mean_N_C, mean_N_C, atol=1e-12)
    np.testing.assert_allclose(belief.entropy, [slow_entropy(p) for p in mean_N_C], atol=1e-9)
    each_T_N = [[slow_entropy(p) for p in probs_N_C] for probs_N_C in probs_T_N_C]
    np.testing.assert_allclose(belief.expected_entropy, np.mean(each_T_N, axis=0), atol=1e-9)
    bald = np.maximum(belief.entropy - np.mean(each_T_N, axis=0), 0)
    np.testing.assert_allclose(belief.mutual_information, bald, atol=1e-9)
    votes_T_N = probs_T_N_C.argmax(-1)
    most = [np.bincount(votes).max() / len(votes) for votes in votes_T_N.T]
    np.testing.assert_allclose(belief.agreement, most)
    ordered = np.sort(belief.mean_N_C, axis=1)
    np.testing.assert_allclose(belief.margin, ordered[:, -1] - ordered[:, -2], atol=1e-12)
    np.testing.assert_allclose(belief.confidence, ordered[:, -1], atol=1e-12)
    assert (belief.guess == belief.mean_N_C.argmax(1)).all()


@given(passes())
def test_mutual_information_is_never_more_than_the_entropy(probs: Floats) -> None:
    belief = summed(probs)
    assert (belief.mutual_information <= belief.entropy + 1e-12).all()


@given(passes())
def test_rows_are_found_by_sample_id_whatever_their_order(probs: Floats) -> None:
    count = probs.shape[1]
    rng = np.random.default_rng(count)
    ids = rng.permutation(count) * 7 + 3  # global ids, not positions
    total = BeliefSum(*probs.shape[1:])
    total.add(slice(None), probs[0])
    belief = total.belief(ids)
    wanted = rng.permutation(ids)[: max(1, count // 2)]
    about = belief.about(wanted)
    assert about.ids.tolist() == wanted.tolist()
    for row, sample in enumerate(wanted):
        np.testing.assert_array_equal(about.mean_N_C[row], probs[0][ids.tolist().index(sample)])


def test_memory_does_not_grow_with_the_number_of_passes() -> None:
    import tracemalloc

    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(10), size=2000)

    def peak(passes: int) -> int:
        tracemalloc.start()
        total = BeliefSum(2000, 10)
        for _ in range(passes):
            total.add(slice(None), probs)
        total.belief(np.arange(2000))
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    few = peak(2)
    assert peak(100) < 1.1 * few
