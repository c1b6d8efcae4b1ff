"""Labels of texts and rows leave with what they are about, in forms that can be read again."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from deepbass.core.errors import ConfigError, DataError
from deepbass.exchange.exports import export
from deepbass.exchange.imports import import_labels
from deepbass.label.items import Items
from deepbass.label.project import Project
from deepbass.store.names import CLASSES_FILE, PEOPLE_FOLDER
from tests.label.projects import act, labels, other, say
from tests.label.texts import ROWS, TEXTS, make_text_project, row_items, text_items


def labelled(path: Path, items: Items, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> Project:
    """Make a project of items in memory with two labels, whose source opens as these."""
    project = make_text_project(path, items, **settings)
    monkeypatch.setattr(Project, "open_items", lambda self, folder=None: items)
    act(project, say(0, 0), say(1, 1), *([other("skip", 2)] if len(items.names) > 2 else []))
    return project


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_texts_stand_beside_their_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = labelled(tmp_path / "p", text_items(show=("stars",)), monkeypatch, show=["stars"])
    export(project, "csv", tmp_path / "l.csv")
    rows = read_csv(tmp_path / "l.csv")
    assert [(row["path"], row["label"], row["text"], row["stars"]) for row in rows] == [
        ("row 1", "bug", TEXTS[0], "0.0"),
        ("row 2", "question", TEXTS[1], "1.0"),
    ]
    export(project, "jsonl", tmp_path / "l.jsonl")
    first = json.loads((tmp_path / "l.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert (first["label"], first["text"], first["columns"]) == ("bug", TEXTS[0], {"stars": 0.0})


def test_texts_go_to_label_studio_as_tasks_with_an_interface(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = labelled(tmp_path / "p", text_items(show=("title",)), monkeypatch)
    made = export(project, "label-studio", tmp_path / "s.json")
    tasks = json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))
    assert tasks[4]["data"] == {"title": "Ticket 4", "text": TEXTS[4], "path": "row 5"}
    result = tasks[0]["annotations"][0]["result"][0]
    assert (result["to_name"], result["value"]) == ("text", {"choices": ["bug"]})
    assert any('<Text name="text" value="$text"/>' in note and '<Choice value="bug"/>' in note for note in made.notes)


def test_a_folder_of_texts_has_a_file_for_each_below_its_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = labelled(tmp_path / "p", text_items(broken={1: "not UTF-8"}), monkeypatch)
    made = export(project, "textfolder", tmp_path / "out")
    files = {path.relative_to(tmp_path / "out").as_posix(): path for path in (tmp_path / "out").rglob("*.txt")}
    assert list(files) == [f"{PEOPLE_FOLDER}/bug/row 1.txt"]
    assert files[f"{PEOPLE_FOLDER}/bug/row 1.txt"].read_bytes().decode() == TEXTS[0]
    assert (tmp_path / "out" / CLASSES_FILE).is_file()
    assert made.notes[0] == "1 texts could not be read and are left out: row 2 (not UTF-8)"


def test_columns_of_rows_stand_beside_their_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{**row, "Label": "theirs", "label_": "more"} for row in ROWS]
    project = labelled(tmp_path / "p", row_items(rows), monkeypatch)
    export(project, "csv", tmp_path / "l.csv")
    first = read_csv(tmp_path / "l.csv")[0]
    assert (first["label"], first["age"], first["city"], first["Label_"], first["income"]) == (
        "bug", "42.0", "Köln", "theirs", "",
    )  # fmt: skip
    export(project, "label-studio", tmp_path / "s.json")
    task = json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))[0]
    assert task["data"]["row"]["city"] == "Köln"
    for wrong in ("imagefolder", "textfolder"):
        with pytest.raises(ConfigError, match=re.escape("choose one of csv, jsonl, label-studio, model")):
            export(project, wrong, tmp_path / "folder")


@pytest.mark.parametrize("format_", ["csv", "jsonl", "label-studio"])
@pytest.mark.parametrize("make", [text_items, row_items])
def test_what_was_exported_comes_back_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: str, make: Any
) -> None:
    project = labelled(tmp_path / "p", make(), monkeypatch)
    file = tmp_path / ("l.jsonl" if format_ == "jsonl" else "l.out")
    export(project, format_, file)
    (tmp_path / "other").mkdir()
    empty = make_text_project(tmp_path / "other" / "p", make())
    assert import_labels(empty, file, "bob").added == 2
    assert labels(empty) == {"row 1": "bug", "row 2": "question"}


def test_without_their_source_labels_leave_alone_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = labelled(tmp_path / "p", text_items(), monkeypatch)

    def gone(self: Project, folder: Path | None = None) -> Items:
        raise DataError("The texts are gone.")

    monkeypatch.setattr(Project, "open_items", gone)
    made = export(project, "csv", tmp_path / "l.csv")
    assert made.notes[0] == "labels are exported without what they are about: The texts are gone."
    assert [row["label"] for row in read_csv(tmp_path / "l.csv")] == ["bug", "question"]
    with pytest.raises(DataError, match="cannot be read"):
        export(project, "textfolder", tmp_path / "out")
