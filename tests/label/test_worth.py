"""What the model is worth in plain words: against the commonest class, and how far it is to the target."""

from __future__ import annotations

import pytest

from deepbass.core.error_law import Estimate, answers_to_show, scored
from deepbass.label.estimate import good_enough
from deepbass.label.settings import Settings
from deepbass.label.worth import Worth, judge, targets_that_fit, way_to_target

NAMES = {0: "fine", 1: "broken"}


def worth(errors: int, n: int, *, commonest: float = 0.7, enough: bool = False, **settings: float) -> Worth:
    labels = {item: int(item >= commonest * n) for item in range(n)}
    now = scored(errors, n)
    chosen = Settings.of(settings)
    return judge([now], now, labels, NAMES, chosen, reserve=2000, seconds=2.0, enough=enough)


def test_a_model_is_useful_once_its_worst_case_beats_the_commonest_class() -> None:
    # 30 % of the images are not of the commonest class, so always saying it is wrong in 30 %
    assert worth(27, 100).verdict == "not useful yet"
    assert scored(20, 100).high < 0.3
    assert worth(20, 100).verdict == "useful"
    assert (
        "Always saying “fine”, the commonest class, would be wrong in 30 %: the model is better" in worth(20, 100).why
    )
    assert worth(20, 100).commonest == pytest.approx(0.3)
    for errors in range(101):
        assert (worth(errors, 100).verdict == "useful") == (scored(errors, 100).high < 0.3)


def test_where_one_class_is_nearly_all_there_is_a_small_error_is_not_useful() -> None:
    assert worth(6, 100, commonest=0.95).verdict == "not useful yet"


def test_good_enough_is_said_by_its_own_law_alone() -> None:
    assert worth(0, 300, enough=True).verdict == "good enough"
    assert worth(0, 300, enough=True).way is None
    assert worth(0, 300).verdict == "useful"


def test_before_the_first_audit_answer_nothing_is_said_but_the_way() -> None:
    told = judge([], None, {}, NAMES, Settings(), reserve=2000, seconds=None, enough=False)
    assert (told.verdict, told.commonest) == ("unknown", None)
    assert told.way == (
        "To show an error below 2 %: 228 test questions without a mistake; about 2,280 more answers, every 10th a test "
        "question."
    )


@pytest.mark.parametrize("target", [0.01, 0.02, 0.05, 0.2])
@pytest.mark.parametrize("errors", [0, 1, 3, 4])
def test_so_many_answers_are_what_the_law_of_good_enough_takes(target: float, errors: int) -> None:
    """With the number that is told the law is met; with one answer less it is not."""
    total = answers_to_show(target, errors=errors)
    grown = [scored(min(errors, n), n) for n in range(1, total + 1)]
    assert good_enough(grown, target) is not None
    assert good_enough(grown[:-1], target) is None


def test_a_look_that_was_had_is_not_had_again() -> None:
    spent: list[Estimate] = [scored(1, 228)]  # the first look of 2 %: one mistake was too many for it
    assert answers_to_show(0.02, spent, errors=1) == answers_to_show(0.02, errors=1) == 342
    assert answers_to_show(0.02, [scored(0, 228)]) == 342


def test_the_way_is_told_in_answers_and_minutes() -> None:
    now = scored(0, 128)
    way = way_to_target([now], now, Settings(audit=0.5), reserve=2000, seconds=3.0)
    assert way == (
        "To show an error below 2 %: 100 test questions without a mistake; about 200 more answers, 10 minutes, every "
        "second a test question."
    )
    assert way_to_target([now], now, Settings(target_error=None), reserve=2000, seconds=3.0) is None
    bad = scored(60, 128)
    assert (way_to_target([bad], bad, Settings(), reserve=2000, seconds=3.0) or "").startswith("It has to get better")


def test_a_target_that_the_audit_can_never_show_is_said_to_be_with_one_that_fits() -> None:
    way = way_to_target([], None, Settings(), reserve=100, seconds=2.0) or ""
    assert "takes 228 test questions without a mistake, and only 100 images are kept" in way
    assert way.endswith("A target of 5 % takes 90: choose it on the page, or start with --target-error 5%.")
    assert "too few images" in (way_to_target([], None, Settings(), reserve=5, seconds=2.0) or "")
    assert targets_that_fit(100) == [(0.05, 90), (0.1, 44), (0.2, 21)]
    many = scored(4, 200)
    assert (way_to_target([many], many, Settings(), reserve=300, seconds=2.0) or "").endswith("to get better first.")
