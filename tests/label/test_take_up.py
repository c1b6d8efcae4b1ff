"""What the source brings is taken up once, under any circumstances, and what was replaced is said."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from deepbass.core.errors import DataError
from deepbass.label.acts import Act, NewAct
from deepbass.label.journal import Journal
from deepbass.label.project import Project
from deepbass.label.take_up import TakenUp
from tests.label.projects import make_images, make_project

NAMES = [f"{kind}/{number}.png" for kind in ("cat", "dog") for number in range(3)]


@pytest.fixture
def images(tmp_path: Path) -> Path:
    return make_images(tmp_path / "images", [*NAMES, "free.png"])


@pytest.fixture
def project(tmp_path: Path, images: Path) -> Project:
    return make_project(tmp_path / "project", images, classes=())


def opened(project: Project) -> TakenUp:
    """Take up what there is, as the server does at its start."""
    with Journal.open(project.labels_db) as journal:
        return project.take_up(journal, project.open_items())


def age(path: Path, seconds: int = 100) -> None:
    """Put the time of the last change back."""
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns - seconds * 10**9))


def test_a_labelled_picture_that_was_replaced_is_named_once_and_keeps_its_label(project: Project, images: Path) -> None:
    assert opened(project).replaced == []
    shutil.copy(images / "dog/1.png", images / "cat/1.png")
    age(images / "cat/1.png")  # also an older picture is another one
    (images / "free.png").write_bytes((images / "free.png").read_bytes() + b"more")  # nobody has labelled it
    taken = opened(project)
    assert taken.replaced == ["cat/1.png"]
    assert taken.labels == 0
    with Journal.open(project.labels_db, "ro") as journal:
        ledger, row = project.ledger(journal), next(row for row in journal.items() if row.name == "cat/1.png")
        assert ledger.label(row.id) == journal.class_list().find("cat")
    assert opened(project).replaced == []


def test_a_picture_of_another_size_that_was_away_meanwhile_is_noticed(project: Project, images: Path) -> None:
    stat = (images / "dog/0.png").stat()
    (images / "dog/0.png").unlink()
    assert opened(project).items.gone
    (images / "dog/0.png").write_bytes(b"x" * 9999)
    os.utime(images / "dog/0.png", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert opened(project).replaced == ["dog/0.png"]


def test_a_folder_that_was_copied_has_the_same_pictures(project: Project, images: Path) -> None:
    for file in images.rglob("*.png"):
        age(file)
    assert opened(project).replaced == []
    for file in images.rglob("*.png"):
        age(file)
    (images / "cat/2.png").write_bytes(b"another")
    assert opened(project).replaced == ["cat/2.png"]


def test_arrays_have_no_files_to_look_at(tmp_path: Path) -> None:
    file = tmp_path / "pixels.npz"
    np.savez(file, X=np.zeros((4, 8, 8), np.uint8), y=np.array([0, 1, 0, 1]))
    project = make_project(tmp_path / "project", file, classes=())
    assert (opened(project).replaced, opened(project).labels) == ([], 0)


def test_an_id_that_somebody_took_before_costs_no_label_and_what_is_counted_was_taken(
    project: Project, images: Path
) -> None:
    make_images(images, ["cat/new.png", "dog/new.png"])
    with Journal.open(project.labels_db) as journal:
        changes = journal.update_items([*(row.name for row in journal.items()), "cat/new.png", "dog/new.png"])
        cat, dog = changes.new
        taken = [
            NewAct(f"source-{cat}", 0, "skip", "mallory", "rank"),
            NewAct(f"source-{dog}", dog, "label", "source", "rank", 1),  # as the source would say it, but it did not
        ]
        assert all(isinstance(act, Act) for act in journal.write(taken))
    assert opened(project).labels == 2
    with Journal.open(project.labels_db, "ro") as journal:
        found = {act.item: act.class_ for act in journal.acts() if act.why == "source" and act.item in (cat, dog)}
        assert found == {cat: 0, dog: 1}
    assert opened(project).labels == 0


def test_another_source_changes_nothing(project: Project, tmp_path: Path) -> None:
    other = make_project(tmp_path / "other", make_images(tmp_path / "strangers", ["fox/z.png"])).open_items()
    with Journal.open(project.labels_db) as journal:
        before = (journal.items(), journal.acts(), journal.class_list().names, journal.files())
        with pytest.raises(DataError, match=r"None of the 7 items of .* is in .*: that is another source"):
            project.take_up(journal, other)
        assert (journal.items(), journal.acts(), journal.class_list().names, journal.files()) == before
