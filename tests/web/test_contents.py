"""What texts and rows say goes to those who are let in, as plain data, and is kept while it does not change."""

from __future__ import annotations

import os
from pathlib import Path

from deepbass.label.contents import LONGEST
from tests.label.texts import TEXTS, make_text_project, row_items, text_items

from .served import served


def test_texts_are_handed_out_as_data(tmp_path: Path) -> None:
    items = text_items([*TEXTS, "half a \ud800 character"], show=("title",), broken={1: "not UTF-8"})
    project = make_text_project(tmp_path / "project", items, show=["title"])
    with served(project, items=items) as here:
        assert here.get("/api/project")["kind"] == "text"
        got = here.client.get("/content/4")
        assert got.headers["content-type"] == "application/json"
        assert got.headers["x-content-type-options"] == "nosniff"
        assert got.json() == {
            "kind": "text", "text": TEXTS[4], "beside": [["title", "Ticket 4"]], "characters": len(TEXTS[4]),
        }  # fmt: skip
        assert len(here.get("/content/5")["text"]) == LONGEST
        assert len(here.get("/content/5", part="short")["text"]) < 1000
        assert here.get("/content/6")["text"] == "half a \ud800 character"

        # what the browser has is not sent again, until the file is another one
        tag = got.headers["etag"]
        assert here.client.get("/content/4", headers={"If-None-Match": tag}).status_code == 304
        assert here.client.get("/content/4?part=short", headers={"If-None-Match": tag}).status_code == 200
        os.utime(project.source, (1, 1))
        assert here.client.get("/content/4", headers={"If-None-Match": tag}).status_code == 200

        broken = here.client.get("/content/1")
        assert broken.json() == {"kind": "text", "problem": "not UTF-8"}
        assert broken.headers["cache-control"] == "no-store"
        for path, status in (("/content/99", 404), ("/content/x", 404), ("/content/0?part=half", 400)):
            assert here.client.get(path).status_code == status
        assert "cannot be shown" in here.client.get("/image/0").text
        with here.anonymous() as stranger:
            assert stranger.get("/content/0").status_code == 401


def test_rows_are_handed_out_by_column(tmp_path: Path) -> None:
    items = row_items()
    with served(make_text_project(tmp_path / "project", items), items=items) as here:
        assert here.get("/content/1")["cells"] == [["age", 31.5], ["city", ""], ["income", 51000.25], ["note", None]]
        questions = here.get("/api/next", count=2)["questions"]
        assert {question["name"] for question in questions} == {"row 1", "row 2"}
        here.act(*({"uid": f"u{item}", "item": item, "kind": "label", "class": 0} for item in range(2)))
        assert here.get("/api/next", count=2)["empty"] == "All rows are labelled."
