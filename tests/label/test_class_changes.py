"""Changes of the classes in the journal and in what holds: rows are added, labels follow, nothing is lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deepbass.core.errors import DataError, StoreError
from deepbass.label.acts import Act, NewAct, Why
from deepbass.label.class_list import ClassChangeError
from deepbass.label.journal import Journal, RefusedAct
from deepbass.label.ledger import Ledger
from deepbass.label.project import Project
from deepbass.label.project_database import FORMAT
from deepbass.store.names import PROJECT_DB_FILE
from tests.label.projects import make_images, make_project

NAMES = [f"{number}.png" for number in range(10)]

# the tables of format 1, as they were written
OLD = {format_: Path(__file__).with_name(f"format_{format_}.sql").read_text(encoding="utf-8") for format_ in (1, 2, 3)}


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal.create(tmp_path / PROJECT_DB_FILE, NAMES, ["cat", "dog", "cow"]) as made:
        yield made


def label(journal: Journal, item: int, class_: int, by: str = "ann", why: Why = "rank", kind: Any = "label") -> Act:
    (act,) = journal.write([NewAct(f"{by}-{kind}-{item}-{class_}-{why}", item, kind, by, why, class_)])
    assert isinstance(act, Act), act
    return act


def ledger(journal: Journal, reserve: tuple[int, ...] = ()) -> Ledger:
    return Ledger.of(journal.acts(), reserve, journal.class_list())


# the journal


def test_changes_last_and_can_be_undone(journal: Journal) -> None:
    renamed = journal.rename_class(0, "  kitten ", "ann")
    merged = journal.merge_class(1, 0, "bob")
    with Journal.open(journal.path, "ro") as reader:
        classes = reader.class_list()
    assert (classes.ids, classes.names) == ((0, 2), ["kitten", "cow"])
    assert [(change.kind, change.by) for change in classes.changes[3:]] == [("rename", "ann"), ("merge", "bob")]
    assert renamed.name == "kitten"
    journal.undo_class_change(merged.id, "ann")
    assert journal.class_list().names == ["kitten", "dog", "cow"]
    journal.remove_class(2, "ann")
    assert journal.add_class("cow", "ann") == 3


def test_a_name_of_another_class_or_none_at_all_is_refused_and_nothing_is_written(journal: Journal) -> None:
    before = journal.class_list().changes
    with pytest.raises(ClassChangeError, match="merge the two"):
        journal.rename_class(0, "dog", "ann")
    with pytest.raises(DataError, match="no name for a class"):
        journal.rename_class(0, "  ", "ann")
    assert journal.class_list().changes == before


def test_an_act_of_a_removed_class_is_refused_and_one_of_a_merged_class_is_understood(journal: Journal) -> None:
    journal.remove_class(2, "ann")
    journal.merge_class(1, 0, "ann")
    removed, merged = journal.write(
        [NewAct("a", 0, "label", "ann", "rank", 2), NewAct("b", 1, "label", "ann", "rank", 1)]
    )
    assert isinstance(removed, RefusedAct)
    assert removed.reason == "the class 'cow' was removed: choose another"
    assert isinstance(merged, Act)
    assert merged.class_ == 1  # as it was given
    assert ledger(journal).label(1) == 0


# what holds


def test_labels_of_a_merged_class_count_for_the_other_and_come_back_with_an_undo(journal: Journal) -> None:
    label(journal, 0, 0)
    label(journal, 1, 1)
    label(journal, 1, 0, by="bob")
    held = ledger(journal)
    assert held.disagreements() == [1]
    change = journal.merge_class(1, 0, "ann")
    held.reclass(journal.class_list())
    assert (held.by_class, held.disagreements(), held.training_labels()) == ({0: 2}, [], {0: 0, 1: 0})
    journal.undo_class_change(change.id, "ann")
    held.reclass(journal.class_list())
    assert (held.by_class, held.disagreements()) == ({0: 1}, [1])


def test_labels_of_a_removed_class_stop_counting_and_are_asked_again_also_of_who_gave_them(journal: Journal) -> None:
    label(journal, 0, 1)
    label(journal, 0, 2, why="browse")  # changed their mind: it is no dog
    label(journal, 1, 2)
    label(journal, 2, 0)
    held = ledger(journal)
    assert held.labels == 3
    change = journal.remove_class(2, "ann")
    held.reclass(journal.class_list())
    assert held.label(0) is None  # not a dog either
    assert (held.labels, held.known(0), held.known(1), held.by_annotator) == (1, False, False, {"ann": 1})
    assert held.done_by("ann") == {2}
    assert held.standing(1, "ann") is None
    assert [act.class_ for act in held.history()] == [0, 2, 2, 1]  # what was said stays
    journal.undo_class_change(change.id, "ann")
    held.reclass(journal.class_list())
    assert (held.labels, held.label(0), held.done_by("ann")) == (3, 2, {0, 1, 2})


def test_a_settlement_of_a_removed_class_no_longer_settles(journal: Journal) -> None:
    label(journal, 0, 0)
    label(journal, 0, 1, by="bob")
    label(journal, 0, 2, kind="settle")
    assert ledger(journal).label(0) == 2
    journal.remove_class(2, "ann")
    assert (ledger(journal).label(0), ledger(journal).disagreements()) == (None, [0])
    journal.remove_class(1, "ann")
    assert (ledger(journal).label(0), ledger(journal).disagreements()) == (0, [])


def test_vetoes_and_audit_labels_follow_their_classes(journal: Journal) -> None:
    label(journal, 0, 2, kind="veto", why="guesses")
    label(journal, 1, 1, why="audit")
    label(journal, 2, 2, why="audit")
    journal.merge_class(1, 0, "ann")
    assert ledger(journal, (1, 2)).audit_labels() == {1: 0, 2: 2}
    journal.remove_class(2, "ann")
    assert ledger(journal, (1, 2)).audit_labels() == {1: 0}
    assert ledger(journal).vetoes() == {}


def test_taken_step_by_step_the_ledger_is_the_one_folded_at_once(journal: Journal) -> None:
    grown = Ledger((3,), journal.class_list())
    steps: list[Any] = [
        lambda: label(journal, 0, 2), lambda: journal.add_class("fish", "ann"), lambda: label(journal, 1, 3),
        lambda: journal.merge_class(3, 1, "ann"), lambda: label(journal, 3, 3, why="audit"),
        lambda: journal.remove_class(2, "ann"), lambda: label(journal, 0, 0, by="bob"),
        lambda: journal.undo_class_change(6, "ann"),
        lambda: journal.write([NewAct("u", 1, "undo", "ann", "rank", undoes="ann-label-1-3-rank")]),
    ]  # fmt: skip
    for step in steps:
        step()
        acts = journal.acts(since=grown.last)
        grown.reclass(journal.class_list())
        for act in acts:
            grown.take(act)
        whole = ledger(journal, (3,))
        for name in ("labels", "by_class", "by_annotator", "by_kind", "answered", "median_seconds"):
            assert getattr(grown, name) == getattr(whole, name), name
        assert grown.training_labels() == whole.training_labels()
        assert grown.audit_labels() == whole.audit_labels()
        assert grown.known_items() == whole.known_items()
        assert grown.history() == whole.history()
        assert grown.done_by("ann") == whole.done_by("ann")


def test_an_act_read_before_its_class_counts_as_soon_as_the_class_is_known(journal: Journal) -> None:
    held = ledger(journal)
    journal.add_class("fish", "ann")
    held.take(label(journal, 0, 3))
    assert held.label(0) is None
    held.reclass(journal.class_list())
    assert held.label(0) == 3


def test_uses_counts_what_anybody_says_also_where_others_differ(journal: Journal) -> None:
    label(journal, 0, 1)
    label(journal, 0, 0, by="bob")
    label(journal, 1, 2, kind="settle")
    assert [ledger(journal).uses(class_) for class_ in range(3)] == [1, 1, 1]


# the source


def test_a_folder_whose_class_was_renamed_or_merged_still_means_it_and_one_that_was_removed_stays_so(
    tmp_path: Path,
) -> None:
    names = [f"{kind}/{number}.png" for kind in ("cat", "dog", "cow", "owl") for number in range(2)]
    images = make_images(tmp_path / "images", names)
    project = make_project(tmp_path / "project", images, classes=())
    with Journal.open(project.labels_db) as journal:
        ids = {name: journal.class_list().find(name) for name in ("cat", "cow", "dog", "owl")}
        journal.rename_class(ids["cat"] or 0, "kitten", "ann")
        journal.merge_class(ids["dog"] or 0, ids["cat"] or 0, "ann")
        journal.remove_class(ids["owl"] or 0, "ann")
        make_images(tmp_path / "images", [f"{kind}/new.png" for kind in ("cat", "dog", "owl", "fox")])
        taken = project.take_up(journal, project.open_items())
        assert (taken.labels, taken.left_out) == (3, ["owl"])
        assert journal.class_list().names == ["kitten", "cow", "fox"]
        held = project.ledger(journal)
        new = {row.name: held.label(row.id) for row in journal.items() if row.name.endswith("new.png")}
        kitten, fox = journal.class_list().find("kitten"), journal.class_list().find("fox")
        assert new == {"cat/new.png": kitten, "dog/new.png": kitten, "owl/new.png": None, "fox/new.png": fox}


# the format


def old_project(tmp_path: Path, format_: int) -> Project:
    """Make a project, and put a file of an older format with some labels in place of its journal."""
    project = make_project(tmp_path / "project", make_images(tmp_path / "images", NAMES))
    for file in project.path.glob(f"{PROJECT_DB_FILE}*"):
        file.unlink()
    db = sqlite3.connect(project.labels_db)
    db.execute("PRAGMA journal_mode = WAL")
    db.executescript(OLD[format_])
    db.executemany("INSERT INTO items (id, name) VALUES (?, ?)", enumerate(NAMES))
    named = [(0, "cat", "command", "2026-01-01"), (1, "dog", "command", "2026-01-01")]
    if format_ == 1:
        db.executemany("INSERT INTO classes VALUES (?, ?, ?, ?)", named)
    else:
        db.executemany("INSERT INTO classes VALUES (?)", [(0,), (1,)])
        added = "INSERT INTO class_changes (id, kind, class, name, by, at) VALUES (?1 + 1, 'add', ?1, ?2, ?3, ?4)"
        db.executemany(added, named)
    db.executemany(
        "INSERT INTO acts (id, uid, item, kind, annotator, why, class, saw_guess, at) "
        "VALUES (?, ?, ?, 'label', 'ann', 'rank', ?, 0, 'then')",
        [(1, "a", 0, 0), (2, "b", 1, 1)],
    )
    db.execute("INSERT INTO people VALUES ('ann', 'hash', 'then')")
    db.execute("INSERT INTO leases VALUES (1, 5, 'ann', 'rank', 9.5)")
    db.commit()
    db.close()
    return project


def schema(path: Path) -> dict[str, list[Any]]:
    """Read what a file is made of: columns, references, checks and triggers."""
    db = sqlite3.connect(path)
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    found: dict[str, list[Any]] = {
        name: db.execute(f"PRAGMA table_info({name})").fetchall()
        + db.execute(f"PRAGMA foreign_key_list({name})").fetchall()
        for name in names
    }
    found["all"] = sorted(db.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall())
    found["version"] = db.execute("PRAGMA user_version").fetchall()
    db.close()
    return found


@pytest.mark.parametrize("format_", OLD)
def test_a_project_of_an_older_format_can_be_read_as_it_is(tmp_path: Path, format_: int) -> None:
    project = old_project(tmp_path, format_)
    before = schema(project.labels_db)
    with Journal.open(project.labels_db, "ro") as journal:
        assert journal.class_list().names == ["cat", "dog"]
        assert ledger(journal).by_class == {0: 1, 1: 1}
        with Journal.open(project.labels_db) as writer:  # the page is opened meanwhile
            writer.rename_class(1, "puppy", "ann")
        assert journal.class_list().names == ["cat", "puppy"]
    assert before["version"] == [(format_,)]
    assert schema(project.labels_db)["version"] == [(FORMAT,)]


@pytest.mark.parametrize("format_", OLD)
def test_a_project_of_an_older_format_is_upgraded_by_whoever_writes_and_nothing_is_lost(
    tmp_path: Path, format_: int
) -> None:
    project = old_project(tmp_path, format_)
    fresh = make_project(tmp_path / "fresh", make_images(tmp_path / "images", NAMES))
    with Journal.open(project.labels_db) as journal:
        assert journal.class_list().names == ["cat", "dog"]
        assert [(change.by, change.at) for change in journal.class_list().changes] == [("command", "2026-01-01")] * 2
        assert [(act.uid, act.class_, act.at) for act in journal.acts()] == [("a", 0, "then"), ("b", 1, "then")]
        assert journal.people() == {"ann": "hash"}
        assert [lease.item for lease in journal.leases()] == [5]
        assert [row.name for row in journal.items()] == NAMES
        assert journal.add_class("cow", "ann") == 2
        label(journal, 2, 2)
        with pytest.raises(StoreError, match="FOREIGN KEY"), journal._writing("nonsense") as db:
            db.execute("INSERT INTO classes (id) VALUES (9)")
            db.execute("INSERT INTO class_changes VALUES (9, 'remove', 77, NULL, NULL, NULL, '', '')")
    assert schema(project.labels_db) == schema(fresh.labels_db)
    db = sqlite3.connect(project.labels_db)
    assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.close()


@pytest.mark.parametrize("format_", OLD)
def test_an_upgrade_that_finds_no_room_leaves_the_old_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: int
) -> None:
    from deepbass.label import project_database

    project = old_project(tmp_path, format_)
    before = schema(project.labels_db)
    broken = f"{project_database._UPGRADES[format_]} INSERT INTO nowhere VALUES (1);"
    monkeypatch.setitem(project_database._UPGRADES, format_, broken)
    with pytest.raises(StoreError, match=f"upgrade the labels from format {format_} to {FORMAT}"):
        Journal.open(project.labels_db)
    assert schema(project.labels_db) == before
    monkeypatch.undo()
    with Journal.open(project.labels_db) as journal:
        assert journal.class_list().names == ["cat", "dog"]
