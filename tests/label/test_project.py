"""A project is a directory: made once, written by one, and what it drew at random stays drawn."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from deepbass.core.errors import ConfigError, DataError, StoreError
from deepbass.core.raw_samples import Kind
from deepbass.label.acts import NewAct
from deepbass.label.journal import Journal
from deepbass.label.ledger import Ledger
from deepbass.label.project import MissingLabels, Project, Settings
from deepbass.store.names import PROJECT_FILE
from tests.data.pictures import save_noise


@dataclass(frozen=True)
class Listing:
    """Names and labels, of nothing that exists."""

    names: Sequence[str]
    labels: Mapping[int, str] = field(default_factory=dict)
    kind: Kind = "image"


def numbered(count: int) -> Listing:
    return Listing([f"{number}.png" for number in range(count)])


def make(path: Path, items: Listing | None = None, classes: Sequence[str] = ("cat", "dog"), **settings: Any) -> Project:
    return Project.create(path, "somewhere", classes, Settings(**settings), items=items or numbered(100))


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Make a folder with two classes, and images that are of neither yet."""
    for number in range(4):
        save_noise(tmp_path / "pictures" / "cat" / f"{number}.png", (4, 4), number)
        save_noise(tmp_path / "pictures" / "dog" / f"{number}.png", (4, 4), 10 + number)
        save_noise(tmp_path / "pictures" / f"{number}.png", (4, 4), 20 + number)
    return tmp_path / "pictures"


# made and opened


def test_what_was_created_is_what_opens(tmp_path: Path) -> None:
    made = make(tmp_path / "deep" / "down", audit=0.2, config={"batch_size": 64})
    opened = Project.open(str(tmp_path / "deep" / "down"))
    assert opened == made
    assert opened.about["format"] == 1
    assert opened.settings == Settings(audit=0.2, config={"batch_size": 64})
    assert opened.models.is_dir()
    assert Path(opened.source).is_absolute()
    with Journal.open(opened.labels_db, "ro") as journal:
        assert journal.class_list().names == ["cat", "dog"]
        assert journal.item_count() == 100
        assert journal.acts() == []


def test_copying_the_directory_moves_the_project(tmp_path: Path) -> None:
    reserve = make(tmp_path / "a").audit_reserve()
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    shutil.rmtree(tmp_path / "a")
    assert Project.open(tmp_path / "b").audit_reserve().tolist() == reserve.tolist()


def test_classes_and_labels_come_from_the_folders_of_the_source(pictures: Path, tmp_path: Path) -> None:
    project = Project.create(tmp_path / "project", str(pictures))
    with Journal.open(project.labels_db, "ro") as journal:
        assert journal.class_list().names == ["cat", "dog"]
        names = [row.name for row in journal.items()]
        acts = journal.acts()
    assert len(names) == 12
    assert {names[act.item]: act.class_ for act in acts} == {
        f"{name}/{number}.png": class_ for class_, name in enumerate(["cat", "dog"]) for number in range(4)
    }
    assert {(act.uid, act.why, act.annotator, act.kind) for act in acts} == {
        (f"source-{act.item}", "source", "source", "label") for act in acts
    }


def test_chosen_classes_leave_other_folder_names_out_and_say_so(pictures: Path, tmp_path: Path) -> None:
    project = Project.create(tmp_path / "project", str(pictures), ["dog", "cow", "dog"])
    with project.lock(), Journal.open(project.labels_db) as journal:
        assert journal.class_list().names == ["dog", "cow"]
        assert {act.class_ for act in journal.acts()} == {0}
        assert len(journal.acts()) == 4
        assert project.take_up(journal, project.open_items()).left_out == ["cat"]


def test_classes_that_are_numbers_are_in_the_order_of_numbers(tmp_path: Path) -> None:
    items = Listing([f"{number}.png" for number in range(12)], {number: str(number) for number in range(12)})
    project = make(tmp_path / "project", items, classes=())
    with Journal.open(project.labels_db, "ro") as journal:
        assert journal.class_list().names == [str(number) for number in range(12)]


def test_opened_again_a_project_takes_up_what_is_new_and_marks_what_is_gone(pictures: Path, tmp_path: Path) -> None:
    project = Project.create(tmp_path / "project", str(pictures))
    (pictures / "cat" / "0.png").unlink()
    save_noise(pictures / "cow" / "0.png", (4, 4), 99)
    save_noise(pictures / "9.png", (4, 4), 98)
    project = Project.open(tmp_path / "project")
    with project.lock(), Journal.open(project.labels_db) as journal:
        before = journal.items()
        taken = project.take_up(journal, project.open_items())
        assert (len(taken.items.new), taken.items.back, taken.labels) == (2, [], 1)
        assert [before[item].name for item in taken.items.gone] == ["cat/0.png"]
        assert [row.name for row in journal.items()][: len(before)] == [row.name for row in before]
        assert journal.class_list().names == ["cat", "dog", "cow"]
        again = project.take_up(journal, project.open_items())
        assert (again.items.new, again.items.gone, again.labels) == ([], [], 0)


def test_a_label_that_the_source_brings_twice_is_written_once_and_a_persons_word_outlasts_it(tmp_path: Path) -> None:
    items = Listing(["a.png", "b.png", "c.png"], {0: "cat", 1: "dog"})
    project = make(tmp_path / "project", items, classes=(), audit=0.0)
    with Journal.open(project.labels_db) as journal:
        journal.write([NewAct("u", 0, "label", "ann", "browse", 1)])
        project.take_up(journal, items)
        assert len(journal.acts()) == 3
        assert project.ledger(journal).training_labels() == {0: 1, 1: 1}


def test_a_source_that_is_gone_says_what_to_do_and_one_that_moved_can_be_named(pictures: Path, tmp_path: Path) -> None:
    project = Project.create(tmp_path / "project", str(pictures))
    moved = pictures.rename(tmp_path / "elsewhere")
    with pytest.raises(DataError, match=r"are gone: there is no .*pictures\. Put them back, or .* with --source"):
        project.open_items()
    project = Project.open(tmp_path / "project").change(source=str(moved))
    assert Project.open(tmp_path / "project") == project
    with project.lock(), Journal.open(project.labels_db) as journal:
        taken = project.take_up(journal, project.open_items())
    assert (taken.items.new, taken.items.gone) == ([], [])


def test_another_source_is_not_taken_for_the_one_that_moved(tmp_path: Path) -> None:
    project = make(tmp_path / "project")
    with Journal.open(project.labels_db) as journal:
        with pytest.raises(DataError, match=r"None of the 100 items .* is in .*: that is another source"):
            project.take_up(journal, Listing(["other.png"]))
        assert not any(row.gone for row in journal.items())


def test_a_named_data_set_keeps_its_name(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "project", "digits", items=numbered(3))
    assert project.source == "digits"
    assert project.change(source="mnist").source == "mnist"


# refused


def test_nothing_is_made_where_something_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreError, match="is a file: choose another --project"):
        make(tmp_path / "file")
    with pytest.raises(StoreError, match=r"Cannot make .*file/project"):
        make(tmp_path / "file" / "project")
    with pytest.raises(StoreError, match="is not empty and holds no project"):
        make(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    make(tmp_path / "project")
    before = (tmp_path / "project" / PROJECT_FILE).read_bytes()
    with pytest.raises(StoreError, match="holds a project already"):
        make(tmp_path / "project")
    assert (tmp_path / "project" / PROJECT_FILE).read_bytes() == before


def test_what_is_wrong_is_said_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no data set and no file"):
        Project.create(tmp_path / "project", str(tmp_path / "nothing"))
    with pytest.raises(DataError, match="no name for a class"):
        make(tmp_path / "project", classes=["cat", " "])
    with pytest.raises(ConfigError):
        make(tmp_path / "project", audit=2.0)
    assert not (tmp_path / "project").exists()


def test_what_is_no_project_does_not_open_and_stays_untouched(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        Project.open(tmp_path / "nowhere")
    with pytest.raises(StoreError, match="not a project, or one that was killed while being made"):
        Project.open(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "was changed or is damaged"),
        (b"\xff\x00", "was changed or is damaged"),
        (b"[1]", r"it = \[1\] is not an object"),
        (b'{"format": 1}', "deepbass is missing"),
        (b'{"format": 7, "deepbass": "9.9"}', r"was made by deepbass 9\.9 \(format 7\), this is .* \(format 1\)"),
    ],
)
def test_a_tampered_project_json_is_noticed(tmp_path: Path, content: bytes, message: str) -> None:
    make(tmp_path / "project")
    (tmp_path / "project" / PROJECT_FILE).write_bytes(content)
    with pytest.raises(StoreError, match=message):
        Project.open(tmp_path / "project")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"audit": 1.0}, r"audit = 1\.0 must be a share of 1, as in 0\.1 or 10%"),
        ({"audit": "10%"}, r"audit = '10%' must be a number"),
        ({"audit": float("nan")}, "audit = nan must be a share"),
        ({"twice": -0.1}, r"twice = -0\.1"),
        ({"target_error": 0}, "target_error = 0 must be a share of 1, as in 0.02 or 2%"),
        ({"lease_seconds": 0}, "lease_seconds = 0 must be above 0"),
        ({"ahead": 1}, "ahead = 1 must be a whole number from 2 to 200"),
        ({"ahead": 201}, "ahead = 201 must be a whole number from 2 to 200"),
        ({"start_with": 0}, "start_with = 0 must be a whole number, 1 or more"),
        ({"seed": True}, "seed = True must be a whole number"),
        ({"acquire": "max-entropi"}, "Did you mean 'max-entropy'?"),
        ({"acquire": 3}, "acquire = 3 must be a name"),
        ({"config": {"batch": 3}}, "Unknown setting 'batch'"),
        ({"config": {"seed": 3}}, "config has seed = 3: set it beside config"),
        ({"config": [3]}, r"config = \[3\] must be a table"),
    ],
)
def test_wrong_settings_are_refused_by_name(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Settings(**settings)
    project = make(tmp_path / "project")
    about = {**project.about, "settings": {**project.settings.as_dict(), **settings}}
    (project.path / PROJECT_FILE).write_text(json.dumps(about))
    with pytest.raises(StoreError, match=r"project\.json was changed or is damaged"):
        Project.open(project.path)


def test_settings_can_be_changed_but_not_the_seed(tmp_path: Path) -> None:
    project = make(tmp_path / "project")
    changed = project.change(settings=replace(project.settings, target_error=None, audit=0.3))
    assert Project.open(project.path).settings == changed.settings
    assert changed.audit_reserve().tolist() == project.audit_reserve().tolist()
    with pytest.raises(ConfigError, match=r"seed = 5 cannot be set: .* was made with seed = 0"):
        project.change(settings=replace(project.settings, seed=5))


# ready


def test_training_starts_when_each_of_two_classes_or_more_has_enough_labels_to_train_on(tmp_path: Path) -> None:
    project = make(tmp_path / "project", start_with=2)
    reserve = set(project.audit_reserve().tolist())
    free = [item for item in range(100) if item not in reserve]
    with Journal.open(project.labels_db) as journal:
        for item in sorted(reserve)[:20]:
            journal.write([NewAct(f"r{item}", item, "label", "ann", "audit", item % 2)])
        assert not project.ready(project.ledger(journal))  # none of these may be trained on
        for number in range(3):
            journal.write([NewAct(f"u{number}", free[number], "label", "ann", "spread", number % 2)])
        ledger = project.ledger(journal)
        assert not project.ready(ledger)
        assert project.needs(ledger) == [MissingLabels(1, 1, 2)]
        journal.write([NewAct("u3", free[3], "label", "ann", "spread", 1)])
        ledger = project.ledger(journal)
        assert project.ready(ledger)
        journal.add_class("cow", "ann")
        ledger.reclass(journal.class_list())
        assert project.needs(ledger) == [MissingLabels(2, 0, 2)]
        assert not project.ready(ledger)
        journal.remove_class(2, "ann")
        ledger.reclass(journal.class_list())
        assert project.ready(ledger)


def test_one_class_alone_is_nothing_to_train_on(tmp_path: Path) -> None:
    project = make(tmp_path / "project", classes=["cat"], start_with=1, audit=0.0)
    with Journal.open(project.labels_db) as journal:
        journal.write([NewAct("u", 0, "label", "ann", "spread", 0)])
        assert not project.ready(project.ledger(journal))
    assert not project.ready(Ledger())


# one writer


HOLD = """
import sys, time
from deepbass.label.project import Project
lock = Project.open(sys.argv[1]).lock()
print("held", flush=True)
time.sleep(60)
"""


def test_one_at_a_time_may_write(tmp_path: Path) -> None:
    project = make(tmp_path / "project")
    with project.lock():
        with pytest.raises(StoreError, match=rf"in use by process {os.getpid()} on .* since 20.*one process at a time"):
            project.lock()
        Project.open(project.path).audit_reserve()  # reading needs no lock
    lock = project.lock()
    lock.release()
    project.lock().release()


def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    project = make(tmp_path / "project")
    with subprocess.Popen([sys.executable, "-c", HOLD, project.path], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match=f"in use by process {holder.pid} "):
            project.lock()
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        project.lock().release()


def test_neither_a_project_nor_its_journal_loads_torch() -> None:
    code = (
        "import sys; import deepbass.label.project, deepbass.label.queue, deepbass.label.items\n"
        "sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
