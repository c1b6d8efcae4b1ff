"""Rules of the user's own: what they return is checked, and quoted where it will not do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deepbass.core.acquire import ACQUIRE, Acquire
from deepbass.core.admit import ADMIT, Admit
from deepbass.core.belief import Belief, BeliefSum
from deepbass.core.config import OWN, Config
from deepbass.core.errors import ConfigError
from deepbass.core.labels import Answers, Labels
from deepbass.core.loop import State, after
from deepbass.core.need import EVERYTHING, GUESSES
from deepbass.core.own_parts import PARTS, OwnParts, names_of
from deepbass.core.own_rules import method_with, own_acquire, own_admit, own_start, own_stop

SAMPLES, CLASSES = 12, 3
RNG = np.random.default_rng(0)


def belief() -> Belief:
    total = BeliefSum(SAMPLES, CLASSES)
    total.add(slice(None), np.random.default_rng(1).dirichlet(np.ones(CLASSES), size=SAMPLES))
    return total.belief(np.arange(SAMPLES))


def labels() -> Labels:
    known = np.arange(3)
    return Labels.none(SAMPLES, CLASSES).answered(Answers(known, known)).wanted(np.array([5]))


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ([7, 7], "7 is more than once"),
        ([0], "0 may not be asked for"),  # its label is known
        ([5], "5 may not be asked for"),  # it was asked for
        ([99], "99 may not be asked for"),
        ([-1], "-1 may not be asked for"),
        ([6, 7, 8, 9], "which are 4 ids"),
        ([6.0], "no list of sample ids but float64"),
        ([True], "no list of sample ids but bool"),
        ([[6, 7]], r"shape \(1, 2\)"),
        ("all", "no list of sample ids"),
        (7, r"shape \(\)"),
        (None, "no list of sample ids"),
    ],
)
def test_what_may_not_be_asked_for_is_refused_and_quoted(found: Any, says: str) -> None:
    def favourite(*_: object) -> Any:
        return found

    with pytest.raises(ConfigError, match=says) as refused:
        own_acquire(favourite)(belief(), labels().askable, 3, RNG)
    assert f"acquire = favourite returned {found!r}, " in str(refused.value)


@pytest.mark.parametrize("found", [[], [6], (8, 6), np.array([6, 7, 8], dtype=np.int32), np.empty(0)])
def test_any_list_of_ids_that_may_be_asked_for_is_taken_in_its_order(found: Any) -> None:
    asked = own_acquire(lambda *_: found)(belief(), labels().askable, 3, RNG)
    assert asked.dtype == np.int64
    assert asked.tolist() == list(found)


def changed(**arrays: Any) -> Labels:
    """Make the labels again with something changed by hand."""
    before = labels()
    kept = {"answer": before.answer, "guess": before.guess, "asked": before.asked}
    return Labels(arrays.pop("classes", CLASSES), **{**kept, **arrays})


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (None, "no Labels but NoneType"),
        (np.zeros(SAMPLES), "no Labels but ndarray"),
        (Labels.none(SAMPLES, CLASSES), "answers, or what was asked for, are changed"),
        (labels().answered(Answers(np.array([7]), np.array([1]))), "answers, or what was asked for, are changed"),
        (labels().wanted(np.array([7])), "answers, or what was asked for, are changed"),
        (Labels.none(3, CLASSES), "labels of another pool"),
        (changed(classes=9), "labels of another pool"),
        (changed(guess=np.zeros(3, dtype=np.int64)), "labels of another pool"),
        (changed(guess=np.full(SAMPLES, 3)), "a guess is outside of the 3 classes"),
        (changed(guess=np.full(SAMPLES, 1)), "a guess about a sample whose label is known"),
    ],
)
def test_labels_that_lose_or_invent_answers_are_refused(found: Any, says: str) -> None:
    def hopeful(*_: object) -> Any:
        return found

    with pytest.raises(ConfigError, match=says) as refused:
        own_admit(hopeful)(belief(), 0.5, labels())
    assert "admit = hopeful returned " in str(refused.value)
    assert "labels.guessed(ids, classes)" in str(refused.value)


def test_an_error_quotes_no_more_than_can_be_read() -> None:
    with pytest.raises(ConfigError) as refused:
        own_acquire(lambda *_: np.arange(5_000))(belief(), labels().askable, 3, RNG)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("ended", [True, 0, b"done", ["done"]])
def test_a_stop_rule_says_why_or_nothing(ended: Any) -> None:
    with pytest.raises(ConfigError, match="neither None, to go on, nor a text"):
        own_stop(lambda history: ended, after(5), [])(State(labels(), 3))


def test_a_stop_rule_may_end_a_run_sooner_and_never_later() -> None:
    history: list[dict[str, int]] = []
    rule = own_stop(lambda seen: "enough" if len(seen) == 3 else None, after(5), history)
    said = []
    for done in (2, 3, 4, 5):
        history[:] = [{"known": 1}] * done
        said.append(rule(State(labels(), done)))
    assert said == [None, "enough", None, "5 iterations done"]


@pytest.mark.parametrize("part", PARTS)
def test_what_is_no_function_is_refused_at_once(part: str) -> None:
    with pytest.raises(ConfigError, match=f"{part} = 3 is neither a name nor a function"):
        names_of({part: 3})


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ([7, 7], "7 is more than once"),
        ([9], "9 is none of those to choose from"),
        ([4, 5, 6, 7], "which are 4 ids"),
        ([], "which are none"),
        ([np.nan], "no list of sample ids but float64"),
    ],
)
def test_what_cannot_be_known_at_the_start_is_refused_and_quoted(found: Any, says: str) -> None:
    def first(*_: object) -> Any:
        return found

    samples: Any = None
    with pytest.raises(ConfigError, match=says) as refused:
        own_start(first)(samples, np.arange(4, 9), 3, RNG)
    assert f"start = first returned {found!r}, " in str(refused.value)


def test_a_plain_function_needs_all_of_a_belief_and_a_value_says_what_it_needs() -> None:
    for acquire in ACQUIRE:
        rule = ACQUIRE[acquire](0.9)
        assert own_acquire(rule.choose).need(labels().askable, 3) == EVERYTHING
        assert own_acquire(rule).need(labels().askable, 3).everything == rule.need(labels().askable, 3).everything
    for admission in ADMIT.values():
        assert own_admit(admission.choose).need(0.5, labels()) == EVERYTHING
    assert own_admit(ADMIT["all-data"]).need(0.5, labels()) is GUESSES


def test_a_need_that_is_none_is_refused() -> None:
    def wrong(*_: object) -> Any:
        return "all"

    with pytest.raises(ConfigError, match="acquire = wrong needs 'all', which is no Need"):
        own_acquire(Acquire(wrong, wrong)).need(labels().askable, 3)
    with pytest.raises(ConfigError, match="admit = wrong needs 'all', which is no Need"):
        own_admit(Admit(wrong, wrong)).need(0.5, labels())


def test_a_method_has_the_rules_given_and_the_names_for_the_rest() -> None:
    config = Config(acquire=OWN, admit="step-wise", iterations=7)
    method = method_with(config, OwnParts(acquire=lambda belief, askable, count, rng: askable[:1]))
    assert method.config == config
    assert method.admit is ADMIT["step-wise"]
    assert method.stop(State(labels(), 7)) == "7 iterations done"
    assert method.acquire(belief(), np.array([9, 8]), 3, RNG).tolist() == [9]


@pytest.mark.parametrize("name", ["acquire", "admit", "stop"])
def test_a_rule_that_was_passed_has_no_name_to_be_found_by(name: str) -> None:
    with pytest.raises(ConfigError, match=f"pass the {name} itself, as in .*{name}="):
        method_with(Config.of({name: OWN}))
