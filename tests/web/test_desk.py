"""The desk: what is acknowledged is on the disk, what arrives together is committed together, nothing is twice."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepbass.core.errors import DataError, StoreError
from deepbass.label.acts import Act, NewAct
from deepbass.label.journal import Journal, Refused
from deepbass.label.ledger import Ledger
from deepbass.label.models import newest_model
from deepbass.label.project import Project
from deepbass.web.desk import Desk
from deepbass.web.incoming import Incoming
from deepbass.web.panel import Panel
from tests.label.projects import begin_model, commit, make_images, make_project, make_ranking
from tests.web.served import small_project

SOON = 30.0


@contextmanager
def open_desk(project: Project) -> Iterator[Desk]:
    desk = Desk(project, project.open_items())
    try:
        yield desk
    finally:
        desk.close()


def said(uid: str, item: int, class_: int | None = 0, **more: Any) -> NewAct:
    given: dict[str, Any] = {"kind": "label", "annotator": "", "why": "", **more}
    return NewAct(uid=uid, item=item, class_=class_, **given)


def incoming(*acts: NewAct, want: int = 0, holding: tuple[int, ...] = ()) -> Incoming:
    return Incoming(list(acts), want, holding)


def on_disk(project: Project) -> list[str]:
    with sqlite3.connect(f"file:{project.labels_db}?mode=ro", uri=True) as db:
        rows = db.execute("SELECT uid FROM acts ORDER BY id").fetchall()
    db.close()
    return [uid for (uid,) in rows]


class Gate:
    """Stands in for the journal's write: holds commits up until it is opened, and counts them."""

    def __init__(self, journal: Journal, write: Callable[[Any], list[Act | Refused]]) -> None:
        self.open = threading.Event()
        self.entered = threading.Event()
        self.groups: list[list[str]] = []
        self._write = write
        journal.write = self  # type: ignore[method-assign,assignment]

    def __call__(self, acts: list[NewAct]) -> list[Act | Refused]:
        self.groups.append([act.uid for act in acts])
        self.entered.set()
        assert self.open.wait(SOON)
        return self._write(acts)


def test_an_answer_is_acknowledged_only_after_its_commit(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with open_desk(project) as desk:
        gate = Gate(desk._journal, desk._journal.write)
        done = desk.answer("ann", incoming(said("a", 0)))
        assert gate.entered.wait(SOON)
        assert not done.done()
        assert on_disk(project) == []
        gate.open.set()
        assert done.result(SOON).saved == ["a"]
        assert on_disk(project) == ["a"]


def test_what_arrives_during_a_commit_is_committed_as_one_group(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with open_desk(project) as desk:
        gate = Gate(desk._journal, desk._journal.write)
        first = desk.answer("ann", incoming(said("a", 0)))
        assert gate.entered.wait(SOON)
        others = [desk.answer(f"p{number}", incoming(said(f"u{number}", number))) for number in range(1, 10)]
        gate.open.set()
        wait([first, *others], SOON)
        assert gate.groups == [["a"], [f"u{number}" for number in range(1, 10)]]
        assert [each.result().saved for each in others] == [[f"u{number}"] for number in range(1, 10)]


def test_a_full_disk_is_told_to_everyone_of_the_group_and_nothing_of_it_is_kept(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with open_desk(project) as desk:
        write = desk._journal.write

        def fails(acts: object) -> list[Act | Refused]:
            raise StoreError("The disk is full.")

        desk._journal.write = fails  # type: ignore[method-assign]
        results = [desk.answer("ann", incoming(said(str(number), number))) for number in range(3)]
        for result in results:
            with pytest.raises(StoreError, match="full"):
                result.result(SOON)
        desk._journal.write = write  # type: ignore[method-assign]
        assert desk.panel().result(SOON)["labels"] == 0
        assert desk.answer("ann", incoming(said("0", 0))).result(SOON).saved == ["0"]
        assert on_disk(project) == ["0"]


def test_a_receipt_is_given_although_leases_cannot_be_written(tmp_path: Path) -> None:
    with open_desk(small_project(tmp_path)) as desk:

        def fails(leases: object) -> None:
            raise StoreError("The disk is full.")

        desk._journal.save_leases = fails  # type: ignore[method-assign,assignment]
        receipt = desk.answer("ann", incoming(said("a", 0), want=2)).result(SOON)
        assert receipt.saved == ["a"]
        assert len(receipt.questions) == 2


def test_one_whose_answer_cannot_be_handled_does_not_hold_up_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    project = small_project(tmp_path)
    with open_desk(project) as desk:
        gate = Gate(desk._journal, desk._journal.write)
        sign = desk._new_act

        def stumbles(raw: NewAct, annotator: str) -> NewAct:
            if annotator == "odd":
                raise TypeError("something nobody thought of")
            return sign(raw, annotator)

        desk._new_act = stumbles  # type: ignore[method-assign]
        first = desk.answer("ann", incoming(said("a", 0)))
        assert gate.entered.wait(SOON)
        odd = desk.answer("odd", incoming(said("b", 1)))
        fine = desk.answer("ben", incoming(said("c", 2)))
        gate.open.set()
        assert first.result(SOON).saved == ["a"]
        assert fine.result(SOON).saved == ["c"]
        with pytest.raises(TypeError):
            odd.result(SOON)
        assert on_disk(project) == ["a", "c"]


def test_the_same_uid_is_written_once_also_within_a_group(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with open_desk(project) as desk:
        gate = Gate(desk._journal, desk._journal.write)
        first = desk.answer("ann", incoming(said("x", 0)))
        assert gate.entered.wait(SOON)
        again = [desk.answer("ann", incoming(said("a", 1), said("a", 1))) for _ in range(5)]
        stolen = desk.answer("ben", incoming(said("a", 1)))
        gate.open.set()
        wait([first, *again, stolen], SOON)
        assert all(each.result().saved == ["a", "a"] for each in again)
        assert stolen.result().saved == []
        assert "'ann'" in stolen.result().refused[0].reason
        assert on_disk(project) == ["x", "a"]
        assert desk.panel().result(SOON)["labels"] == 2


def test_many_people_at_once_lose_nothing_and_get_different_questions(tmp_path: Path) -> None:
    project = small_project(tmp_path, 300)
    with open_desk(project) as desk:
        asked: dict[str, list[int]] = {}

        def work(name: str) -> None:
            asked[name] = []
            questions, _ = desk.next(name, 3).result(SOON)
            while questions and len(asked[name]) < 25:
                item = questions[0].item
                asked[name].append(item)
                receipt = desk.answer(
                    name,
                    incoming(said(f"{name}-{item}", item), want=1, holding=tuple(each.item for each in questions[1:])),
                ).result(SOON)
                assert receipt.saved == [f"{name}-{item}"]
                questions = [*questions[1:], *receipt.questions]

        threads = [threading.Thread(target=work, args=(f"p{number}",)) for number in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        items = [item for each in asked.values() for item in each]
        assert len(items) == len(set(items)) == 250
        assert sorted(on_disk(project)) == sorted(f"{name}-{item}" for name, each in asked.items() for item in each)


def test_why_an_item_was_looked_at_follows_from_what_was_handed_out(tmp_path: Path) -> None:
    project = small_project(tmp_path, 60, audit=0.5)
    reserve = set(project.audit_reserve().tolist())
    with open_desk(project) as desk:
        questions, _ = desk.next("ann", 12).result(SOON)
        whys = {question.item: question.why for question in questions}
        assert {item for item, why in whys.items() if why == "audit"} == set(whys) & reserve
        desk.answer("ann", incoming(*(said(str(item), item) for item in whys))).result(SOON)
        late = next(item for item in reserve if item not in whys)  # its lease went to somebody else
        desk.answer("ann", incoming(said("late", late))).result(SOON)
    with Journal.open(project.labels_db, "ro") as journal:
        written = {act.item: act.why for act in journal.acts()}
    assert written == {**whys, late: "audit"}


def test_a_restart_gives_the_same_questions_back(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with open_desk(project) as desk:
        before, _ = desk.next("ann", 4).result(SOON)
    with open_desk(project) as desk:
        after, _ = desk.next("ann", 4).result(SOON)
    assert [question.item for question in after] == [question.item for question in before]


def test_with_nothing_left_to_ask_the_desk_says_why(tmp_path: Path) -> None:
    with open_desk(small_project(tmp_path, 3)) as desk:
        desk.answer("ann", incoming(*(said(str(item), item) for item in range(3)))).result(SOON)
        assert desk.next("ann", 4).result(SOON) == ([], "All images are labelled.")


def test_what_is_on_the_desk_is_finished_before_it_closes_and_nothing_is_taken_after(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    desk = Desk(project, project.open_items())
    gate = Gate(desk._journal, desk._journal.write)
    first = desk.answer("ann", incoming(said("a", 0)))
    assert gate.entered.wait(SOON)
    second = desk.answer("ann", incoming(said("b", 1)))
    closing = threading.Thread(target=desk.close)
    closing.start()
    gate.open.set()
    closing.join()
    assert first.result(0).saved == ["a"]
    assert second.result(0).saved == ["b"]
    assert on_disk(project) == ["a", "b"]
    with pytest.raises(StoreError, match="ending"):
        desk.answer("ann", incoming(said("c", 2)))


def test_one_desk_a_project(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with open_desk(project), pytest.raises(StoreError, match="in use by process"):
        Desk(project, project.open_items())
    with open_desk(project):
        pass  # the lock is free again


def test_a_desk_that_cannot_open_leaves_no_lock_behind(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    other = make_project(tmp_path / "other", make_images(tmp_path / "strangers", ["z.png"])).open_items()
    with pytest.raises(DataError, match="another source"):
        Desk(project, other)
    with open_desk(project):
        pass


def test_a_newer_model_changes_what_is_asked_and_is_told(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with open_desk(project) as desk:
        news: list[str] = []
        desk.on_news = news.append
        desk.look_for_model()  # there is none
        with begin_model(project) as run:
            score = np.zeros(12, np.float32)
            score[7] = 1.0
            commit(run, 1, make_ranking([0, 1] * 6, score=score))
            desk.look_for_model()
            assert [each.item for each in desk.next("ann", 1).result(SOON)[0]] == [7]
            assert news == ["ranking"]
            desk.look_for_model()  # the same
            assert desk.panel().result(SOON)["iteration"] == 1
            assert news == ["ranking"]
            commit(run, 2, make_ranking([0, 1] * 6, known=9))
            desk.look_for_model()
            panel = desk.panel().result(SOON)
            assert (panel["iteration"], panel["known_to_model"]) == (2, 9)


def test_whoever_listens_badly_does_not_stop_the_desk(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with open_desk(small_project(tmp_path)) as desk:

        def fails(news: str) -> None:
            raise RuntimeError(news)

        desk.on_news = fails
        for number in range(3):
            assert desk.answer("ann", incoming(said(str(number), number))).result(SOON).saved
        assert desk.add_class("fish", "ann").result(SOON) == (2, "fish")


def test_the_spread_is_found_beside_and_does_not_hold_up_the_end(tmp_path: Path) -> None:
    project = small_project(tmp_path, 40)
    with open_desk(project) as desk:
        desk.spread_out()
        assert desk._spreader is not None
        desk._spreader.join()
        desk.panel().result(SOON)
        spread = list(desk._queue.spread)
        assert sorted(spread) == list(range(40))
        assert [each.item for each in desk.next("ann", 40).result(SOON)[0]] == spread
    stuck = small_project(tmp_path / "more", 40)
    looked: list[str] = []
    with open_desk(stuck) as desk:
        see = desk.items.see

        def slow(name: str, side: int) -> Any:
            looked.append(name)
            desk._closing.wait(SOON)
            return see(name, side)

        object.__setattr__(desk.items, "see", slow)
        desk.spread_out()
    assert len(looked) < 40


def test_the_panel_says_what_the_ledger_says(tmp_path: Path) -> None:
    project = small_project(tmp_path, 120, audit=0.2, target_error=0.2)
    reserve = project.audit_reserve().tolist()
    guess = [item % 2 for item in range(120)]
    with begin_model(project) as run:
        for iteration, (known, errors) in enumerate(((10, 5), (20, 3), (20, 2), (30, 1))):
            commit(run, iteration, make_ranking(guess, known=known), audit=10, audit_errors=errors)
    with open_desk(project) as desk:
        wrong = reserve[:3]
        acts = [said(str(item), item, 1 - guess[item] if item in wrong else guess[item]) for item in reserve[:20]]
        desk.answer("ann", incoming(*acts)).result(SOON)
        panel = desk.panel().result(SOON)
        back = said("back", wrong[0], None, kind="undo", undoes=str(wrong[0]))
        undone = desk.answer("ann", incoming(back)).result(SOON).panel
        assert (undone["audit"]["n"], undone["audit"]["errors"]) == (19, 2)
        mended = said("mended", wrong[1], guess[wrong[1]], why="browse")
        assert desk.answer("ann", incoming(mended)).result(SOON).panel["audit"]["errors"] == 1
    assert panel["audit"]["n"] == 20
    assert panel["audit"]["errors"] == 3
    assert panel["audit"]["low"] < 0.15 < panel["audit"]["high"]
    assert [(point["labels"], point["estimate"]) for point in panel["history"]] == [(10, 0.5), (20, 0.2), (30, 0.1)]
    assert panel["pseudo"] == 120
    assert panel["ready"] is None


def test_good_enough_is_said_by_what_was_written_down_with_the_commits(tmp_path: Path) -> None:
    project = small_project(tmp_path, 12, target_error=0.2)
    with begin_model(project) as run:
        commit(run, 1, make_ranking([0] * 12, known=5), audit=200, audit_errors=2)
    with open_desk(project) as desk:
        panel = desk.panel().result(SOON)
    assert panel["audit"] is None  # nobody here answered an audit question
    assert "2 of 200 audit images" in panel["good_enough"]


def test_a_long_curve_is_thinned_and_keeps_its_ends(tmp_path: Path) -> None:
    project = small_project(tmp_path, 12)
    with begin_model(project) as run:
        for known in range(1, 151):
            commit(run, known, make_ranking([0] * 12, known=known), audit=10, audit_errors=1)
    history = Panel(project).numbers(Ledger(), 2, newest_model(project))["history"]
    assert len(history) == 40
    assert (history[0]["labels"], history[-1]["labels"]) == (1, 150)
