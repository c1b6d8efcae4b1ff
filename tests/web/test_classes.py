"""Classes, guesses, numbers and receipts as the page gets them from a real server."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepbass.label.project import Project
from deepbass.store.rundir import RunDir
from tests.label.projects import begin_model, commit, make_ranking
from tests.web.served import CHANGE, Served, label, served, small_project


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Served]:
    with served(small_project(tmp_path, classes=["cat", "dog", "cow"])) as running:
        yield running


def classes(here: Served) -> dict[int, str]:
    return {one["id"]: one["name"] for one in here.get("/api/project")["classes"]}


def change(here: Served, path: str, body: dict[str, Any], status: int = 200) -> Any:
    answer = here.post(f"/api/classes{path}", body)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_class_is_added_once_and_an_empty_one_can_be_taken_back(page: Served) -> None:
    added = change(page, "", {"name": "  fish "})
    assert added == {"id": 3, "name": "fish", "existing": False, "change": 4}
    assert change(page, "", {"name": "fish"}) == {"id": 3, "name": "fish", "existing": True, "change": None}
    back = change(page, "/undo", {"change": added["change"]})
    assert [one["name"] for one in back["classes"]] == ["cat", "dog", "cow"]
    again = change(page, "", {"name": "fish"})
    assert again["id"] == 4
    page.act(label(0, 4))
    refused = change(page, "/undo", {"change": again["change"]}, 409)
    assert refused["error"] == "The class 'fish' has 1 label by now, which would be lost: remove it instead."
    assert classes(page) == {0: "cat", 1: "dog", 2: "cow", 4: "fish"}


def test_a_class_is_renamed_but_not_to_the_name_of_another(page: Served) -> None:
    assert change(page, "/1/rename", {"name": "puppy"}) == {"id": 1, "name": "puppy", "change": 4}
    assert "merge the two" in change(page, "/1/rename", {"name": "cat"}, 409)["error"]
    assert classes(page)[1] == "puppy"
    change(page, "/undo", {"change": 4})
    assert classes(page)[1] == "dog"
    assert "undone already" in change(page, "/undo", {"change": 4}, 409)["error"]


def test_a_merged_class_leaves_its_labels_to_the_other(page: Served) -> None:
    page.act(label(0, 0), label(1, 1), label(2, 1))
    assert page.get("/api/classes") == {
        "classes": [{"id": 0, "name": "cat", "labels": 1}, {"id": 1, "name": "dog", "labels": 2},
                    {"id": 2, "name": "cow", "labels": 0}]
    }  # fmt: skip
    merged = change(page, "/1/merge", {"into": 0})
    assert merged["labels"] == 2
    assert page.get("/api/panel")["by_class"] == {"0": 3, "2": 0}
    assert {act["class"] for act in page.get("/api/history")["acts"]} == {0}
    assert {act["label"] for act in page.get("/api/history")["acts"]} == {0}
    assert page.act(label(3, 1))["saved"]  # from a page that has not heard of it yet
    assert page.get("/api/panel")["by_class"] == {"0": 4, "2": 0}
    change(page, "/undo", {"change": merged["change"]})
    assert page.get("/api/panel")["by_class"] == {"0": 1, "1": 3, "2": 0}


def test_a_class_is_removed_by_who_knows_what_is_lost_and_its_images_are_asked_again(page: Served) -> None:
    page.act(*(label(item, 1) for item in range(12)))
    assert page.get("/api/next")["questions"] == []
    refused = change(page, "/1/remove", {"labels": 0}, 409)
    assert (refused["kind"], refused["labels"]) == ("LabelsChanged", 12)
    removed = change(page, "/1/remove", {"labels": 12})
    assert removed["labels"] == 12
    assert classes(page) == {0: "cat", 2: "cow"}
    assert page.get("/api/panel")["labels"] == 0
    assert len(page.get("/api/next", count=12)["questions"]) == 12
    acts = page.get("/api/history")["acts"]
    assert {(act["class"], act["removed"], act["label"]) for act in acts} == {(None, "dog", None)}
    (refusal,) = page.act(label(0, 1))["refused"]
    assert "'dog' was removed" in refusal["reason"]
    change(page, "/undo", {"change": removed["change"]})
    assert page.get("/api/panel")["by_class"] == {"0": 0, "1": 12, "2": 0}
    assert page.get("/api/next")["questions"] == []


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/9/rename", {"name": "x"}, 404),
        (f"/{'9' * 5000}/rename", {"name": "x"}, 404),
        ("/x/remove", {"labels": 0}, 404),
        ("/0/rename", {"name": " "}, 400),
        ("/0/merge", {"into": "1"}, 400),
        ("/0/merge", {"into": 0}, 409),
        ("/0/merge", {"into": 77}, 409),
        ("/0/remove", {"labels": True}, 400),
        ("/0/remove", {}, 400),
        ("/undo", {"change": 99}, 409),
        ("/undo", {"change": -1}, 400),
        ("/undo", {"change": 10**30}, 400),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(page: Served, path: str, body: Any, status: int) -> None:
    answer = change(page, path, body, status)
    assert set(answer) >= {"error", "kind"}
    assert classes(page) == {0: "cat", 1: "dog", 2: "cow"}


def test_changes_of_classes_last_through_a_restart(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with served(project) as here:
        here.act(label(0, 1))
        change(here, "/1/merge", {"into": 0})
        change(here, "", {"name": "cow"})
    with served(project) as here:
        assert classes(here) == {0: "cat", 2: "cow"}
        assert here.get("/api/panel")["by_class"] == {"0": 1, "2": 0}
        change(here, "/undo", {"change": 3})
        assert classes(here) == {0: "cat", 1: "dog", 2: "cow"}


def guessed(project: Project, **more: Any) -> RunDir:
    """Begin a model that is sure of half of its guesses, of cats and dogs in turn."""
    run = begin_model(project)
    sure = np.where(np.arange(60) < 30, 0.8, 0.97).astype(np.float32)
    commit(run, 1, make_ranking([item % 2 for item in range(60)], known=9, confidence=sure, **more))
    return run


def exported(here: Served, **params: Any) -> list[dict[str, str]]:
    text = here.client.get("/api/export/csv", params=params).text
    return [row for row in csv.DictReader(io.StringIO(text)) if row["source"] == "pseudo"]


def test_panel_guesses_and_exports_count_the_same_guesses_whatever_was_trained_on(tmp_path: Path) -> None:
    project = small_project(tmp_path, 60, audit=0.2)
    reserve = set(project.audit_reserve().tolist())
    with guessed(project, member=np.arange(60) % 3 == 0), served(project) as here:
        known = next(item for item in range(30, 60, 2) if item not in reserve)
        here.act(label(known, 0), {"uid": "v", "item": 41, "kind": "veto", "class": 1, "why": "guesses"})
        panel, page = here.get("/api/panel"), here.get("/api/guesses", **{"class": 0})
        assert panel["threshold"] == page["threshold"] == 0.95
        assert panel["pseudo"] == sum(page["counts"].values()) == 28
        assert page["counts"] == {"0": 14, "1": 14}
        assert page["total"] == 14
        kept = set(range(30, 60, 2)) & reserve  # they count, but whoever mended them would spoil the audit
        assert page["kept"] == len(kept) > 0
        assert {one["item"] for one in page["items"]} == set(range(30, 60, 2)) - kept - {known}
        everything = here.get("/api/guesses", **{"class": 1, "least": 0.5})
        assert everything["total"] == 29
        levels = here.get("/api/guess-levels")
        assert levels["default"] == 0.95
        assert {one["confidence"]: one["guesses"] for one in levels["levels"]} == {
            0.0: 58, 0.5: 58, 0.6: 58, 0.7: 58, 0.8: 58, 0.9: 28, 0.95: 28, 0.99: 0,
        }  # fmt: skip
        assert levels["levels"][0] | {"guesses": 0} == {
            "confidence": 0.0, "guesses": 0, "n": 0, "errors": 0, "estimate": None, "low": None, "high": None,
        }  # fmt: skip
        assert exported(here, guesses="none") == []
        assert len(exported(here)) == len(exported(here, guesses=0.95)) == panel["pseudo"]
        assert len(exported(here, guesses=0.5)) == 58


def test_levels_tell_the_error_on_audit_images(tmp_path: Path) -> None:
    project = small_project(tmp_path, 60, audit=0.2)
    with guessed(project), served(project) as here:
        items = project.audit_reserve().tolist()[:12]
        here.act(*(label(item, item % 2 if item >= 30 else 1 - item % 2) for item in items))  # wrong where not sure
        levels = {one["confidence"]: one for one in here.get("/api/guess-levels")["levels"]}
        sure = sum(item >= 30 for item in items)
        assert (levels[0.5]["n"], levels[0.5]["errors"]) == (12, 12 - sure)
        assert (levels[0.95]["n"], levels[0.95]["errors"], levels[0.95]["estimate"]) == (sure, 0, 0.0)
        assert levels[0.95]["low"] == 0.0 < levels[0.95]["high"] < 1.0


def test_headline_and_chart_of_the_error_are_one_number(tmp_path: Path) -> None:
    project = small_project(tmp_path, 60, audit=0.2)
    with begin_model(project) as run:
        commit(run, 0, make_ranking([0] * 60, known=5), audit=8, audit_errors=6)
        commit(run, 1, make_ranking([0] * 60, known=9), audit=8, audit_errors=5)
        commit(run, 2, make_ranking([0] * 60, known=9), audit=8, audit_errors=6)
        with served(project) as here:
            assert (here.get("/api/panel")["audit"], here.get("/api/panel")["history"]) == (None, [])
            for item in project.audit_reserve().tolist()[:5]:
                panel = here.act(label(item, item % 2))["panel"]
                audit = panel["audit"]
                assert audit["labels"] == 9
                assert panel["history"][-1] == {name: audit[name] for name in ("labels", "estimate", "low", "high")}
                assert [point["labels"] for point in panel["history"]] == [5, 9]
            assert panel["audit"]["n"] == 5


def test_guesses_follow_the_classes_while_the_trainer_adapts(tmp_path: Path) -> None:
    project = small_project(tmp_path, 60)
    with guessed(project), served(project) as here:
        merged = change(here, "/1/merge", {"into": 0})
        assert here.get("/api/guesses")["counts"] == {"0": 30}
        assert here.get("/api/guess/1")["guess"]["class"] == 0
        change(here, "/undo", {"change": merged["change"]})
        change(here, "/1/remove", {"labels": 0})
        assert here.get("/api/guesses")["counts"] == {"0": 15}
        assert here.get("/api/guess/1") == {"guess": None}
        assert here.get("/api/panel")["pseudo"] == 15
        assert here.client.get("/api/guesses", params={"class": 1}).status_code == 400


def test_labels_that_are_flagged_are_counted_apart(page: Served) -> None:
    page.act(label(0, 0), {"uid": "f", "item": 0, "kind": "flag"}, {"uid": "g", "item": 1, "kind": "flag"})
    panel = page.get("/api/panel")
    assert (panel["flagged"], panel["flagged_labels"]) == (2, 1)


def test_an_act_whose_id_cannot_be_written_is_refused_by_itself(page: Served) -> None:
    body = b'{"acts": [{"uid": "\\ud800", "item": 0, "kind": "label", "class": 0}, '
    body += b'{"uid": "fine", "item": 1, "kind": "label", "class": 0}]}'
    answer = page.client.post("/api/acts", content=body, headers={**CHANGE, "Content-Type": "application/json"})
    assert answer.status_code == 200, answer.text
    assert answer.json()["saved"] == ["fine"]
    assert len(answer.json()["refused"]) == 1
    assert page.get("/api/panel")["labels"] == 1
