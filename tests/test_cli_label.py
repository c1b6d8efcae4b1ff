"""The commands with people in them, as a user types them: label's beginnings, export, import, people."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from deepbass.cli import app
from deepbass.cli.annotator import annotator_name
from deepbass.cli.shares import share
from deepbass.core.errors import StoreError
from deepbass.label import opening
from deepbass.label.items import Items
from deepbass.label.journal import Journal
from deepbass.label.opening import default_path
from deepbass.label.passwords import check_password
from deepbass.label.project import Project
from deepbass.web import server
from deepbass.web.server import Ready
from tests.label.projects import act, begin_model, commit, labels, make_images, make_project, make_ranking, other, say
from tests.web.served import small_project


def invoke(*words: object, stdin: str | None = None) -> tuple[int, str]:
    """Call the command in this process; return its exit code and all it said."""
    result = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, " ".join(result.output.split())


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Put in the place of the server something that only notes how it was started."""
    calls: list[dict[str, Any]] = []

    def note(project: Project, items: Items, listening: Any, address: Any, **more: Any) -> None:
        on_ready = more.pop("on_ready")
        with pytest.raises(StoreError, match="in use by process"):  # the lock is handed on, and never let go
            project.lock()
        assert more.pop("lock").is_locked
        on_ready(Ready("http://127.0.0.1:1/?token=t", project.path, 3, ["zebra"], ["a.png", "b.png"], lambda: None))
        calls.append({"project": project, "items": items, "address": address, **more})

    monkeypatch.setattr(server, "serve", note)
    return calls


# label


def test_texts_of_a_table_are_begun_with_and_gone_on_with_without_their_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[dict[str, Any]]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tickets.csv").write_text("title,body,kind\nA,it broke,bug\nB,how?,\n")
    options = ("--text", "body", "--target", "kind", "--show", "title, kind", "--classes", "bug,question,praise")
    code, said = invoke("label", "tickets.csv", "--no-browser", *options)
    assert code == 0, said
    assert "3 labels came with the texts" in said
    project = started[0]["project"]
    assert project.path == tmp_path / "labels" / "tickets"
    assert labels(project) == {"row 1": "bug"}
    code, said = invoke("label", project.path, "--no-browser")
    assert code == 0, said
    shown = started[1]["items"].read("row 2")
    assert (shown.text, shown.columns) == ("how?", (("title", "B"), ("kind", None)))
    code, said = invoke("label", "tickets.csv", "--text", "bodi", "--project", "other", "--no-browser")
    assert code != 0
    assert "has no column 'bodi'. Did you mean 'body'?" in said
    code, said = invoke("export", project.path, "--format", "textfolder", "--out", "texts")
    assert code == 0, said
    assert Path("texts", "people", "bug", "row 1.txt").read_text() == "it broke"


def test_a_project_is_begun_below_the_current_folder_and_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[dict[str, Any]]
) -> None:
    monkeypatch.chdir(tmp_path)
    make_images(tmp_path / "pets", ["cat/1.png", "dog/2.png", "3.png"])
    code, said = invoke("label", "pets", "--no-browser", "--target-error", "5%", "--audit", "0.2", "--annotator", "Eva")
    assert code == 0, said
    project = started[0]["project"]
    assert project.path == tmp_path / "labels" / "pets"
    assert (project.settings.target_error, project.settings.audit) == (0.05, 0.2)
    assert labels(project) == {"cat/1.png": "cat", "dog/2.png": "dog"}
    assert started[0]["annotator"] == "Eva"
    assert started[0]["browser"] is False
    assert "token=t" in said
    assert "3 labels came with the images" in said
    assert "zebra" in said
    assert (
        "2 images with a label changed since the project was last opened, and their labels stay: a.png and b.png."
        in said
    )
    assert f"go on with: deepbass label {project.path}" in said

    for again in ("pets", "labels/pets", tmp_path / "pets", tmp_path / "labels" / "pets"):
        code, said = invoke("label", again, "--twice", "10%", "--classes", "cat, owl,dog")
        assert code == 0, said
    project = started[-1]["project"]
    assert (project.settings.target_error, project.settings.audit, project.settings.twice) == (0.05, 0.2, 0.1)
    assert started[-1]["browser"] is True
    with Journal.open(project.labels_db, "ro") as journal:
        assert journal.classes() == ["cat", "dog", "owl"]
    assert len(started) == 5


def test_one_machine_readable_object_says_where_the_page_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[dict[str, Any]]
) -> None:
    monkeypatch.chdir(tmp_path)
    make_images(tmp_path / "pets", ["1.png"])
    result = CliRunner().invoke(app, ["label", "pets", "--json"])
    assert json.loads(result.stdout) == {
        "url": "http://127.0.0.1:1/?token=t", "project": str(tmp_path / "labels" / "pets"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--audit", "ten"], "--audit 'ten' is not a share: write 2% or 0.02."),
        (["--target-error", "-1"], "--target-error '-1' is not a share"),
        (["--target-error", "200%"], "target_error = 2.0"),
        (["--set", "batch"], "name=value"),
        (["--set", "no_such_setting=1"], "no_such_setting"),
        (["--acquire", "guesswork"], "guesswork"),
        (["--source", "elsewhere"], "--source is for projects"),
        (["--annotator", "source"], "this name stands for labels that the images bring along"),
        (["--certfile", "x.pem"], "go together"),
        (["--host", "10.0.0.1"], "--insecure-http"),
        (["--classes", "a\x00b,c"], "cannot be shown"),
    ],
)
def test_a_wrong_word_is_quoted_and_nothing_is_left_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[dict[str, Any]], words: list[str], complaint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    make_images(tmp_path / "pets", ["1.png"])
    code, said = invoke("label", "pets", "--no-browser", *words)
    assert code == 2
    assert complaint in said
    assert started == []


def test_what_is_not_there_is_said(tmp_path: Path, started: list[dict[str, Any]]) -> None:
    code, said = invoke("label", tmp_path / "nothing")
    assert code == 2
    assert "nothing" in said
    assert invoke("export", tmp_path)[0] == 2
    assert invoke("import", tmp_path, tmp_path / "x.csv")[0] == 2
    assert invoke("people", "list", tmp_path)[0] == 2


def test_no_target_can_be_chosen(tmp_path: Path, started: list[dict[str, Any]]) -> None:
    make_images(tmp_path / "pets", ["1.png"])
    code, said = invoke("label", tmp_path / "pets", "--project", tmp_path / "p", "--target-error", "none")
    assert code == 0, said
    assert started[0]["project"].settings.target_error is None


@pytest.mark.parametrize(
    ("source", "place"),
    [("mnist", "mnist"), ("some/pets", "pets"), ("v1.2", "v1.2"), ("table.csv", "table"), ("/", "images")],
)
def test_a_project_is_named_after_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").touch()
    assert default_path(source) == Path(opening.FOLDER, place)


@pytest.mark.parametrize(
    ("word", "expected"), [("2%", 0.02), ("0.02", 0.02), (" 12.5 % ", 0.125), ("0", 0.0), (".5", 0.5)]
)
def test_a_share_may_be_written_as_people_do(word: str, expected: float) -> None:
    assert share("--audit", word) == pytest.approx(expected)


def test_the_annotator_is_who_is_logged_in_or_me(monkeypatch: pytest.MonkeyPatch) -> None:
    import getpass

    monkeypatch.setattr(getpass, "getuser", lambda: "eva")
    assert annotator_name(None) == "eva"
    assert annotator_name(" Anna  B ") == "Anna B"

    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 1000")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert annotator_name(None) == "me"


# export and import


def test_labels_are_exported_without_a_server_and_imported_again(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    act(project, say(0, 0), say(1, 1))
    table = tmp_path / "out.csv"
    code, said = invoke("export", project.path, "--format", "csv", "--out", table)
    assert code == 0, said
    assert "2 labels by people" in said
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    assert {row["path"]: row["label"] for row in rows if row["label"]} == {"000.png": "cat", "001.png": "dog"}
    code, said = invoke("export", project.path, "--format", "csv", "--out", table)
    assert code == 2
    assert "--force" in said
    assert invoke("export", project.path, "--out", table, "--force")[0] == 0

    other = make_project(tmp_path / "other", project.source)
    result = CliRunner().invoke(app, ["import", str(other.path), str(table), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["added"] == 2
    assert labels(other) == {"000.png": "cat", "001.png": "dog"}
    code, said = invoke("import", other.path, table)
    assert code == 0
    assert "0 labels added, 2 were there already" in said


def test_the_models_guesses_count_from_a_threshold_on_and_what_they_are_worth_is_said(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    act(project, say(0, 0), other("flag", 0))
    with begin_model(project) as run:
        commit(run, 0, make_ranking([1] * 12, confidence=np.linspace(0.45, 1, 12, dtype=np.float32)))
    table = tmp_path / "out.csv"
    for words, count in (
        ([], 2), (["--guesses", "0.9"], 3), (["--guesses", "90%"], 3), (["--guesses", "0"], 11),
        (["--guesses", "none"], 0), (["--guesses", "None"], 0), (["--no-pseudo"], 0),
    ):  # fmt: skip
        code, said = invoke("export", project.path, "--out", table, "--force", *words)
        assert code == 0, said
        assert f"1 labels by people, {count} by the model" in said
        assert f"{count} guesses at least" in said or count == 0
        assert "1 label of flagged images is among those exported" in said
    assert "--no-pseudo" not in invoke("export", "--help")[1]
    result = CliRunner().invoke(app, ["export", str(project.path), "--out", str(table), "--force", "--json"])
    made = json.loads(result.stdout)
    assert (made["labels"], made["guesses"]) == (1, 2)
    assert made["notes"][0].startswith("2 guesses at least 95 % sure; no audit image")
    for word in ("half", "200%"):
        code, said = invoke("export", project.path, "--out", table, "--force", "--guesses", word)
        assert code == 2 and "guesses" in said


def test_an_export_is_named_after_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = small_project(tmp_path)
    act(project, say(0, 0))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for format_ in ("csv", "jsonl", "label-studio", "imagefolder"):
        code, said = invoke("export", project.path, "--format", format_)
        assert code == 0, said
    assert {path.name for path in (tmp_path / "here").iterdir()} == {
        "project.csv", "project.jsonl", "project-label-studio.json", "project-images",
    }  # fmt: skip
    code, said = invoke("export", project.path, "--format", "model")
    assert code == 2
    assert "no trained model yet" in said
    code, said = invoke("export", project.path, "--format", "excel")
    assert code == 2
    assert "excel" in said


def test_an_import_says_whose_labels_and_which_classes(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    table = tmp_path / "in.csv"
    table.write_text("path,label\n000.png,cat\n001.png,fish\nnowhere.png,cat\n")
    code, said = invoke("import", project.path, table)
    assert code == 2
    assert "--skip-unknown" in said
    code, said = invoke("import", project.path, table, "--skip-unknown")
    assert code == 2
    assert "--add-classes" in said
    code, said = invoke("import", project.path, table, "--skip-unknown", "--add-classes", "--annotator", "Ben")
    assert code == 0, said
    assert "2 labels added" in said
    assert "New classes: fish" in said
    assert "1 rows are of no image" in said
    with Journal.open(project.labels_db, "ro") as journal:
        assert {one.annotator for one in journal.acts()} == {"Ben"}


# people


def test_people_are_added_with_a_password_typed_twice_listed_and_removed(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    code, said = invoke("people", "add", project.path, "anna", stdin="correct horse\ncorrect horse\n")
    assert code == 0, said
    assert "correct horse" not in said
    assert invoke("people", "add", project.path, "ben", "--password-stdin", stdin="battery staple\n")[0] == 0
    with Journal.open(project.labels_db, "ro") as journal:
        people = journal.people()
    assert check_password("correct horse", people["anna"])
    assert check_password("battery staple", people["ben"])
    assert "horse" not in people["anna"]
    assert invoke("people", "list", project.path) == (0, "anna ben")
    assert invoke("people", "remove", project.path, "anna")[0] == 0
    result = CliRunner().invoke(app, ["people", "list", str(project.path), "--json"])
    assert json.loads(result.stdout) == {"people": ["ben"]}
    code, said = invoke("people", "remove", project.path, "anna")
    assert code == 2
    assert "'anna'" in said


@pytest.mark.parametrize(
    ("name", "typed", "complaint"),
    [("anna", "short\n", "8"), ("source", "correct horse\n", "'source'"), (" ", "correct horse\n", "no name")],
)
def test_a_name_or_password_that_will_not_do_is_refused(tmp_path: Path, name: str, typed: str, complaint: str) -> None:
    project = small_project(tmp_path)
    code, said = invoke("people", "add", project.path, name, "--password-stdin", stdin=typed)
    assert code == 2
    assert complaint in said
    assert invoke("people", "list", project.path) == (0, "")


def test_people_are_not_changed_under_an_open_page(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with project.lock():
        code, said = invoke("people", "add", project.path, "anna", "--password-stdin", stdin="correct horse\n")
    assert code == 2
    assert "in use by process" in said


def test_who_was_removed_can_log_in_no_more(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    invoke("people", "add", project.path, "anna", "--password-stdin", stdin="correct horse\n")
    invoke("people", "remove", project.path, "anna")
    with Journal.open(project.labels_db, "ro") as journal:
        assert not check_password("correct horse", journal.people().get("anna"))
        assert not check_password("", journal.people().get("anna"))
