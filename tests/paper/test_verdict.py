"""Verdicts: what any comparison of means has to obey."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deepbass.paper.rows import ROWS, Reported, Row
from deepbass.paper.verdict import ABOVE, AGREES, BELOW, FEWEST, NOT_RUN, TOO_FEW, judge, t_quantile

accuracies = st.lists(st.integers(5000, 9999).map(lambda n: n / 100), min_size=FEWEST, max_size=12)
spreads = st.one_of(st.none(), st.integers(1, 300).map(lambda n: n / 100))
papers = st.builds(Reported, st.integers(5000, 9999).map(lambda n: n / 100), spreads, about=st.booleans())


@pytest.mark.parametrize("freedom", [*range(1, 31), 1.5, 2.2, 9.7, 45.3, 120, 10_000])
def test_quantiles_are_those_of_students_t(freedom: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    assert t_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), abs=1e-3)


@given(accuracies, papers)
def test_the_interval_is_welchs(ours: list[float], paper: Reported) -> None:
    stats = pytest.importorskip("scipy.stats")
    sd = float(np.std(ours, ddof=1))
    assume(sd > 1e-6)
    other = sd if paper.sd is None else paper.sd
    test = stats.ttest_ind_from_stats(np.mean(ours), sd, len(ours), paper.accuracy, other, paper.runs, equal_var=False)
    verdict = judge(ours, paper)
    assert verdict.interval is not None
    assert verdict.borrowed == (paper.sd is None)
    # the interval ends where the test's p-value is 5 %
    assert verdict.difference == pytest.approx(sum(verdict.interval) / 2)
    holds_zero = verdict.interval[0] <= 0 <= verdict.interval[1]
    assert holds_zero == (test.pvalue >= 0.05) or test.pvalue == pytest.approx(0.05, abs=1e-4)


@given(st.lists(st.integers(-200, 200), min_size=2, max_size=5), spreads)
def test_equal_means_agree(offsets: list[int], sd: float | None) -> None:
    ours = [90 + sign * offset / 100 for offset in offsets for sign in (1, -1)]
    assert judge(ours, Reported(90.0, sd)).words == AGREES


@given(accuracies, papers)
def test_what_is_above_from_one_side_is_below_from_the_other(ours: list[float], paper: Reported) -> None:
    mirrored = judge([2 * paper.accuracy - value for value in ours], paper)
    verdict = judge(ours, paper)
    assert verdict.interval is not None
    # away from the edge, where the last bit decides
    edge = 0.5 if paper.about else 0.005
    assume(min(abs(abs(end) - edge) for end in verdict.interval) > 1e-9)
    assert mirrored.words == {ABOVE: BELOW, BELOW: ABOVE, AGREES: AGREES}[verdict.words]


@given(accuracies, papers)
def test_more_runs_like_these_narrow_the_interval(ours: list[float], paper: Reported) -> None:
    assume(np.std(ours) > 1e-3)
    few, many = judge(ours, paper).interval, judge(ours * 3, paper).interval
    assert few is not None
    assert many is not None
    assert many[1] - many[0] < few[1] - few[0]


def test_without_spread_only_the_same_number_agrees() -> None:
    paper = Reported(91.37)
    assert judge([91.37] * 4, paper).words == AGREES
    assert judge([91.374] * 4, paper).words == AGREES  # the paper rounds to hundredths
    assert judge([91.40] * 4, paper).words == ABOVE
    assert judge([91.30] * 4, paper).words == BELOW
    assert judge([91.30] * 4, Reported(91.37, 0.5)).words == AGREES


def test_what_the_paper_says_in_passing_is_not_taken_to_the_hundredth() -> None:
    ours = [85.40, 85.41, 85.42]
    assert judge(ours, Reported(85.0, about=True)).words == AGREES
    assert judge(ours, Reported(85.0)).words == ABOVE


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_few_runs_give_no_verdict(row: Row) -> None:
    paper = row.paper
    nothing, one, two = judge([], paper), judge([50.0], paper), judge([50.0, 51.0], paper)
    assert (nothing.words, one.words, two.words) == (NOT_RUN, TOO_FEW, TOO_FEW)
    assert {nothing.mean, nothing.difference, nothing.interval, one.sd, one.interval, two.interval} == {None}
    assert two.sd == pytest.approx(0.5**0.5)
    assert two.difference == pytest.approx(50.5 - paper.accuracy)
