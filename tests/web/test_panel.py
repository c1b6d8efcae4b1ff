"""The panel: what the numbers beside the question say, and by which target the model is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepbass.core.errors import StoreError
from deepbass.label.acts import Act
from deepbass.label.class_list import ClassList
from deepbass.label.ledger import Ledger
from deepbass.label.project import Project
from deepbass.label.trained_models import newest_model
from deepbass.web.panel import Panel
from tests.label.projects import begin_model, commit, make_ranking
from tests.web.open_service import SOON, incoming, open_service, sent
from tests.web.served import small_project


def test_the_panel_says_what_the_ledger_says(tmp_path: Path) -> None:
    project = small_project(tmp_path, 120, audit=0.2, target_error=0.2)
    reserve = project.audit_reserve().tolist()
    guess = [item % 2 for item in range(120)]
    with begin_model(project) as run:
        for iteration, (known, errors) in enumerate(((10, 5), (20, 3), (20, 2), (30, 1))):
            commit(run, iteration, make_ranking(guess, known=known), audit=10, audit_errors=errors)
    with open_service(project) as service:
        wrong = reserve[:3]
        acts = [sent(str(item), item, 1 - guess[item] if item in wrong else guess[item]) for item in reserve[:20]]
        service.answer("ann", incoming(*acts)).result(SOON)
        panel = service.panel().result(SOON)
        back = sent("back", wrong[0], None, kind="undo", undoes=str(wrong[0]))
        undone = service.answer("ann", incoming(back)).result(SOON).panel
        assert (undone["audit"]["n"], undone["audit"]["errors"]) == (19, 2)
        mended = sent("mended", wrong[1], guess[wrong[1]], why="browse")
        assert service.answer("ann", incoming(mended)).result(SOON).panel["audit"]["errors"] == 1
    assert panel["audit"]["n"] == 20
    assert panel["audit"]["errors"] == 3
    assert panel["audit"]["low"] < 0.15 < panel["audit"]["high"]
    points = [(point["labels"], point["estimate"]) for point in panel["history"]]
    assert points == [(10, 0.5), (20, 0.2), (30, 0.15)]  # not the 0.1 of when it was committed
    assert panel["ready"] is None


def test_good_enough_is_said_by_what_was_written_down_with_the_commits(tmp_path: Path) -> None:
    project = small_project(tmp_path, 12, target_error=0.2)
    with begin_model(project) as run:
        commit(run, 1, make_ranking([0] * 12, known=5), audit=200, audit_errors=2)
    with open_service(project) as service:
        panel = service.panel().result(SOON)
    assert panel["audit"] is None  # nobody here answered an audit question
    assert "2 of 200 audit images" in panel["good_enough"]


def test_a_long_curve_is_thinned_and_keeps_its_ends(tmp_path: Path) -> None:
    project = small_project(tmp_path, 12, audit=0.1)
    with begin_model(project) as run:
        for known in range(1, 151):
            commit(run, known, make_ranking([0] * 12, known=known), audit=10, audit_errors=1)
    item = int(project.audit_reserve()[0])
    ledger = Ledger([item])
    ledger.take(Act("a", item, "label", "ann", "audit", 0, id=1))
    history = Panel(project).numbers(ledger, ClassList.named(["cat", "dog"]), newest_model(project))["history"]
    assert len(history) == 40
    assert (history[0]["labels"], history[-1]["labels"]) == (1, 150)


def test_the_audit_tells_of_the_model_class_by_class_and_where_it_is_wrong(tmp_path: Path) -> None:
    project = small_project(tmp_path, 60, audit=0.2)
    reserve = project.audit_reserve().tolist()[:6]
    guess = [1] * 60
    with begin_model(project) as run:
        commit(run, 0, make_ranking(guess), audit=0, audit_errors=0)
    with open_service(project) as service:
        assert service.audit_results().result(SOON)["n"] == 0
        said = [sent(f"a{item}", item, class_) for item, class_ in zip(reserve, [1, 1, 1, 0, 0, 1], strict=True)]
        others = [sent(f"o{item}", item, 0) for item in range(60) if item not in project.audit_reserve()][:5]
        panel = service.answer("ann", incoming(*said, *others)).result(SOON).panel
        found = service.audit_results().result(SOON)
        corrected = sent("mended", reserve[3], 1, why="browse")
        service.answer("ann", incoming(corrected)).result(SOON)
        after = service.audit_results().result(SOON)
    assert (found["n"], found["errors"]) == (6, 2)  # of audit images alone
    assert {row["class"]: (row["n"], row["found"], row["said"]) for row in found["classes"]} == {
        0: (2, 0, 0),
        1: (4, 4, 6),
        **{row["class"]: (0, 0, 0) for row in found["classes"] if row["class"] > 1},
    }
    assert found["balanced_accuracy"] == 0.5
    assert found["pairs"] == [{"is": 0, "taken_for": 1, "times": 2}, {"is": 1, "taken_for": 1, "times": 4}]
    assert {(one["item"], one["label"], one["guess"]) for one in found["mistakes"]} == {
        (item, 0, 1) for item in reserve[3:5]
    }
    assert [one["item"] for one in after["mistakes"]] == [reserve[4]]
    assert panel["worth"]["verdict"] == "not useful yet"
    assert panel["worth"]["commonest"] == pytest.approx(1 / 3)


def test_a_person_who_wants_audit_questions_gets_them_next(tmp_path: Path) -> None:
    project = small_project(tmp_path, 60, audit=0.1)
    reserve = project.audit_reserve().tolist()
    with open_service(project) as service:
        held = [question.item for question in service.next("ann", 4).result(SOON)[0]]
        assert service.audit_first("ann", 5, held[0]).result(SOON) == 5
        asked = [question.item for question in service.next("ann", 6).result(SOON)[0]]
        assert asked[0] == held[0]  # what the page shows stays
        assert asked[1:] == [item for item in reserve if item != held[0]][:5]
        assert all(item not in reserve for item in [q.item for q in service.next("bob", 2).result(SOON)[0]])
        assert service.audit_first("bob", 50, None).result(SOON) == len(set(reserve) - set(asked))


def test_a_model_is_judged_by_the_target_that_people_chose_also_after_a_restart(tmp_path: Path) -> None:
    project = small_project(tmp_path, target_error=0.01)
    with begin_model(project) as run:
        commit(run, 1, make_ranking([0] * 12, known=5), audit=100, audit_errors=0)
    with open_service(project) as service:
        assert service.panel().result()["good_enough"] is None
        choices = {choice["target"]: choice for choice in service.targets().result()}
        assert list(choices) == [0.01, 0.02, 0.05, 0.1, 0.2, None]
        assert (choices[0.02]["takes"], choices[0.05]["takes"], choices[None]["takes"]) == (228, 90, None)
        panel = service.choose_target(0.05, "ann").result()
        assert panel["target"] == 0.05
        assert "the target is 5 %" in panel["good_enough"]
        assert Project.open(project.path).settings.target_error == 0.05  # before anybody was told
        assert panel["worth"]["way"] is None
        assert service.choose_target(None, "ann").result()["good_enough"] is None
        service.choose_target(0.1, "bob").result()
    with open_service(Project.open(project.path)) as again:
        assert "the target is 10 %" in again.panel().result()["good_enough"]
        assert again.project.about["target_chosen"]["by"] == "bob"
        assert again.project.settings.seed == project.settings.seed


def test_a_target_that_the_disk_does_not_take_is_not_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = small_project(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with open_service(project) as service:
        monkeypatch.setattr("deepbass.label.project.replace_file", full)
        with pytest.raises(StoreError, match="No space left"):
            service.choose_target(0.1, "ann").result()
        assert service.panel().result()["target"] == 0.02
