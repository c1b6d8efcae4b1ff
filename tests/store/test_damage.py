"""What is not as it was written is refused: by its name, its place, and what to do next."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepbass.core.errors import StoreError
from deepbass.core.labels import NO_ANSWERS, NO_IDS
from deepbass.store import Events, RunDir
from deepbass.store.names import LABELS_FILE, LEARNER_FILE, RUN_DB_FILE, RUN_FILE

DATA = {"name": "toy", "source": "toy", "samples": 9, "shape": [2], "classes": ["red", "blue"], "notes": []}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with RunDir.create(tmp_path / "run", config={"iterations": 3}, data=DATA, versions={"engine": "torch"}) as run:
        run.checkpoints.save(0, {LABELS_FILE: b"labels"}, {})
        run.events.describe(0, "first", np.zeros((2, 3), dtype=np.uint8))
        run.events.commit_step(0, {"known": 2, "loss": None}, {"train": 1.5}, NO_IDS, NO_ANSWERS, "simulated")
    return tmp_path / "run"


def change(path: Path, **parts: Any) -> None:
    """Change fields of objects in run.json; None takes one out."""
    about = json.loads((path / RUN_FILE).read_bytes())
    for part, fields in parts.items():
        about[part] = {name: value for name, value in {**about[part], **fields}.items() if value is not None}
    (path / RUN_FILE).write_text(json.dumps(about))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"data": {"classes": 2}}, r"data\.classes = 2 is not a list"),
        ({"data": {"classes": ["red", 2]}}, r"data\.classes\[1\] = 2 is not text"),
        ({"data": {"shape": [1, 2.5]}}, r"data\.shape\[1\] = 2\.5 is not a whole number"),
        ({"data": {"source": 7}}, r"data\.source = 7 is not text or null"),
        ({"data": {"name": "\ud800"}}, "surrogates not allowed"),
        ({"config": {"iterations": "many"}}, r"config\.iterations = 'many' is not a whole number"),
        ({"versions": {"engine": []}}, r"versions\.engine = \[\] is not text"),
    ],
)
def test_a_wrong_field_of_run_json_is_named(run: Path, parts: dict[str, Any], message: str) -> None:
    change(run, **parts)
    with pytest.raises(StoreError, match=rf"run\.json was changed or is damaged: .*{message}.*\. Restore it"):
        RunDir.open(run, lock=False)


def test_a_missing_field_is_named_by_whoever_needs_it(run: Path) -> None:
    change(run, data={"classes": None})
    with RunDir.open(run, lock=False) as opened:
        assert opened.about["data"].get("classes") is None
        with pytest.raises(StoreError, match=r"run\.json was changed or is damaged: classes is missing\. Restore it"):
            opened.about["data"]["classes"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"CREATE TABLE answers", b"CREATE TABLE answerz"),
        (b"CHECK (sample >= 0)", b"CHECK (sample >= 1)"),
        (b"metrics TEXT", b"metricz TEXT"),
        (b"row.id <= answers_until", b"row.id <= answers_unti1"),
        (b"questions are only ever added", b"questions are only ever bdded"),
    ],
)
def test_one_changed_byte_in_the_schema_is_noticed(run: Path, old: bytes, new: bytes) -> None:
    content = (run / RUN_DB_FILE).read_bytes()
    assert old in content
    (run / RUN_DB_FILE).write_bytes(content.replace(old, new, 1))
    with pytest.raises(StoreError, match=r"run\.db"):
        Events(run / RUN_DB_FILE, "ro")


def test_a_view_of_the_users_own_does_no_harm_but_a_trigger_of_ours_that_is_gone_does(run: Path) -> None:
    with closing(sqlite3.connect(run / RUN_DB_FILE)) as db:
        db.execute("CREATE VIEW mine AS SELECT * FROM steps")
        Events(run / RUN_DB_FILE, "ro").close()
        db.execute("DROP TRIGGER answers_no_DELETE")
    with pytest.raises(StoreError, match=r"has not the tables of format \d: it belongs to another version"):
        Events(run / RUN_DB_FILE, "ro")


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("metrics", "{", "iteration 0 is not a readable step"),
        ("metrics", "[" * 3000, "iteration 0 is not a readable step"),
        ("metrics", '{"known": %s}' % ("9" * 5000), "iteration 0 is not a readable step"),
        ("metrics", '{"known": "2"}', "known = '2' is not a number or null"),
        ("seconds", '{"train": null}', "train = None is not a number"),
    ],
)
def test_numbers_that_are_none_are_refused(run: Path, column: str, value: str, message: str) -> None:
    with closing(sqlite3.connect(run / RUN_DB_FILE)) as db, db:
        ((trigger,),) = db.execute("SELECT sql FROM sqlite_schema WHERE name = 'steps_no_UPDATE'").fetchall()
        db.execute("DROP TRIGGER steps_no_UPDATE")
        db.execute(f"UPDATE steps SET {column} = ?", (value,))
        db.execute(trigger)
    with RunDir.open(run, lock=False) as opened, pytest.raises(StoreError, match=message):
        opened.events.steps()


@pytest.mark.parametrize("value", [b"", b"no array", b"\x93NUMPY\1\0"])
def test_a_picture_that_is_none_is_refused(run: Path, value: bytes) -> None:
    with closing(sqlite3.connect(run / RUN_DB_FILE)) as db, db:
        db.execute("UPDATE samples SET picture = ?", (value,))
    with (
        RunDir.open(run, lock=False) as opened,
        pytest.raises(StoreError, match="The picture of 'first' is not a readable array of pixels"),
    ):
        opened.events.descriptions()


def test_a_file_that_a_checkpoint_lacks_is_named(run: Path) -> None:
    with RunDir.open(run, lock=False) as opened:
        checkpoint = opened.checkpoints.load(0)
    assert checkpoint.files == {LABELS_FILE: b"labels"}
    with pytest.raises(StoreError, match=r"Checkpoint .*000000 is damaged: learner\.safetensors is missing"):
        checkpoint.files[LEARNER_FILE]
