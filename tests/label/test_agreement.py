"""Cohen's kappa is scikit-learn's, and None where it means nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbass.label.agreement import Agreement, agreements, kappa

pair = st.tuples(st.integers(0, 3), st.integers(0, 3))


@given(st.lists(pair, min_size=1, max_size=60))
def test_kappa_is_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    from sklearn.metrics import cohen_kappa_score

    found = kappa(pairs)
    assert found.n == len(pairs)
    assert found.observed == sum(a == b for a, b in pairs) / len(pairs)
    if found.kappa is None:
        assert found.expected == 1
    else:
        assert found.kappa == pytest.approx(cohen_kappa_score(*zip(*pairs, strict=True)))


def test_without_items_there_is_no_agreement() -> None:
    assert kappa([]) == Agreement(0, None, None, None)


def test_where_both_always_say_the_same_one_class_kappa_is_undefined() -> None:
    assert kappa([(2, 2)] * 7) == Agreement(7, 1.0, 1.0, None)


def test_agreeing_always_is_one_and_swapping_two_people_changes_nothing() -> None:
    assert kappa([(0, 0), (1, 1), (2, 2)]).kappa == 1
    pairs = [(0, 1), (1, 1), (2, 0), (0, 0)]
    assert kappa(pairs) == kappa([(b, a) for a, b in pairs])


def test_only_people_who_labelled_the_same_items_are_compared() -> None:
    found = agreements({"ann": {1: 0, 2: 1, 3: 1}, "bob": {2: 1, 3: 0, 4: 0}, "cem": {9: 1}, "dot": {}})
    assert list(found) == [("ann", "bob")]
    assert found["ann", "bob"] == kappa([(1, 1), (1, 0)])
