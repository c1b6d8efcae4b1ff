"""A project is found or made by what was typed, and nothing changes in one that somebody else has open."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deepbass.core.errors import ConfigError, DataError, StoreError
from deepbass.label.journal import Journal
from deepbass.label.opening import open_project
from deepbass.label.project import Project
from deepbass.store.names import PROJECT_FILE
from tests.label.projects import make_images, make_project
from tests.web import server_process


def opened(source: Path | str, *words: Any, **more: Any) -> Project:
    """Open a project and let go of it again."""
    with open_project(str(source), *words, **more) as there:
        return there.project


def small_project(folder: Path) -> Project:
    return make_project(folder / "project", make_images(folder / "images", [f"{i}.png" for i in range(4)]))


def everything(project: Project) -> tuple[object, ...]:
    with Journal.open(project.labels_db, "ro") as journal:
        about = (project.path / PROJECT_FILE).read_bytes()
        return about, journal.classes(), journal.items(), journal.acts()


def test_another_folder_of_the_same_name_does_not_get_mixed_in(tmp_path: Path) -> None:
    first = make_images(tmp_path / "a" / "pets", ["1.png"])
    second = make_images(tmp_path / "b" / "pets", ["1.png", "2.png"])
    opened(first, tmp_path / "p")
    with pytest.raises(ConfigError, match="give another --project"):
        opened(second, tmp_path / "p")
    with open_project(str(tmp_path / "p"), moved=str(second)) as there:
        assert there.project.source == str(second)
        assert there.items.names == ["1.png", "2.png"]
    strangers = make_images(tmp_path / "c", ["x.png"])
    with pytest.raises(DataError, match="give the right --source"):
        opened(tmp_path / "p", moved=str(strangers))
    assert Project.open(tmp_path / "p").source == str(second)


def test_a_project_can_be_gone_on_with_by_its_own_folder_only_once_named(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    assert opened(project.path) == project
    with pytest.raises(ConfigError, match="is a project itself"):
        opened(project.path, tmp_path / "other")


def test_settings_of_the_training_are_added_to_those_there_are(tmp_path: Path) -> None:
    source = make_images(tmp_path / "pets", ["1.png"])
    opened(source, tmp_path / "p", settings={"config": {"batch_size": 16}})
    project = opened(source, tmp_path / "p", settings={"config": {"learning_rate": 0.01}})
    assert project.settings.config == {"batch_size": 16, "learning_rate": 0.01}


@pytest.mark.parametrize(
    "wrong",
    [
        {"settings": {"seed": 9}},
        {"settings": {"audit": 2.0}},
        {"settings": {"config": {"x": 1}}},
        {"classes": ["\x00"]},
    ],
)
def test_of_what_is_partly_wrong_nothing_is_changed(tmp_path: Path, wrong: dict[str, Any]) -> None:
    project = small_project(tmp_path)
    before = everything(project)
    elsewhere = make_images(tmp_path / "elsewhere", ["0.png"])
    right: dict[str, Any] = {"settings": {"twice": 0.5}, "classes": ["fish"], "moved": str(elsewhere)}
    with pytest.raises((ConfigError, DataError)):
        opened(project.path, **{**right, **wrong})
    assert everything(project) == before
    assert opened(project.path, **right).settings.twice == 0.5


@pytest.mark.parametrize("made", [True, False])
def test_a_project_is_locked_from_before_it_is_changed_until_it_is_closed(tmp_path: Path, made: bool) -> None:
    project = small_project(tmp_path)
    source = project.path if made else make_images(tmp_path / "new", ["1.png"])
    with open_project(str(source), None if made else tmp_path / "p") as there:
        with pytest.raises(StoreError, match=f"in use by process {os.getpid()}"):
            there.project.lock()
        with pytest.raises(StoreError, match="in use by process"):
            there.project.change(source=str(tmp_path / "images2"))
        assert there.lock.is_locked
    there.project.lock().release()


@pytest.mark.parametrize(
    "change",
    [
        {"classes": ["fish"]},
        {"settings": {"audit": 0.0}},
        {"settings": {"config": {"model": "mlp"}}},
        {"moved": "other"},
    ],
)
def test_nothing_is_changed_while_a_page_is_open(tmp_path: Path, change: dict[str, Any]) -> None:
    project = small_project(tmp_path)
    before = everything(project)
    if "moved" in change:
        change = {"moved": str(make_images(tmp_path / "other", ["0.png", "1.png"]))}
    with project.lock(), pytest.raises(StoreError, match="in use by process"):
        opened(project.path, **change)
    assert everything(project) == before


def test_a_second_command_on_a_project_in_use_changes_nothing(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    other = make_images(tmp_path / "other", ["0.png", "1.png", "9.png"])
    before = everything(project)
    first = [sys.executable, str(Path(server_process.__file__)), str(project.path), "0"]
    second = [sys.executable, "-m", "deepbass", "label", str(project.path), "--source", str(other)]
    second += ["--set", "model=mlp", "--audit", "0%", "--classes", "fish", "--no-browser", "--port", "0"]
    with subprocess.Popen(first, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert json.loads(server.stdout.readline())["url"]
            done = subprocess.run(second, capture_output=True, text=True, timeout=120, check=False)
        finally:
            server.kill()
    assert done.returncode == 2, done.stderr
    assert f"in use by process {server.pid}" in " ".join(done.stderr.split())
    assert everything(project) == before


def test_a_project_draws_its_seed_when_it_is_made_and_keeps_it(tmp_path: Path) -> None:
    images = make_images(tmp_path / "images", [f"{i}.png" for i in range(4)])
    seeds = [opened(images, tmp_path / f"project {i}").settings.seed for i in range(4)]
    assert len(set(seeds)) > 1
    assert opened(images, tmp_path / "project 0").settings.seed == seeds[0]
    assert opened(images, tmp_path / "chosen", settings={"seed": 7}).settings.seed == 7
