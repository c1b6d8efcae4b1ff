"""Laws of the saving factor."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbass.compare.saving import ABOUT, AT_LEAST, AT_MOST, jackknife, saving

RISING = [(25, 0.5), (50, 0.6), (100, 0.7), (400, 0.9)]
shares = st.floats(0, 1, allow_nan=False)
curves = st.lists(st.tuples(st.integers(1, 10_000), shares), min_size=1, max_size=8, unique_by=lambda point: point[0])


@given(curves)
def test_plain_against_itself_has_factor_one(curve: list[tuple[int, float]]) -> None:
    for labels, result in curve:
        found = saving(labels, result, curve)
        assert found.factor == pytest.approx(1.0, rel=1e-9)
        assert found.bound == ABOUT


@given(curves, st.integers(1, 10_000), shares, shares)
def test_a_better_result_never_saves_less(
    curve: list[tuple[int, float]], labels: int, first: float, second: float
) -> None:
    low, high = sorted((first, second))
    assert saving(labels, low, curve).factor <= saving(labels, high, curve).factor * (1 + 1e-9)


@given(curves, st.integers(1, 10_000), shares)
def test_the_order_of_the_budgets_does_not_matter(curve: list[tuple[int, float]], labels: int, result: float) -> None:
    assert saving(labels, result, curve) == saving(labels, result, curve[::-1])


def test_between_two_budgets_the_logarithm_counts() -> None:
    found = saving(50, 0.8, RISING)
    assert found.factor == pytest.approx(math.sqrt(100 * 400) / 50)
    assert saving(100, 0.65, RISING).factor == pytest.approx(math.sqrt(50 * 100) / 100)


def test_beyond_what_plain_was_run_with_there_is_a_bound() -> None:
    above, below = saving(100, 0.95, RISING), saving(100, 0.4, RISING)
    assert (above.factor, above.bound) == (4.0, AT_LEAST)
    assert (below.factor, below.bound) == (0.25, AT_MOST)


def test_without_a_curve_there_is_no_factor() -> None:
    with pytest.raises(ValueError, match="was not run"):
        saving(100, 0.5, [])


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    values = np.random.default_rng(0).normal(size=7)
    left_out = [float(np.delete(values, place).mean()) for place in range(len(values))]
    assert jackknife(left_out) == pytest.approx(values.std(ddof=1) / math.sqrt(len(values)))
    assert jackknife([1.0]) is None
