"""What people said is written once, never changed, and on the disk before anybody is told so."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbass.core.errors import DataError, StoreError
from deepbass.label.acts import Act, NewAct
from deepbass.label.journal import ItemChanges, ItemRow, Journal, Lease, RefusedAct
from deepbass.label.project_database import FORMAT
from deepbass.store.names import PROJECT_DB_FILE

NAMES = [f"{number}.png" for number in range(10)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / PROJECT_DB_FILE


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    with Journal.create(path, NAMES, ["cat", "dog"]) as made:
        yield made


def label(uid: str, item: int = 0, class_: int = 0, by: str = "ann", **more: Any) -> NewAct:
    return NewAct(uid, item, "label", by, "rank", class_, **more)


def undo(uid: str, undoes: str | None, item: int = 0, by: str = "ann") -> NewAct:
    return NewAct(uid, item, "undo", by, "rank", undoes=undoes)


def written(results: Sequence[Act | RefusedAct]) -> list[Act]:
    acts = [result for result in results if isinstance(result, Act)]
    assert len(acts) == len(results), results
    return acts


def refused(journal: Journal, act: NewAct) -> str:
    """Write an act that must be refused without a trace, and tell the reason."""
    before = journal.acts()
    (result,) = journal.write([act])
    assert isinstance(result, RefusedAct)
    assert journal.acts() == before
    return result.reason


# acts


def test_acts_come_back_as_they_were_written_numbered_in_order(journal: Journal, path: Path) -> None:
    acts = [
        label("a", 3, 1, seconds=1.25, saw_guess=True),
        NewAct("b", 4, "skip", "bob", "audit"),
        NewAct("c", 3, "flag", "ann", "browse"),
        NewAct("d", 5, "veto", "ann", "guesses", 0),
        undo("e", "a", 3),
    ]
    entered = written(journal.write(acts[:2]) + journal.write(acts[2:]))
    assert journal.write([]) == []
    assert [act.id for act in entered] == [1, 2, 3, 4, 5]
    assert [NewAct(**{name: vars(act)[name] for name in vars(acts[0])}) for act in entered] == acts
    assert journal.acts() == entered
    assert journal.acts(since=3) == entered[3:]
    at = datetime.fromisoformat(entered[0].at)
    assert abs(datetime.now(UTC) - at) < timedelta(minutes=1)
    with Journal.open(path, "ro") as reader:
        assert reader.acts() == entered


def test_an_act_sent_again_comes_back_unchanged_and_is_written_once(journal: Journal) -> None:
    (first,) = written(journal.write([label("a", 1, 1, seconds=2.0)]))
    again = replace(label("a", 1, 1), why="browse", seconds=9.0)  # what the server may find out anew
    assert journal.write([again, label("b", 2), again]) == [first, journal.acts()[1], first]
    assert [act.uid for act in journal.acts()] == ["a", "b"]
    undone = written(journal.write([undo("u", "a", 1)]))
    assert journal.write([undo("u", "a", 1)]) == undone


def test_another_act_under_the_same_id_is_refused_since_it_would_be_lost(journal: Journal) -> None:
    journal.write([label("a", 1, 1)])
    for other in (label("a", 1, 0), label("a", 2, 1), label("a", 1, 1, by="bob")):
        assert refused(journal, other) == "another act has the id 'a': label 1 on item 1 by 'ann'"


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (label("x", 10), "there is no item 10: there are 10"),
        (label("x", -1), "there is no item -1: there are 10"),
        (label("x", 2**70), "there is no item 1180591620717411303424"),
        (label("x", True), "there is no item True"),
        (label("x", "3"), "there is no item '3'"),  # type: ignore[arg-type]
        (label("x", 0, 2), "there is no class 2: there are 2"),
        (label("x", 0, -1), "there is no class -1"),
        (NewAct("x", 0, "label", "ann", "rank"), "there is no class None"),
        (NewAct("x", 0, "settle", "ann", "browse"), "there is no class None"),
        (NewAct("x", 0, "skip", "ann", "rank", 1), "'skip' names no class, but 1 was given"),
        (NewAct("x", 0, "skip", "ann", "rank", undoes="a"), "'skip' takes nothing back, but 'a' was named"),
        (NewAct("x", 0, "eat", "ann", "rank"), "'eat' is nothing that can be done"),  # type: ignore[arg-type]
        (NewAct("x", 0, "skip", "ann", "mood"), "'mood' is no reason"),  # type: ignore[arg-type]
        (label("x", by=""), "the annotator's name must be 1 to 100 characters"),
        (label("x", by="\ud800"), "the annotator's name must be"),
        (label(""), "the id of an act must be 1 to 100 characters of plain text"),
        (label("x" * 101), "the id of an act must be"),
        (label("\ud800"), "the id of an act must be"),
        (undo("x", None), "there is no act None to undo"),
        (undo("x", "nothing"), "there is no act 'nothing' to undo"),
        (undo("x", "\ud800"), r"there is no act '\ud800' to undo"),
        (undo("x", "a", by="bob"), "it was 'ann' who did this (label 0 on item 0 by 'ann'): only they can undo it"),
        (undo("x", "a", item=5), "the act to undo is about item 0, not 5"),
        (undo("x", "b"), "it is undone already: label 0 on item 0 by 'ann'"),
        (undo("x", "u"), "an undo cannot be undone"),
    ],
)
def test_what_cannot_be_taken_is_refused_alone_with_the_reason(journal: Journal, act: NewAct, reason: str) -> None:
    journal.write([label("a"), label("b"), undo("u", "b")])
    before, bad, after = journal.write([label("one", 1), act, label("two", 2)])
    assert isinstance(bad, RefusedAct)
    assert reason in bad.reason
    assert journal.acts(since=3) == [before, after]


def test_what_is_refused_can_always_be_told(journal: Journal) -> None:
    odd, fine = journal.write([label("a\ud800"), label("b")])
    assert isinstance(odd, RefusedAct)
    assert odd.uid.encode() == b"a?"
    assert isinstance(fine, Act)


def test_an_undo_may_come_in_the_same_group_as_what_it_undoes(journal: Journal) -> None:
    _, _, twice = journal.write([label("a"), undo("u", "a"), undo("v", "a")])
    assert isinstance(twice, RefusedAct)
    assert [act.uid for act in journal.acts()] == ["a", "u"]


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf"), 1e300, 10**400, "3", True])
def test_a_clock_gone_wrong_loses_no_answer(journal: Journal, seconds: Any) -> None:
    (act,) = written(journal.write([label("a", seconds=seconds)]))
    assert act.seconds is None
    assert journal.acts() == [act]


def test_acts_and_classes_and_the_names_of_items_cannot_be_changed_or_deleted(journal: Journal, path: Path) -> None:
    journal.write([label("a"), label("b", 1), undo("u", "b", 1)])
    columns = "id, uid, item, kind, annotator, why, undoes, saw_guess, at"
    before = (journal.acts(), journal.class_list().names, journal.items())
    with sqlite3.connect(path) as other:  # another program, that knows nothing of the rules
        for statement in (
            "UPDATE acts SET class = 1",
            "UPDATE acts SET at = ''",
            "DELETE FROM acts",
            "DELETE FROM acts WHERE id = 1",
            f"REPLACE INTO acts ({columns}) VALUES (1, 'z', 0, 'skip', 'x', 'rank', NULL, 0, '')",
            f"REPLACE INTO acts ({columns}) VALUES (9, 'a', 0, 'skip', 'x', 'rank', NULL, 0, '')",
            f"REPLACE INTO acts ({columns}) VALUES (9, 'z', 0, 'undo', 'x', 'rank', 'b', 0, '')",
            "UPDATE classes SET id = 9 WHERE id = 0",
            "DELETE FROM classes",
            "REPLACE INTO classes VALUES (0)",
            "UPDATE class_changes SET name = 'cow' WHERE id = 1",
            "DELETE FROM class_changes",
            "REPLACE INTO class_changes VALUES (1, 'add', 0, 'cow', NULL, NULL, '', '')",
            "UPDATE items SET name = 'x' WHERE id = 0",
            "UPDATE items SET id = 99 WHERE id = 0",
            "DELETE FROM items",
            "REPLACE INTO items VALUES (0, 'x', 0)",
        ):
            with pytest.raises(sqlite3.DatabaseError, match="are only ever added"):
                other.execute(statement)
    other.close()
    assert (journal.acts(), journal.class_list().names, journal.items()) == before


def test_a_commit_waits_for_the_disk(journal: Journal) -> None:
    journal.hand_out(0, "ann", "rank", 1.0)
    journal.write([label("a")])
    assert journal._db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    assert journal._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_threads_take_turns(journal: Journal) -> None:
    def work(name: str) -> None:
        for number in range(20):
            journal.write([label(f"{name}-{number}", by=name)])
            journal.hand_out(number % 10, name, "rank", 1.0)
            journal.acts()

    threads = [threading.Thread(target=work, args=(f"person {number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [act.id for act in journal.acts()] == list(range(1, 81))


# items and classes


def test_items_keep_their_ids_whatever_comes_and_goes(journal: Journal) -> None:
    assert journal.items() == [ItemRow(id_, name, False) for id_, name in enumerate(NAMES)]
    assert journal.item_count() == 10
    changes = journal.update_items(["new.png", *NAMES[2:], "a.png", "new.png"])
    assert changes == ItemChanges(new=[10, 11], gone=[0, 1], back=[])
    assert [row.id for row in journal.items() if row.gone] == [0, 1]
    assert [row.name for row in journal.items()] == [*NAMES, "new.png", "a.png"]
    assert journal.update_items([*NAMES[1:], "new.png"]) == ItemChanges(new=[], gone=[11], back=[1])
    assert [row.id for row in journal.items() if row.gone] == [0, 11]
    assert isinstance(journal.write([label("late", 0)])[0], Act)  # it was in somebody's hand when it vanished


@given(st.lists(st.lists(st.sampled_from("abcdefgh")), max_size=6))
def test_an_id_never_changes_its_meaning(lists: list[list[str]]) -> None:
    with tempfile.TemporaryDirectory() as folder, Journal.create(Path(folder) / PROJECT_DB_FILE, []) as journal:
        known: dict[int, str] = {}
        for names in lists:
            journal.update_items(names)
            rows = journal.items()
            assert [row.id for row in rows] == list(range(len(rows)))
            assert known.items() <= {row.id: row.name for row in rows}.items()
            assert {row.name for row in rows if not row.gone} == set(names)
            known = {row.id: row.name for row in rows}


def test_ten_thousand_items_are_taken_up_at_once(path: Path) -> None:
    names = [f"some/folder/{number:06}.jpeg" for number in range(10_000)]
    start = time.perf_counter()
    with Journal.create(path, names) as journal:
        journal.update_items(names[:-1])
        journal.update_items(names)
        assert journal.item_count() == 10_000
    assert time.perf_counter() - start < 5  # a tenth of a second on an idle machine; this one may be busy


def test_a_name_that_is_no_text_says_which_file_to_rename(journal: Journal) -> None:
    with pytest.raises(DataError, match=r"The name of 'a\\udcff.png' is not valid UTF-8: rename the file\."):
        journal.update_items(["a\udcff.png"])
    assert journal.item_count() == 10


def test_a_class_is_added_once_and_is_nothing_but_data(journal: Journal) -> None:
    assert journal.class_list().names == ["cat", "dog"]
    assert journal.add_class("dog", "ann") == 1
    assert journal.add_class("<script>alert('1')</script>", "ann") == 2
    assert journal.add_class("  caf\u0065\u0301   au lait ", "ann") == 3  # an accent of its own, and blanks
    assert journal.add_class("caf\u00e9 au lait", "bob") == 3
    assert journal.class_list().names == ["cat", "dog", "<script>alert('1')</script>", "caf\u00e9 au lait"]
    assert isinstance(journal.write([label("a", 0, 3)])[0], Act)


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "a\x00b", "a\ud800", "a\u202eb"])
def test_a_name_that_cannot_be_shown_is_refused(journal: Journal, name: str) -> None:
    with pytest.raises(DataError, match=r"name for a class"):
        journal.add_class(name, "ann")
    with pytest.raises(DataError, match=r"name for a person"):
        journal.set_person(name, "hash")
    assert journal.class_list().names == ["cat", "dog"]


# transactions


def test_what_is_written_in_one_transaction_counts_together_or_not_at_all(journal: Journal, path: Path) -> None:
    before = (journal.acts(), journal.class_list().names, journal.items())
    with Journal.open(path, "ro") as reader:
        with pytest.raises(ZeroDivisionError), journal.transaction():
            journal.add_class("cow", "ann")
            journal.write([label("a", 0, 2)])
            journal.update_items([*NAMES, "new.png"])
            journal.save_leases({1: Lease(1, "ann", "rank", 1.0)})
            with journal.transaction():  # joins the one that is open
                journal.rename_class(0, "kitten", "ann")
            assert reader.acts() == []
            assert 1 / 0
        assert (journal.acts(), journal.class_list().names, journal.items()) == before
        assert journal.leases() == []
        with journal.transaction():
            class_ = journal.add_class("cow", "ann")
            (act,) = written(journal.write([label("a", 0, class_)]))
            assert reader.class_list().names == ["cat", "dog"]
        assert (reader.acts(), reader.class_list().names) == ([act], ["cat", "dog", "cow"])
    journal.write([label("b")])  # and the next one is on its own again
    assert [act.uid for act in journal.acts()] == ["a", "b"]


def test_another_thread_waits_for_the_end_of_a_transaction(journal: Journal) -> None:
    with pytest.raises(ZeroDivisionError), journal.transaction():
        journal.write([label("a")])
        other = threading.Thread(target=journal.write, args=([label("b", 1)],))
        other.start()
        assert 1 / 0
    other.join()
    assert [act.uid for act in journal.acts()] == ["b"]


# people and leases


def test_a_password_can_be_changed(journal: Journal) -> None:
    journal.set_person("bob", "one")
    journal.set_person("ann", "two")
    journal.set_person("bob", "three")
    assert journal.people() == {"ann": "two", "bob": "three"}


def test_leases_last_and_keep_their_order_when_renewed(journal: Journal, path: Path) -> None:
    journal.save_leases({7: Lease(7, "ann", "rank", 5.0), 3: Lease(3, "ann", "audit", 5.0)})
    journal.hand_out(1, "bob", "twice", 6.5)
    journal.hand_out(7, "ann", "rank", 9.0)
    with Journal.open(path, "ro") as reader:
        assert reader.leases() == [
            Lease(7, "ann", "rank", 9.0),
            Lease(3, "ann", "audit", 5.0),
            Lease(1, "bob", "twice", 6.5),
        ]
    journal.give_back(3, "bob")  # not his
    journal.hand_out(7, "bob", "rank", 10.0)
    assert [lease.item for lease in journal.leases()] == [3, 1, 7]
    journal.save_leases({3: None, 1: None, 2: None})
    journal.save_leases({})
    assert journal.leases() == [Lease(7, "bob", "rank", 10.0)]


def test_an_answer_ends_the_lease_of_who_gave_it_in_the_same_transaction(journal: Journal) -> None:
    for item in range(4):
        journal.hand_out(item, "ann", "rank", 5.0)
    acts = [label("a", 0), NewAct("b", 1, "skip", "ann", "rank"), NewAct("c", 2, "flag", "ann", "rank")]
    journal.write([*acts, label("d", 3, by="bob")])
    assert [lease.item for lease in journal.leases()] == [2, 3]


# the file


def test_another_process_reads_while_this_one_writes(journal: Journal, path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from deepbass.label.journal import Journal\n"
        "with Journal.open(Path(sys.argv[1]), 'ro') as journal:\n"
        "    for _ in sys.stdin: print(len(journal.acts()), flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        for count in range(1, 5):
            journal.write([label(f"a{count}")])
            reader.stdin.write("\n")
            reader.stdin.flush()
            assert reader.stdout.readline() == f"{count}\n"


def test_who_reads_cannot_write(journal: Journal, path: Path) -> None:
    with Journal.open(path, "ro") as reader, pytest.raises(StoreError, match=r"Cannot write 1 answers in .*readonly"):
        reader.write([label("a")])
    assert journal.acts() == []


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """Make a folder that other users can look into, unlike tmp_path."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    for place in (folder, *folder.rglob("*")):
        place.chmod(0o755)
    shutil.rmtree(folder)


def _as_reader_of_a_read_only_place(path: Path) -> str:
    """Count acts as a user without rights on ``path``; root is never refused, so it becomes nobody first."""
    for place in (*path.rglob("*"), path):
        place.chmod(0o555 if place.is_dir() else 0o444)
    code = (
        "import os, sys; from pathlib import Path; from deepbass.label.journal import Journal\n"
        "if os.getuid() == 0: os.setuid(65534)\n"
        "with Journal.open(Path(sys.argv[1]) / 'labels.db', 'ro') as journal: print(len(journal.acts()), 'acts')\n"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_a_journal_on_a_read_only_disk_can_be_read(public_folder: Path) -> None:
    with Journal.create(public_folder / PROJECT_DB_FILE, NAMES, ["cat"]) as journal:
        journal.write([label("a")])
    assert _as_reader_of_a_read_only_place(public_folder) == "1 acts\n"


@pytest.mark.parametrize(("with_index", "said"), [(True, "1 acts\n"), (False, "StoreError: Cannot open the database")])
def test_a_read_only_copy_of_a_journal_that_was_open_never_shows_less_than_was_written(
    public_folder: Path, path: Path, with_index: bool, said: str
) -> None:
    with Journal.create(path, NAMES, ["cat"]) as journal:
        journal.write([label("a")])
        for file in path.parent.glob("labels.db*"):
            if with_index or not file.name.endswith("-shm"):
                shutil.copy(file, public_folder)
    assert said in _as_reader_of_a_read_only_place(public_folder)


def test_a_full_disk_is_explained_and_loses_nothing(journal: Journal, path: Path) -> None:
    journal.write([label("a")])
    journal._db.execute("PRAGMA max_page_count = 1")  # SQLite raises it to what is in use: full from now on
    many = [label(f"b{number}") for number in range(10_000)]
    with pytest.raises(StoreError, match=r"Cannot write 10000 answers in .*full\. Nothing of it was written, and all"):
        journal.write(many)
    assert [act.uid for act in journal.acts()] == ["a"]
    journal._db.execute("PRAGMA max_page_count = 1000000")
    assert len(written(journal.write(many))) == 10_000
    journal._db.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match=r"labels before it are safe: check that you may write there"):
        journal.write([label("c")])


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", rf"has format 0, not {FORMAT}"), (b"no database, but long enough to look like one" * 40, "is damaged")],
)
def test_what_is_no_journal_does_not_open_and_stays_untouched(path: Path, content: bytes, message: str) -> None:
    path.write_bytes(content)
    for mode in ("rw", "ro"):
        with pytest.raises(StoreError, match=message):
            Journal.open(path, mode)
    assert path.read_bytes() == content


def test_a_journal_that_is_missing_is_not_made_by_opening_and_one_that_is_there_not_by_creating(path: Path) -> None:
    for mode in ("rw", "ro"):
        with pytest.raises(StoreError, match="Cannot open the database"):
            Journal.open(path, mode)
    assert not path.exists()
    Journal.create(path, NAMES).close()
    with pytest.raises(StoreError, match="exists already"):
        Journal.create(path, NAMES)


def test_another_format_is_refused(path: Path) -> None:
    Journal.create(path, NAMES).close()
    other = sqlite3.connect(path)
    other.execute("PRAGMA user_version = 7")
    other.close()
    with pytest.raises(StoreError, match=rf"has format 7, not {FORMAT}: it belongs to another version of deepbass"):
        Journal.open(path)
