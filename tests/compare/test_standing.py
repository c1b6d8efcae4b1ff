"""Means, differences and verdicts: plain is the better of two, runs are paired, and one standard error decides."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from pathlib import Path

import pytest

from deepbass.bench.cells import FAILED, STARTED
from deepbass.bench.results import COMPARE, Results
from deepbass.compare.methods import OURS
from deepbass.compare.saving import AT_LEAST
from deepbass.compare.standing import ABOVE, BALANCED, BELOW, LEVEL, ONE_RUN, Spread, read_outcome
from deepbass.core.errors import StoreError
from tests.compare.made_up import comparison, outcome, record, write


def level(labels: int | None) -> float:
    """Rise with the logarithm of the labels: 10 points for twice as many."""
    return 0.3 + 0.1 * math.log2((labels or 1_000) / 25)


def law(method: str, labels: int | None, run: int) -> float:
    """Make the network better than logistic regression with 100 labels and more, and ours worth twice the labels."""
    better = {"supervised": 0.02 if (labels or 0) >= 100 else -0.02, "logistic-regression": 0.0}
    luck = (0.03, -0.03)[run]  # the same for all of a run
    return level(2 * (labels or 500)) + luck if method == OURS else level(labels) + better.get(method, -0.1) + luck


def test_plain_is_the_better_of_two_by_mean(tmp_path: Path) -> None:
    found = outcome(tmp_path / "r", comparison(), law)
    assert [found.plain(labels) for labels in (25, 50, 100, 200)] == ["logistic-regression"] * 2 + ["supervised"] * 2
    assert [round(mean, 6) for _, mean in found.plain_curve()] == [0.3, 0.4, 0.52, 0.62, 0.72]


def test_runs_are_paired_so_that_their_luck_does_not_count(tmp_path: Path) -> None:
    standing = outcome(tmp_path / "r", comparison(), law).standing(50)
    assert standing is not None
    assert standing.plain == "logistic-regression"
    assert standing.ours.error == pytest.approx(0.03)
    assert standing.difference.mean == pytest.approx(0.1)
    assert standing.difference.error == pytest.approx(0.0, abs=1e-9)
    assert standing.verdict == ABOVE
    assert standing.saved.factor == pytest.approx(50 * 2 ** (0.1 / 0.12) / 50)
    assert standing.saved.error == pytest.approx(0.0, abs=1e-6)


def test_beyond_plains_largest_budget_there_is_a_bound(tmp_path: Path) -> None:
    standing = outcome(tmp_path / "r", comparison(), lambda m, n, run: 0.99 if m == OURS else level(n)).standing(50)
    assert standing is not None
    assert (standing.saved.factor, standing.saved.bound, standing.saved.error) == (8.0, AT_LEAST, None)


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [((0.05, 0.03), ABOVE), ((0.03, -0.03), LEVEL), ((-0.01, 0.0), LEVEL), ((-0.05, -0.03), BELOW), ((0, 0), LEVEL)],
)
def test_one_standard_error_decides(tmp_path: Path, differences: tuple[float, float], verdict: str) -> None:
    found = outcome(tmp_path / "r", comparison(), lambda m, n, run: level(n) + (differences[run] if m == OURS else 0.0))
    standing = found.standing(100)
    assert standing is not None
    assert standing.verdict == verdict
    assert {standing.verdict for standing in found.standings(BALANCED)} == {verdict}


def test_one_run_says_little(tmp_path: Path) -> None:
    standing = outcome(tmp_path / "r", comparison(runs=1), law).standing(50)
    assert standing is not None
    assert standing.verdict == ONE_RUN


def test_a_spread_is_a_mean_and_its_standard_error() -> None:
    values = [0.1, 0.4, 0.35]
    spread = Spread.of(values)
    assert spread is not None
    assert spread.mean == pytest.approx(statistics.fmean(values))
    assert spread.error == pytest.approx(statistics.stdev(values) / math.sqrt(3))
    assert Spread.of([]) is None


def test_what_failed_or_was_made_with_other_settings_does_not_count(tmp_path: Path) -> None:
    plan = comparison()
    by_key = {(cell.row, cell.tier, cell.run): cell for cell in plan.cells()}
    wrong, begun, other = (by_key[OURS, "50", 0], by_key[OURS, "50", 1], by_key["svm", "50", 0])
    others = [
        replace(record(wrong, 0.5), status=FAILED, error="no\nreason"),
        replace(record(begun, 0.5), status=STARTED),
        record(replace(other, settings={"pool": 5}), 0.5),
    ]
    found = read_outcome(Results.open(write(tmp_path / "r", plan, law, others)))
    assert [each.cell.key for each in found.failed] == [wrong.key]
    assert found.missing == 2
    assert found.standing(50) is None
    assert [standing.labels for standing in found.standings()] == [100]
    assert list(found.runs("svm", 50)) == [1]


def test_a_folder_without_a_whole_plan_is_refused(tmp_path: Path) -> None:
    results = Results.make(tmp_path / "r", COMPARE)
    for plan in ({}, {"data": "x"}, {**comparison().as_dict(), "methods": ["magic"]}):
        results.keep_plan(plan)
        with pytest.raises(StoreError, match="no whole comparison"):
            read_outcome(Results.open(tmp_path / "r"))


def test_results_of_one_command_are_not_gone_on_with_by_another(tmp_path: Path) -> None:
    Results.make(tmp_path / "r", COMPARE)
    with pytest.raises(StoreError, match="holds results of deepbass compare, not of reproduce"):
        Results.make(tmp_path / "r")
