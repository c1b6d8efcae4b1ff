"""Which guesses count: sure enough, about an item that nobody labelled, still there, and refused by nobody."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from deepbass.core.error_law import scored
from deepbass.label.acts import Act, Kind, Why
from deepbass.label.class_list import ClassChange, ClassList
from deepbass.label.guesses import LEVELS, guess_levels, guesses_of
from deepbass.label.ledger import Ledger
from deepbass.label.trained_models import Model, newest_model
from tests.label.projects import begin_model, commit, make_images, make_project, make_ranking

GUESS = [0, 1, 0, 1, 0, 1]
SURE = np.array([0.5, 0.6, 0.9, 0.95, 0.99, 1.0], np.float32)


@pytest.fixture
def model(tmp_path: Path) -> Model:
    project = make_project(tmp_path / "project", make_images(tmp_path / "images", [f"{i}.png" for i in range(6)]))
    with begin_model(project) as run:
        commit(run, 0, make_ranking(GUESS, confidence=SURE, member=np.array([True] * 2 + [False] * 4)))
    found = newest_model(project)
    assert found is not None
    return found


def ledger_of(*acts: tuple[Kind, int, int | None, Why]) -> Ledger:
    ledger = Ledger((4,))
    for number, (kind, item, class_, why) in enumerate(acts):
        ledger.take(Act(f"u{number}", item, kind, "ann", why, class_, id=1 + number))
    return ledger


def test_a_guess_counts_from_its_threshold_on_whether_it_was_trained_on_or_not(model: Model) -> None:
    assert guesses_of(model, ledger_of(), 0.95).tolist() == [3, 4, 5]
    assert guesses_of(model, ledger_of(), 0.0).tolist() == [0, 1, 2, 3, 4, 5]
    assert guesses_of(None, ledger_of(), 0.0).tolist() == []


def test_what_is_labelled_refused_or_gone_has_no_guess_that_counts(model: Model) -> None:
    ledger = ledger_of(
        ("label", 0, 1, "rank"), ("veto", 1, 1, "guesses"), ("veto", 2, 1, "guesses"), ("skip", 3, None, "rank")
    )
    assert guesses_of(model, ledger, 0.0, gone={5, 99}).tolist() == [2, 3, 4]  # that it is no 1 is no news of item 2


def test_guesses_of_a_class_that_was_merged_are_of_the_other_and_of_one_removed_there_are_none(model: Model) -> None:
    classes = ClassList.named(["cat", "dog"])
    merged = model.resolved(classes.after(ClassChange(3, "merge", 1, into=0)))
    assert merged.ranking.guess.tolist() == [0] * 6
    removed = model.resolved(classes.after(ClassChange(3, "remove", 1)))
    assert guesses_of(removed, ledger_of(), 0.0).tolist() == [0, 2, 4]
    assert removed.ranking.predicted.tolist() == GUESS  # a prediction of what is gone is wrong, not missing
    renamed = model.resolved(classes.after(ClassChange(3, "rename", 1, name="puppy")))
    assert renamed.classes == ("cat", "puppy")
    assert model.resolved(ClassList.named(["cat"])).ranking.guess.tolist() == [0, -1] * 3  # read a moment too soon


def test_the_error_of_a_level_is_that_on_audit_images_that_the_model_is_so_sure_of(model: Model) -> None:
    answers = [(0, 1), (2, 0), (3, 0), (5, 1)]
    levels = guess_levels(model, ledger_of(*(("label", item, class_, "audit") for item, class_ in answers)))
    assert tuple(level.confidence for level in levels) == LEVELS
    by_level = {level.confidence: level for level in levels}
    assert by_level[0.0].error == scored(2, 4)
    assert by_level[0.9].error == scored(1, 3)
    assert by_level[0.99].error == scored(0, 1)
    assert [level.guesses for level in levels] == [2, 2, 2, 1, 1, 1, 1, 1]
    assert guess_levels(model, ledger_of())[0].error is None
    assert [level.guesses for level in guess_levels(None, ledger_of())] == [0] * len(LEVELS)
