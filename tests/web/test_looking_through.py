"""Others like one, notes, and earlier answers by class, person and time, over real HTTP."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepbass.label.neighbours import DIMENSIONS, write_neighbours
from tests.label.projects import begin_model, commit, make_ranking
from tests.web.served import Served, label, served, small_project

ITEMS = 12


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Served]:
    """Serve a project with a model for which every item lies at its own number."""
    project = small_project(tmp_path, ITEMS)
    with begin_model(project) as run:
        commit(run, 0, make_ranking([0, 1] * 6))
        places = np.zeros((ITEMS, DIMENSIONS))
        places[:, 0] = np.arange(ITEMS)
        write_neighbours(run.path, places)
    with served(project) as here:
        yield here


def alike(item: int, class_: int, uid: str) -> dict[str, Any]:
    return label(item, class_, why="alike", uid=uid)


def test_others_like_one_are_labelled_at_once_and_one_undo_names_them_all(page: Served) -> None:
    page.act(label(3, 1, why="browse"))
    found = page.get("/api/alike/3", count=4)
    assert (found["class"], found["why_none"]) == (1, None)
    assert [(one["item"], one["distance"]) for one in found["items"]] == [(2, 1.0), (4, 1.0), (1, 2.0), (5, 2.0)]
    assert found["items"][0]["guess"]["class"] == 0
    with page.person("bob") as bob:  # labels one of them before the others arrive
        page.act(label(4, 0, why="browse"), client=bob)
    sent = [alike(one["item"], 1, f"g.{place}") for place, one in enumerate(found["items"])]
    receipt = page.act(*sent)
    assert receipt["saved"] == ["g.0", "g.2", "g.3"]
    assert [one["reason"] for one in receipt["refused"]] == ["it has got a label meanwhile"]
    assert page.act(sent[0])["saved"] == ["g.0"]  # sent twice, written once
    last = page.get("/api/last")
    assert [one["uid"] for one in last["group"]] == ["g.0", "g.2", "g.3"]
    assert [row["why"] for row in page.get("/api/history", limit=3)["acts"]] == ["alike"] * 3
    assert page.get("/api/history", limit=3)["acts"][0]["class"] == 1
    rows = list(csv.DictReader(io.StringIO(page.client.get("/api/export/csv?guesses=none").text)))
    assert {row["source"] for row in rows} == {"browse", "alike"}


def test_a_note_is_written_once_shown_and_exported(page: Served) -> None:
    note = {"uid": "n1", "item": 2, "kind": "note", "note": "=blurred, ask Bob", "why": "browse"}
    assert page.act(note, note)["saved"] == ["n1", "n1"]
    page.act(label(2, 1))
    assert page.get("/api/note/2") == {"note": "=blurred, ask Bob"}
    assert page.get("/api/note/3") == {"note": ""}
    assert [(row["kind"], row["note"]) for row in page.get("/api/history")["acts"]] == [
        ("label", "=blurred, ask Bob"),
        ("note", "=blurred, ask Bob"),
    ]
    rows = list(csv.DictReader(io.StringIO(page.client.get("/api/export/csv?guesses=none").text)))
    assert [(row["path"], row["note"]) for row in rows] == [("002.png", "=blurred, ask Bob")]
    assert '"note": "=blurred, ask Bob"' in page.client.get("/api/export/jsonl").text


def test_earlier_answers_are_found_by_class_person_and_time(page: Served) -> None:
    page.act(label(1, 0), label(2, 1))
    with page.person("bob") as bob:
        page.act(label(3, 1), client=bob)
    everyone = page.get("/api/history", who="all")
    assert everyone["people"] == ["ann", "bob"]

    def found(**query: Any) -> list[int]:
        return [row["item"] for row in page.get("/api/history", who="all", **query)["acts"]]

    first, last = everyone["acts"][-1]["at"], everyone["acts"][0]["at"]
    assert found(**{"class": 1}) == [3, 2]
    assert found(by="bob") == [3]
    assert found(by="bob", **{"class": 0}) == []
    assert found(since=last) == [3]
    assert found(until=last, since=first.replace("+00:00", "Z")) == [2, 1]
    assert found(since="2999-01-01T00:00:00+02:00") == []
    for query in ({"since": "yesterday"}, {"until": "0001-01-01T00:00:00+23:00"}, {"class": "cat"}):
        assert page.client.get("/api/history", params=query).status_code == 400
