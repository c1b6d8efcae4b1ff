"""Everything that is known of a project can be taken elsewhere, and says where it came from."""

from __future__ import annotations

import csv
import json
import os
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from deepbass.core.config import Config
from deepbass.core.error_law import wilson
from deepbass.core.errors import ConfigError, DataError, StoreError
from deepbass.core.labels import UNKNOWN
from deepbass.data.sources import open_source
from deepbass.exchange.exports import FORMATS, Exported, export
from deepbass.exchange.folder_names import LONGEST, file_names, folder_names
from deepbass.label.guesses import guesses_of
from deepbass.label.journal import Journal
from deepbass.label.project import Project
from deepbass.label.trained_models import newest_model
from deepbass.store.names import (
    CLASSES_FILE,
    MODEL_FOLDER,
    PEOPLE_FOLDER,
    PROJECT_DB_FILE,
)
from tests.label.projects import (
    act,
    begin_model,
    commit,
    labels,
    make_images,
    make_project,
    make_ranking,
    other,
    say,
    shade_of,
)

NAMES = [f"{'ab'[i % 2]}/{i // 2}.png" for i in range(10)]  # sorted: a/0 .. a/4, b/0 .. b/4
ODD = ["<script>alert(1)</script>", "=1+1", "a,b", '"', "a/b", "..", "CON", "Ä ö", "cat", "Cat", "x" * 100, "%41", "-1"]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path / "project", make_images(tmp_path / "images", NAMES))


@pytest.fixture
def busy(project: Project) -> Project:
    """Have everything in it: labels of all kinds, disagreement, a model with guesses."""
    act(
        project,
        say(0, 0, why="spread"),
        say(1, 1, "bob", why="audit", seconds=2.5, saw_guess=True),
        say(2, 0, "ann"),
        say(2, 1, "bob", why="twice"),  # they differ
        say(3, 0, "ann"),
        say(3, 1, "bob", why="twice"),
        other("settle", 3, "cem", class_=1),
        other("skip", 4),
        other("unsure", 5, "bob"),
        other("flag", 5, "bob"),
        say(6, 1, "ann", why="guesses"),
        other("veto", 7, class_=0),
    )
    with begin_model(project) as run:
        commit(run, 0, make_ranking([0] * 10))
        commit(run, 1, make_ranking([0, 0, 0, 0, 0, 1, 0, 0, 1, -1]), audit=1, audit_errors=1)
    act(project, say(0, 1, uid="later", why="browse"))
    return project


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# tables


def test_csv_has_every_label_with_its_source_and_annotator(busy: Project, tmp_path: Path) -> None:
    done = export(busy, "csv", tmp_path / "labels.csv", guesses=0.5)
    assert replace(done, notes=()) == Exported(tmp_path / "labels.csv", "csv", labels=4, guesses=3)
    header = (tmp_path / "labels.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header == "path,label,source,annotator,created_at,iteration,entropy,confidence,note"
    short = {row["path"]: (row["label"], row["source"], row["annotator"], row["iteration"]) for row in rows(done.path)}
    assert short == {
        "a/0.png": ("dog", "browse", "ann", "1"),
        "a/1.png": ("dog", "audit", "bob", ""),  # before there was a model
        "a/3.png": ("dog", "question", "cem", ""),  # item 2 is open: people differ
        "b/1.png": ("dog", "guesses", "ann", ""),
        "a/4.png": ("cat", "pseudo", "model", "1"),  # skipped by somebody, which is no label
        "b/0.png": ("dog", "pseudo", "model", "1"),
        "b/3.png": ("dog", "pseudo", "model", "1"),  # item 7 was vetoed, item 9 has no guess
    }
    by_path = {row["path"]: row for row in rows(done.path)}
    assert 0 < float(by_path["a/4.png"]["entropy"]) < 1 and 0 < float(by_path["a/4.png"]["confidence"]) < 1
    assert by_path["a/0.png"]["entropy"] == by_path["a/0.png"]["confidence"] == ""
    assert by_path["a/0.png"]["created_at"].endswith("+00:00")


def test_without_guesses_only_peoples_labels_are_taken(busy: Project, tmp_path: Path) -> None:
    for format_ in ("csv", "jsonl", "label-studio"):
        done = export(busy, format_, tmp_path / format_, guesses=None)
        assert (done.labels, done.guesses, done.notes) == (4, 0, ())
        assert '"pseudo"' not in done.path.read_text() and ",pseudo," not in done.path.read_text()
    assert not any(task["predictions"] for task in json.loads((tmp_path / "label-studio").read_text()))


def test_jsonl_has_all_that_was_said(busy: Project, tmp_path: Path) -> None:
    export(busy, "jsonl", tmp_path / "labels.jsonl", guesses=0.5)
    found = {row["path"]: row for row in map(json.loads, (tmp_path / "labels.jsonl").read_text().splitlines())}
    assert found["a/2.png"]["label"] is None
    assert [(a["annotator"], a["label"]) for a in found["a/2.png"]["answers"]] == [("ann", "cat"), ("bob", "dog")]
    assert [a["kind"] for a in found["a/3.png"]["answers"]] == ["label", "label", "settle"]
    assert found["a/1.png"]["answers"][0]["seconds"] == 2.5
    assert found["a/1.png"]["answers"][0]["saw_guess"] is True
    assert (found["a/4.png"]["skipped"], found["b/0.png"]["unsure"]) == (["ann"], ["bob"])
    assert [path for path, row in found.items() if row["flagged"]] == ["b/0.png"]
    assert found["a/0.png"]["guess"]["label"] == "cat"  # what the model thinks, whatever people said
    assert (found["a/0.png"]["guess"]["model"], found["a/0.png"]["guess"]["iteration"]) == ("0001", 1)
    assert {row["path"] for row in rows(export(busy, "csv", tmp_path / "l.csv", guesses=0.5).path)} == {
        path for path, row in found.items() if row["label"] is not None
    }


@pytest.mark.parametrize("least", [0.0, 0.5, 0.75, 0.8, 0.9, 0.95, 1.0])
def test_every_export_has_just_the_guesses_that_are_sure_enough(busy: Project, tmp_path: Path, least: float) -> None:
    model = newest_model(busy)
    with Journal.open(busy.labels_db, "ro") as journal:
        sure = guesses_of(model, busy.ledger(journal), least).tolist()
        names = [row.name for row in journal.items()]
    assert sure == [item for item, confidence in ((4, 0.728), (5, 0.772), (8, 0.906)) if confidence >= least]
    expected = {names[item] for item in sure}
    table = export(busy, "csv", tmp_path / "l.csv", guesses=least)
    assert {row["path"] for row in rows(table.path) if row["source"] == "pseudo"} == expected
    lines = export(busy, "jsonl", tmp_path / "l.jsonl", guesses=least)
    objects = [json.loads(line) for line in lines.path.read_text().splitlines()]
    assert {row["path"] for row in objects if row["source"] == "pseudo"} == expected
    studio = export(busy, "label-studio", tmp_path / "l.json", guesses=least)
    assert {t["data"]["path"] for t in json.loads(studio.path.read_text()) if t["predictions"]} == expected
    images = export(busy, "imagefolder", tmp_path / "l", guesses=least)
    assert len(list((images.path / MODEL_FOLDER).rglob("*.png"))) == len(expected)
    for done in (table, lines, studio, images):
        assert (done.labels, done.guesses) == (4, len(expected))
        assert done.notes[0].startswith(f"{len(expected)} guess{'' if len(expected) == 1 else 'es'} at least ")


def test_unless_otherwise_said_guesses_are_labels_from_95_percent_on(busy: Project, tmp_path: Path) -> None:
    assert export(busy, "csv", tmp_path / "l.csv").guesses == 0
    with begin_model(busy, name="0002") as run:
        commit(run, 0, make_ranking([0] * 10, confidence=np.array([0.95] * 9 + [0.9499], np.float32)))
    assert export(busy, "csv", tmp_path / "l2.csv").guesses == 3  # 4, 5 and 8; 7 was vetoed, 9 is not sure enough


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_a_threshold_is_a_share(busy: Project, tmp_path: Path, wrong: float) -> None:
    with pytest.raises(ConfigError, match=r"guesses = .* between 0 and 1"):
        export(busy, "csv", tmp_path / "l.csv", guesses=wrong)


def test_a_guess_counts_whether_or_not_it_was_trained_on_but_not_where_the_image_is_gone(tmp_path: Path) -> None:
    names = [f"{i:03}.png" for i in range(40)]
    images = make_images(tmp_path / "images", names, side=2)
    project = make_project(tmp_path / "project", images, audit=0.1)
    assert len(project.audit_reserve()) >= 2  # is never trained on, and guessed at like all others
    sure = np.full(40, 0.97, dtype=np.float32)
    sure[7] = 0.9
    with begin_model(project) as run:
        commit(run, 0, make_ranking([1] * 40, confidence=sure, member=np.arange(40) % 2 == 0))
    found = {row["path"] for row in rows(export(project, "csv", tmp_path / "labels.csv").path)}
    assert found == set(names) - {names[7]}
    (images / names[3]).unlink()
    with Journal.open(project.labels_db) as journal:
        project.take_up(journal, project.open_items())
    found = {row["path"] for row in rows(export(project, "csv", tmp_path / "later.csv").path)}
    assert found == set(names) - {names[3], names[7]}


def test_an_export_says_how_often_guesses_that_sure_are_wrong(tmp_path: Path) -> None:
    names = [f"{i:03}.png" for i in range(100)]
    project = make_project(tmp_path / "project", make_images(tmp_path / "images", names, side=2), audit=0.1)
    reserve = project.audit_reserve().tolist()
    audited = reserve[:20]
    act(project, *[say(item, 1, why="audit") for item in audited])
    guess, confidence = np.ones(100, np.int16), np.full(100, 0.99, np.float32)
    guess[audited[:3]] = 0
    confidence[audited[1:8]] = 0.9  # of 13 that are surer, one is wrong
    with begin_model(project) as run:
        commit(run, 0, make_ranking(guess.tolist(), confidence=confidence))
    bound = f"{100 * wilson(1, 13).high:.1f} %"
    assert export(project, "csv", tmp_path / "l.csv").notes == (
        f"80 guesses at least 95 % sure; of 13 audit images that sure, 1 was wrong: 7.7 %, at most {bound}",
    )
    assert "of 20 audit images that sure, 3 were wrong: 15.0 %" in export(
        project, "jsonl", tmp_path / "l.jsonl", guesses=0.5
    ).notes[0]  # fmt: skip
    (note,) = export(project, "csv", tmp_path / "m.csv", guesses=0.995).notes
    assert note == (
        "0 guesses at least 99.5 % sure; no audit image that sure has an answer, so how often they are wrong is not "
        "known"
    )


def test_labels_of_flagged_images_are_exported_and_counted(busy: Project, tmp_path: Path) -> None:
    assert export(busy, "csv", tmp_path / "1.csv", guesses=None).notes == ()  # item 5 is flagged, and has no label
    assert (
        "1 label of flagged images is among those exported"
        in export(busy, "csv", tmp_path / "2.csv", guesses=0.5).notes
    )
    act(busy, other("flag", 1), other("flag", 6))
    done = export(busy, "jsonl", tmp_path / "3.jsonl", guesses=0.5)
    assert "3 labels of flagged images are among those exported" in done.notes
    found = [json.loads(line) for line in done.path.read_text().splitlines()]
    assert [row["path"] for row in found if row["flagged"] and row["label"]] == ["a/1.png", "b/0.png", "b/1.png"]


def test_odd_class_names_and_paths_are_data_in_every_table(tmp_path: Path) -> None:
    names = ["=cmd.png", "a,b.png", 'q"q.png', "new\nline.png", "ünï.png", " blank.png", "#?&%.png", "<b>.png"]
    project = make_project(tmp_path / "project", make_images(tmp_path / "images", names), ODD)
    assert sorted(names) == [row.name for row in _items(project)]
    act(project, *[say(item, item) for item in range(len(names))])
    expected = dict(zip(sorted(names), ODD, strict=False))
    assert {row["path"]: row["label"] for row in rows(export(project, "csv", tmp_path / "l.csv").path)} == expected
    lines = export(project, "jsonl", tmp_path / "l.jsonl").path.read_text(encoding="utf-8").split("\n")
    assert {row["path"]: row["label"] for row in (json.loads(line) for line in lines if line)} == expected
    assert labels(project) == expected


# Label Studio


def test_label_studio_gets_annotations_predictions_and_skips(busy: Project, tmp_path: Path) -> None:
    export(busy, "label-studio", tmp_path / "tasks.json", guesses=0.5)
    tasks = {task["data"]["path"]: task for task in json.loads((tmp_path / "tasks.json").read_text())}
    assert len(tasks) == 10  # those without a label as well: they can be labelled there
    task = tasks["a/1.png"]
    assert task["data"]["image"] == "/data/local-files/?d=images/a/1.png"
    annotation = task["annotations"][0]
    assert annotation["completed_by"] == {"email": "bob"}
    assert (annotation["was_cancelled"], annotation["lead_time"]) == (False, 2.5)
    assert annotation["result"][0]["value"] == {"choices": ["dog"]}
    assert (annotation["result"][0]["from_name"], annotation["result"][0]["to_name"]) == ("label", "image")
    assert annotation["result"][0]["type"] == "choices"
    assert [one["ground_truth"] for one in tasks["a/3.png"]["annotations"]] == [False, False, True]
    assert [one["was_cancelled"] for one in tasks["a/4.png"]["annotations"]] == [True]
    prediction = tasks["a/4.png"]["predictions"][0]
    assert prediction["model_version"] == "0001/1"
    assert 0 < prediction["score"] < 1
    assert prediction["result"][0]["value"] == {"choices": ["cat"]}
    assert tasks["a/0.png"]["predictions"] == []


def test_label_studio_images_can_be_below_any_address(busy: Project, tmp_path: Path) -> None:
    export(busy, "label-studio", tmp_path / "tasks.json", url_prefix="https://example.org/i/")
    assert json.loads((tmp_path / "tasks.json").read_text())[0]["data"]["image"] == "https://example.org/i/a/0.png"


# folders of images


def read_back(folder: Path, seed: int = 0) -> dict[str, list[str]]:
    """Read a folder with deepbass's own reader: the labels it finds, and the shades of grey of each."""
    source = open_source(str(folder), Config.of({"seed": seed}), None, progress=False)
    assert source.validation is None
    found: dict[str, list[str]] = {}
    for label, name in zip(np.asarray(source.train.y).tolist(), source.train.names, strict=True):
        assert label not in ("", str(UNKNOWN))
        found.setdefault(label, []).append(name)
    return found


def test_image_folders_are_read_by_deepbass_with_the_same_labels_peoples_apart_from_the_models(
    busy: Project, tmp_path: Path
) -> None:
    done = export(busy, "imagefolder", tmp_path / "out", guesses=0.5)
    assert (done.labels, done.guesses) == (4, 3)
    table = rows(export(busy, "csv", tmp_path / "labels.csv", guesses=0.5).path)
    images = tmp_path / "images"
    for part, is_guess in ((PEOPLE_FOLDER, False), (MODEL_FOLDER, True)):
        shades: dict[str, list[int]] = {}
        for row in table:
            if (row["source"] == "pseudo") == is_guess:
                shades.setdefault(row["label"], []).append(shade_of(images / row["path"]))
        found = read_back(done.path / part)
        assert {
            label: sorted(shade_of(done.path / part / name) for name in names) for label, names in found.items()
        } == {label: sorted(of_label) for label, of_label in shades.items()}
    assert json.loads((done.path / CLASSES_FILE).read_text()) == {"cat": "cat", "dog": "dog"}
    only = export(busy, "imagefolder", tmp_path / "people", guesses=None)
    assert sorted(path.name for path in only.path.iterdir()) == [CLASSES_FILE, PEOPLE_FOLDER]


def test_files_of_one_name_from_different_folders_do_not_collide(tmp_path: Path) -> None:
    names = ["a/x.png", "b/x.png", "a-x.png", "c/X.PNG", "y.png"]
    project = make_project(tmp_path / "project", make_images(tmp_path / "images", names))
    act(project, *[say(item, item // 4) for item in range(5)])
    done = export(project, "imagefolder", tmp_path / "out")
    assert (done.path / PEOPLE_FOLDER / "cat").is_dir()
    found = {shade_of(path) for path in done.path.rglob("*") if path.is_file() and path.suffix.lower() == ".png"}
    assert found == {shade_of(tmp_path / "images" / name) for name in names}
    assert (done.path / PEOPLE_FOLDER / "dog" / "y.png").exists()


def test_every_class_name_has_a_folder_that_is_read_back_or_explained(tmp_path: Path) -> None:
    names = [f"{i:02}.png" for i in range(len(ODD))]
    project = make_project(tmp_path / "project", make_images(tmp_path / "images", names), ODD)
    act(project, *[say(item, item) for item in range(len(ODD))])
    done = export(project, "imagefolder", tmp_path / "out")
    classes = json.loads((done.path / CLASSES_FILE).read_text())
    assert sorted(classes.values()) == sorted(ODD)
    found = read_back(done.path / PEOPLE_FOLDER)
    assert {classes[folder]: [Path(name).name for name in inside] for folder, inside in found.items()} == {
        class_: [name] for class_, name in zip(ODD, names, strict=True)
    }
    assert {"=1+1", "a,b", "Ä ö", "cat"} <= found.keys()  # what can be a folder's name is one


def test_classes_called_train_and_test_are_not_taken_for_parts_of_the_data(tmp_path: Path) -> None:
    project = make_project(
        tmp_path / "project", make_images(tmp_path / "images", ["1.png", "2.png"]), ["train", "test"]
    )
    act(project, say(0, 0), say(1, 1))
    assert len(read_back(export(project, "imagefolder", tmp_path / "out").path / PEOPLE_FOLDER)) == 2


@given(st.lists(st.text(max_size=300), max_size=12, unique=True))
def test_folder_names_are_safe_and_apart_for_any_text(classes: list[str]) -> None:
    classes = [class_ for class_ in classes if not any("\ud800" <= letter <= "\udfff" for letter in class_)]
    names = folder_names(classes)
    assert list(names) == classes
    folded = [unicodedata.normalize("NFC", name).casefold() for name in names.values()]
    assert len(set(folded)) == len(folded)
    for name in names.values():
        assert name and len(name.encode()) <= LONGEST + 10
        assert not set(name) & set('/\\<>:"|?*\x00\n')
        assert not name.startswith((".", " ")) and not name.endswith((".", " "))
        assert name.partition(".")[0].upper() not in ("CON", "NUL", "AUX", "PRN", "COM1", "LPT1")


@given(st.lists(st.from_regex(r"([a-cA-C]{1,2}/){0,2}[xX]{1,2}\.(png|PNG)", fullmatch=True), unique=True))
def test_file_names_are_apart_and_keep_their_suffix(paths: list[str]) -> None:
    names = file_names(paths)
    assert list(names) == paths
    assert len({name.casefold() for name in names.values()}) == len(paths)
    assert all(name.lower().endswith(".png") and "/" not in name for name in names.values())


def test_plain_names_stay_as_they_are() -> None:
    plain = ["cat", "Großer Hund", "猫", "a-b_c.d", "=1+1", "100 percent"]
    assert folder_names(plain) == {name: name for name in plain}
    assert folder_names(["a/b", "..", "CON", "con.x", "", "50%", "-1"]) == {
        "a/b": "a%2Fb",
        "..": "%2E%2E",
        "CON": "%43ON",
        "con.x": "%63on.x",
        "": "%",
        "50%": "50%25",
        "-1": "%2D1",
    }
    assert file_names(["train/1", "train/2"], ".png") == {"train/1": "train-1.png", "train/2": "train-2.png"}


def test_hard_links_share_their_bytes_with_the_source(busy: Project, tmp_path: Path) -> None:
    done = export(busy, "imagefolder", tmp_path / "out", link=True, guesses=0.5)
    linked = list(done.path.rglob("*.png"))
    assert len(linked) == 7
    assert all(path.stat().st_nlink == 2 for path in linked)
    copied = export(busy, "imagefolder", tmp_path / "copy", guesses=0.5)
    assert all(path.stat().st_nlink == 1 for path in copied.path.rglob("*.png"))


def test_arrays_become_png_files(tmp_path: Path) -> None:
    X = np.arange(4 * 6 * 5, dtype=np.uint8).reshape(4, 6, 5)
    np.savez(tmp_path / "data.npz", X=X, y=np.full(4, -1))
    project = make_project(tmp_path / "project", tmp_path / "data.npz")
    act(project, say(0, 0), say(1, 1), say(2, 1))
    done = export(project, "imagefolder", tmp_path / "out")
    assert read_back(done.path / PEOPLE_FOLDER) == {
        "cat": ["cat/train-0.png"],
        "dog": ["dog/train-1.png", "dog/train-2.png"],
    }
    with Image.open(done.path / PEOPLE_FOLDER / "dog" / "train-2.png") as image:
        assert np.array_equal(np.asarray(image), X[2])
    notes = export(project, "label-studio", tmp_path / "tasks.json").notes
    assert any("imagefolder" in note for note in notes)


def test_images_that_are_gone_or_lead_out_of_the_folder_are_left_out_and_named(busy: Project, tmp_path: Path) -> None:
    (tmp_path / "images" / "a" / "0.png").unlink()
    make_images(tmp_path, ["secret.png"])
    (tmp_path / "images" / "a" / "1.png").unlink()
    (tmp_path / "images" / "a" / "1.png").symlink_to(tmp_path / "secret.png")
    for link in (True, False):
        done = export(busy, "imagefolder", tmp_path / f"out{link}", link=link, guesses=0.5)
        assert "a/0.png" in done.notes[0] and "a/1.png" in done.notes[0]
        assert len(list(done.path.rglob("*.png"))) == 5
    assert len(rows(export(busy, "csv", tmp_path / "labels.csv", guesses=0.5).path)) == 7  # what was said is not lost


def test_a_copy_does_not_become_part_of_the_source(busy: Project, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="would become new images"):
        export(busy, "imagefolder", tmp_path / "images" / "out")
    with pytest.raises(StoreError, match="would become new images"):
        export(busy, "imagefolder", tmp_path / "images", force=True)


def test_without_labels_there_is_no_folder_to_fill(project: Project, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no labels yet"):
        export(project, "imagefolder", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert rows(export(project, "csv", tmp_path / "empty.csv").path) == []


# targets


@pytest.mark.parametrize("format_", [format_ for format_ in FORMATS if format_ not in ("textfolder", "textfiles")])
def test_what_is_there_is_not_overwritten_unless_forced(busy: Project, tmp_path: Path, format_: str) -> None:
    out = tmp_path / "out"
    export(busy, format_, out)
    before = _everything(out)
    act(busy, say(8, 0))
    with pytest.raises(StoreError, match="--force"):
        export(busy, format_, out)
    assert _everything(out) == before
    export(busy, format_, out, force=True)
    assert format_ == "model" or _everything(out) != before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("format_", ["imagefolder", "model"])
def test_force_deletes_no_folder_that_is_no_export(busy: Project, tmp_path: Path, format_: str) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    export(busy, format_, mine)  # an empty folder is free
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("years of work")
    with pytest.raises(StoreError, match="no earlier export"):
        export(busy, format_, tmp_path / "other", force=True)
    assert (tmp_path / "other" / "thesis.tex").read_text() == "years of work"


def test_an_export_that_fails_leaves_nothing_and_keeps_what_was_there(
    busy: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(busy, "csv", tmp_path / "labels.csv")
    export(busy, "imagefolder", tmp_path / "out")
    before = _everything(tmp_path)

    def full(*args: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("deepbass.exchange.exports.write_csv", full)
    monkeypatch.setattr("deepbass.exchange.exports.write_folder", full)
    for format_, out in (("csv", "labels.csv"), ("imagefolder", "out"), ("csv", "new.csv"), ("imagefolder", "new")):
        with pytest.raises(StoreError, match=r"No space left on device.*room"):
            export(busy, format_, tmp_path / out, force=True)
    assert _everything(tmp_path) == before


def test_a_file_and_a_folder_are_not_mixed_up(busy: Project, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="is a folder"):
        export(busy, "csv", tmp_path / "folder", force=True)
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="is a file"):
        export(busy, "imagefolder", tmp_path / "file", force=True)
    assert export(busy, "csv", tmp_path / "new" / "deep" / "labels.csv").path.is_file()


def test_an_unknown_format_is_refused_with_a_hint(project: Project, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Did you mean 'jsonl'"):
        export(project, "json", tmp_path / "out")


def test_exports_work_while_a_server_writes(busy: Project, tmp_path: Path) -> None:
    with busy.lock(), Journal.open(busy.labels_db) as journal:
        journal.write([say(8, 0, "eve")])
        found = {row["path"]: row["annotator"] for row in rows(export(busy, "csv", tmp_path / "labels.csv").path)}
        assert found["b/3.png"] == "eve"
        export(busy, "imagefolder", tmp_path / "out")


@pytest.mark.skipif(
    os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_place_that_may_not_be_written_is_said(busy: Project, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(StoreError, match="Permission denied"):
        export(busy, "csv", tmp_path / "locked" / "labels.csv")


def _items(project: Project) -> list[Any]:
    with Journal.open(project.labels_db, "ro") as journal:
        return journal.items()


def _everything(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    return {str(file): file.read_bytes() for file in files if file.is_file() and PROJECT_DB_FILE not in file.name}
