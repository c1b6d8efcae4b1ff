"""Trust is whole until evidence speaks against it, falls with every word against it, and ends at nothing."""

from __future__ import annotations

from itertools import pairwise
from math import comb

import pytest

from deepbass.core.trust import proven, trust


def test_without_evidence_against_it_trust_is_whole() -> None:
    assert all(trust(better, worse) == 1 for worse in range(20) for better in range(worse, 40))


@pytest.mark.parametrize("better", range(6))
def test_every_word_against_takes_some_and_enough_of_them_take_all(better: int) -> None:
    falling = [trust(better, worse) for worse in range(better + 1, better + 40)]
    assert all(before > after or after == 0 for before, after in pairwise(falling))
    assert falling[0] > 0
    assert falling[-1] == 0


def test_trust_is_twice_the_probability_of_the_better_share() -> None:
    # an integral over all shares above a half, by the rule of rectangles
    steps = 200_000
    shares = [(2 * step + 1) / (4 * steps) + 0.5 for step in range(steps)]
    above = sum(comb(5, 2) * share**2 * (1 - share) ** 3 for share in shares) * 6 / (2 * steps)
    assert trust(2, 3) == pytest.approx(2 * above, rel=1e-6)


def test_what_is_proven_has_been_right_in_nearly_all_disputes_and_in_some() -> None:
    assert not any(proven(better, worse) for better, worse in ((0, 0), (2, 0), (1, 3), (5, 5), (4, 2)))
    assert all(proven(better, worse) for better, worse in ((3, 0), (6, 1), (20, 10)))
