"""The audit is drawn before anything is known: by seed and item alone, in an order that nothing changes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from deepbass.label import audit
from deepbass.label.acts import Act, Kind, Why
from deepbass.label.settings import Settings


def reserve(count: int, first: int | None = None, seed: int = 0, share: float = 0.1) -> NDArray[np.int64]:
    """Draw the reserve of a project that was begun with ``first`` items and has ``count`` now."""
    first = count if first is None else first
    chosen = Settings(seed=seed, audit=share)
    return audit.reserve(chosen.seed, audit.reserve_share(chosen, first), first, count)


@pytest.mark.parametrize(
    ("count", "expected"), [(2, 1), (10, 5), (99, 49), (100, 50), (300, 60), (3000, 600), (60_000, 2000)]
)
def test_the_reserve_is_as_large_as_documented(count: int, expected: int) -> None:
    drawn = reserve(count).tolist()
    assert len(drawn) == len(set(drawn)) == expected
    assert set(drawn) <= set(range(count))


@pytest.mark.parametrize("first", [1, 10, 300, 3000])
def test_items_that_come_later_change_nothing_that_was_drawn(first: int) -> None:
    before, later = reserve(first).tolist(), reserve(10_000, first).tolist()
    assert [item for item in later if item < first] == before
    assert abs(len(later) - len(before) - 0.2 * (10_000 - first)) < 200  # five standard deviations


def test_the_reserve_depends_on_the_seed_only() -> None:
    reserves = [reserve(100, seed=seed // 2).tolist() for seed in range(4)]
    assert reserves[0] == reserves[1] != reserves[2] == reserves[3]
    assert reserves[0][:8] == [71, 98, 43, 7, 26, 84, 60, 12]  # for ever: another NumPy must not draw another


def test_without_an_audit_nothing_is_reserved() -> None:
    assert reserve(100, share=0.0).tolist() == []
    assert reserve(1000, first=100, share=0.0).tolist() == []


def test_the_order_has_no_favourites() -> None:
    halves = np.bincount(reserve(10_000)[:1000] < 5000)
    assert abs(halves[0] - 500) < 80


@pytest.mark.parametrize(
    ("reserved", "acts", "counts"),
    [
        (False, [("label", "audit")], True),
        (False, [("label", "rank"), ("label", "audit")], False),  # it was first asked because of the model
        (True, [("label", "rank")], True),
        (True, [("label", "import")], True),
        (True, [("label", "guesses")], False),  # the model's guess may have drawn attention to it
        (True, [("skip", "audit"), ("label", "guesses")], True),
        (True, [], False),
    ],
)
def test_what_counts_is_decided_by_how_an_item_was_first_come_upon(
    reserved: bool, acts: list[tuple[Kind, Why]], counts: bool
) -> None:
    answers = [Act(str(number), 0, kind, "ann", why) for number, (kind, why) in enumerate(acts)]
    labels = [act for act in answers if act.kind == "label"]
    assert audit.in_audit(labels, answers, reserved) == counts
