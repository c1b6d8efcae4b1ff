"""A file per class: every line is one whole text, whatever it holds, and can be read back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbass.core.errors import StoreError
from deepbass.exchange.exports import export
from deepbass.exchange.textfiles import one_line
from deepbass.store.names import CLASSES_FILE, MODEL_FOLDER, PEOPLE_FOLDER
from tests.exchange.test_texts import labelled
from tests.label.projects import act, begin_model, commit, make_ranking, say
from tests.label.texts import TEXTS, text_items


def back(line: str) -> str:
    """Read a line again, with the one rule that the documentation has."""
    return str(json.loads('"' + line.replace('"', '\\"') + '"', strict=False))


@given(st.text(st.characters(codec="utf-8")))
def test_a_line_is_one_text_and_the_text_comes_back(text: str) -> None:
    line = one_line(text)
    assert len(f"{line}.".splitlines()) == 1
    assert back(line) == text
    assert one_line("plain words") == "plain words"


def test_texts_stand_in_the_file_of_their_class_people_apart_from_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = text_items(broken={2: "not UTF-8"})
    project = labelled(tmp_path / "p", items, monkeypatch)
    act(project, say(2, 0), say(3, 0))
    with begin_model(project, ("bug", "question")) as run:
        commit(run, 1, make_ranking([1] * len(items.names)))
    made = export(project, "textfiles", tmp_path / "out", guesses=0.0)
    files = {path.relative_to(tmp_path / "out").as_posix(): path for path in (tmp_path / "out").rglob("*.txt")}
    bugs = files[f"{PEOPLE_FOLDER}/bug.txt"].read_bytes().decode().split("\n")
    assert [back(line) for line in bugs[:-1]] == [TEXTS[0], TEXTS[3]] and bugs[-1] == ""
    assert back(files[f"{PEOPLE_FOLDER}/question.txt"].read_bytes().decode()[:-1]) == TEXTS[1]
    guessed = files[f"{MODEL_FOLDER}/question.txt"].read_bytes().decode().split("\n")[:-1]
    assert [back(line) for line in guessed] == list(TEXTS[4:])
    classes = json.loads((tmp_path / "out" / CLASSES_FILE).read_text(encoding="utf-8"))
    assert classes == {"bug.txt": "bug", "question.txt": "question"}
    assert made.notes[0] == "1 texts could not be read and are left out: row 3 (not UTF-8)"
    with pytest.raises(StoreError, match="not empty"):
        export(project, "textfiles", tmp_path / "out")
    export(project, "textfiles", tmp_path / "out", force=True, guesses=None)
    assert not (tmp_path / "out" / MODEL_FOLDER).exists()


def test_classes_may_be_called_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = labelled(tmp_path / "p", text_items(), monkeypatch)
    from deepbass.label.journal import Journal

    with Journal.open(project.labels_db) as journal:
        journal.rename_class(0, "../a/b: con", "ann")
    export(project, "textfiles", tmp_path / "out")
    (file,) = [path for path in (tmp_path / "out" / PEOPLE_FOLDER).iterdir() if path.name != "question.txt"]
    assert json.loads((tmp_path / "out" / CLASSES_FILE).read_text(encoding="utf-8"))[file.name] == "../a/b: con"
