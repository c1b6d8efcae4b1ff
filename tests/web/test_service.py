"""The service: what is acknowledged is on the disk, what arrives together is committed together, nothing is twice."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import wait
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepbass.core.errors import DataError, StoreError
from deepbass.label.acts import Act, NewAct, Question
from deepbass.label.journal import Journal, RefusedAct
from deepbass.label.project import Project
from deepbass.label.project_database import open_database
from deepbass.web.service import LabelService
from deepbass.web.views import Sought
from tests.label.projects import begin_model, commit, make_images, make_project, make_ranking
from tests.web.open_service import SOON, incoming, open_service, sent
from tests.web.served import small_project


def on_disk(project: Project) -> list[str]:
    with sqlite3.connect(f"file:{project.labels_db}?mode=ro", uri=True) as db:
        rows = db.execute("SELECT uid FROM acts ORDER BY id").fetchall()
    db.close()
    return [uid for (uid,) in rows]


class Gate:
    """Stands in for the journal's write: holds commits up until it is opened, and counts them."""

    def __init__(self, journal: Journal, write: Callable[[Any], list[Act | RefusedAct]]) -> None:
        self.open = threading.Event()
        self.entered = threading.Event()
        self.groups: list[list[str]] = []
        self._write = write
        journal.write = self  # type: ignore[method-assign,assignment]

    def __call__(self, acts: list[NewAct]) -> list[Act | RefusedAct]:
        self.groups.append([act.uid for act in acts])
        self.entered.set()
        assert self.open.wait(SOON)
        return self._write(acts)


def test_an_answer_is_acknowledged_only_after_its_commit(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with open_service(project) as service:
        gate = Gate(service._journal, service._journal.write)
        done = service.answer("ann", incoming(sent("a", 0)))
        assert gate.entered.wait(SOON)
        assert not done.done()
        assert on_disk(project) == []
        gate.open.set()
        assert done.result(SOON).saved == ["a"]
        assert on_disk(project) == ["a"]


def test_what_arrives_during_a_commit_is_committed_as_one_group(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with open_service(project) as service:
        gate = Gate(service._journal, service._journal.write)
        first = service.answer("ann", incoming(sent("a", 0)))
        assert gate.entered.wait(SOON)
        others = [service.answer(f"p{number}", incoming(sent(f"u{number}", number))) for number in range(1, 10)]
        gate.open.set()
        wait([first, *others], SOON)
        assert gate.groups == [["a"], [f"u{number}" for number in range(1, 10)]]
        assert [each.result().saved for each in others] == [[f"u{number}"] for number in range(1, 10)]


def test_a_full_disk_is_told_to_everyone_of_the_group_and_nothing_of_it_is_kept(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with open_service(project) as service:
        write = service._journal.write

        def fails(acts: object) -> list[Act | RefusedAct]:
            raise StoreError("The disk is full.")

        service._journal.write = fails  # type: ignore[method-assign]
        results = [service.answer("ann", incoming(sent(str(number), number))) for number in range(3)]
        for result in results:
            with pytest.raises(StoreError, match="full"):
                result.result(SOON)
        service._journal.write = write  # type: ignore[method-assign]
        assert service.panel().result(SOON)["labels"] == 0
        assert service.answer("ann", incoming(sent("0", 0))).result(SOON).saved == ["0"]
        assert on_disk(project) == ["0"]


def test_a_receipt_is_given_although_leases_cannot_be_written(tmp_path: Path) -> None:
    with open_service(small_project(tmp_path)) as service:

        def fails(leases: object) -> None:
            raise StoreError("The disk is full.")

        service._journal.save_leases = fails  # type: ignore[method-assign,assignment]
        receipt = service.answer("ann", incoming(sent("a", 0), want=2)).result(SOON)
        assert receipt.saved == ["a"]
        assert len(receipt.questions) == 2


def test_one_whose_answer_cannot_be_handled_does_not_hold_up_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    project = small_project(tmp_path)
    with open_service(project) as service:
        gate = Gate(service._journal, service._journal.write)
        sign = service._new_act

        def stumbles(raw: NewAct, annotator: str) -> NewAct:
            if annotator == "odd":
                raise TypeError("something nobody thought of")
            return sign(raw, annotator)

        service._new_act = stumbles  # type: ignore[method-assign]
        first = service.answer("ann", incoming(sent("a", 0)))
        assert gate.entered.wait(SOON)
        odd = service.answer("odd", incoming(sent("b", 1)))
        fine = service.answer("ben", incoming(sent("c", 2)))
        gate.open.set()
        assert first.result(SOON).saved == ["a"]
        assert fine.result(SOON).saved == ["c"]
        with pytest.raises(TypeError):
            odd.result(SOON)
        assert on_disk(project) == ["a", "c"]


def test_the_same_uid_is_written_once_also_within_a_group(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with open_service(project) as service:
        gate = Gate(service._journal, service._journal.write)
        first = service.answer("ann", incoming(sent("x", 0)))
        assert gate.entered.wait(SOON)
        again = [service.answer("ann", incoming(sent("a", 1), sent("a", 1))) for _ in range(5)]
        stolen = service.answer("ben", incoming(sent("a", 1)))
        gate.open.set()
        wait([first, *again, stolen], SOON)
        assert all(each.result().saved == ["a", "a"] for each in again)
        assert stolen.result().saved == []
        assert "'ann'" in stolen.result().refused[0].reason
        assert on_disk(project) == ["x", "a"]
        assert service.panel().result(SOON)["labels"] == 2


def test_many_people_at_once_lose_nothing_and_get_different_questions(tmp_path: Path) -> None:
    project = small_project(tmp_path, 300)
    with open_service(project) as service:
        asked: dict[str, list[int]] = {}

        def work(name: str) -> None:
            asked[name] = []
            questions, _ = service.next(name, 3).result(SOON)
            while questions and len(asked[name]) < 25:
                item = questions[0].item
                asked[name].append(item)
                receipt = service.answer(
                    name,
                    incoming(sent(f"{name}-{item}", item), want=1, holding=tuple(each.item for each in questions[1:])),
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
    with open_service(project) as service:
        questions, _ = service.next("ann", 12).result(SOON)
        whys = {question.item: question.why for question in questions}
        assert {item for item, why in whys.items() if why == "audit"} == set(whys) & reserve
        service.answer("ann", incoming(*(sent(str(item), item) for item in whys))).result(SOON)
        late = next(item for item in reserve if item not in whys)  # its lease went to somebody else
        service.answer("ann", incoming(sent("late", late))).result(SOON)
    with Journal.open(project.labels_db, "ro") as journal:
        written = {act.item: act.why for act in journal.acts()}
    assert written == {**whys, late: "audit"}


def test_a_restart_gives_the_same_questions_back(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with open_service(project) as service:
        before, _ = service.next("ann", 4).result(SOON)
    with open_service(project) as service:
        after, _ = service.next("ann", 4).result(SOON)
    assert [question.item for question in after] == [question.item for question in before]


def test_with_nothing_left_to_ask_it_says_why(tmp_path: Path) -> None:
    with open_service(small_project(tmp_path, 3)) as service:
        service.answer("ann", incoming(*(sent(str(item), item) for item in range(3)))).result(SOON)
        assert service.next("ann", 4).result(SOON) == ([], "All images are labelled.")


def test_what_waits_is_finished_before_it_closes_and_nothing_is_taken_after(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    service = LabelService(project, project.open_items())
    gate = Gate(service._journal, service._journal.write)
    first = service.answer("ann", incoming(sent("a", 0)))
    assert gate.entered.wait(SOON)
    second = service.answer("ann", incoming(sent("b", 1)))
    closing = threading.Thread(target=service.close)
    closing.start()
    gate.open.set()
    closing.join()
    assert first.result(0).saved == ["a"]
    assert second.result(0).saved == ["b"]
    assert on_disk(project) == ["a", "b"]
    with pytest.raises(StoreError, match="ending"):
        service.answer("ann", incoming(sent("c", 2)))


def test_one_service_per_project(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with open_service(project), pytest.raises(StoreError, match="in use by process"):
        LabelService(project, project.open_items())
    with open_service(project):
        pass  # the lock is free again


def test_a_service_that_cannot_open_leaves_no_lock_behind(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    other = make_project(tmp_path / "other", make_images(tmp_path / "strangers", ["z.png"])).open_items()
    with pytest.raises(DataError, match="another source"):
        LabelService(project, other)
    with open_service(project):
        pass


def test_a_newer_model_changes_what_is_asked_and_is_told(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with open_service(project) as service:
        news: list[str] = []
        service.on_news = news.append
        service.look_for_model()  # there is none
        with begin_model(project) as run:
            score = np.zeros(12, np.float32)
            score[7] = 1.0
            commit(run, 1, make_ranking([0, 1] * 6, score=score))
            service.look_for_model()
            assert [each.item for each in service.next("ann", 1).result(SOON)[0]] == [7]
            assert news == ["ranking"]
            service.look_for_model()  # the same
            assert service.panel().result(SOON)["iteration"] == 1
            assert news == ["ranking"]
            commit(run, 2, make_ranking([0, 1] * 6, known=9))
            service.look_for_model()
            panel = service.panel().result(SOON)
            assert (panel["iteration"], panel["known_to_model"]) == (2, 9)


def test_whoever_listens_badly_does_not_stop_the_service(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with open_service(small_project(tmp_path)) as service:

        def fails(news: str) -> None:
            raise RuntimeError(news)

        service.on_news = fails
        for number in range(3):
            assert service.answer("ann", incoming(sent(str(number), number))).result(SOON).saved
        assert service.add_class("fish", "ann").result(SOON)[0] == 2


def test_the_spread_is_found_beside_and_does_not_hold_up_the_end(tmp_path: Path) -> None:
    project = small_project(tmp_path, 40)
    with open_service(project) as service:
        service.spread_out()
        assert service._spreader is not None
        service._spreader.join()
        service.panel().result(SOON)
        spread = list(service._queue.spread)
        assert sorted(spread) == list(range(40))
        assert [each.item for each in service.next("ann", 40).result(SOON)[0]] == spread
    stuck = small_project(tmp_path / "more", 40)
    looked: list[str] = []
    with open_service(stuck) as service:
        see = service.items.see

        def slow(name: str, side: int) -> Any:
            looked.append(name)
            service._jobs.closing.wait(SOON)
            return see(name, side)

        object.__setattr__(service.items, "see", slow)
        service.spread_out()
    assert len(looked) < 40


def test_ids_that_deepbass_gives_itself_are_not_for_pages(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with open_service(project) as service:
        receipt = service.answer("ann", incoming(sent("source-3", 3), sent("a", 1), sent("import-x", 2))).result(SOON)
        assert receipt.saved == ["a"]
        assert [refused.uid for refused in receipt.refused] == ["source-3", "import-x"]
        assert {refused.reason for refused in receipt.refused} == {"ids of this kind are given by deepbass alone"}
        assert on_disk(project) == ["a"]


def test_labels_that_were_brought_along_are_no_opinion_to_agree_with(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with Journal.open(project.labels_db) as journal:
        journal.write([NewAct(f"import-{item}", item, "label", "bob", "import", 0) for item in range(6)])
        journal.write([NewAct(f"source-{item}", item, "label", "source", "source", 0) for item in range(6)])
    with open_service(project) as service:
        service.answer("ann", incoming(*(sent(str(item), item) for item in range(4)))).result(SOON)
        assert service.disagreements().result(SOON) == {"items": [], "agreement": []}
        service.answer("bob", incoming(sent("b0", 0, 1, why="browse"), sent("b1", 1, 0, why="browse"))).result(SOON)
        found = service.disagreements().result(SOON)
        assert [(pair["people"], pair["n"]) for pair in found["agreement"]] == [(["ann", "bob"], 2)]
        assert found["items"] == [
            {
                "item": 0,
                "name": "000.png",
                "answers": [{"annotator": "bob", "class": 1}, {"annotator": "ann", "class": 0}],
            }
        ]


def test_all_items_are_read_once_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = small_project(tmp_path)
    statements: list[str] = []

    def traced(path: Path, mode: Any) -> sqlite3.Connection:
        db = open_database(path, mode)
        db.set_trace_callback(statements.append)
        return db

    monkeypatch.setattr("deepbass.label.journal.open_database", traced)
    with open_service(project):
        pass
    assert len([one for one in statements if "FROM items" in one and "max(id)" not in one]) == 1


def asked(service: LabelService) -> list[dict[str, Any] | None]:
    """Tell why the model asked, of all answers, oldest first."""
    found = service.history(Sought()).result()["acts"]
    return [row["asked"] for row in reversed(found)]


def test_why_the_model_asked_is_told_after_the_answer_as_it_was_when_it_asked(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    shares: dict[str, Any] = {
        "confidence": np.full(12, 0.41, np.float32),
        "second_confidence": np.full(12, 0.39, np.float32),
    }
    with begin_model(project) as run:
        commit(run, 1, make_ranking([1] * 12, **shares))
        with open_service(project) as service:
            first, second = (question.item for question in service.next("ann", 2).result()[0])
            commit(run, 2, make_ranking([0] * 12))  # a newer model, which was not the one that asked
            service.look_for_model()
            label = sent("a", first)
            assert service.answer("ann", incoming(label)).result().saved == ["a"]
            told = {"rule": "max-entropy", "top": [{"class": 1, "share": 0.41}, {"class": 0, "share": 0.39}]}
            assert asked(service) == [told]
            service.answer("ann", incoming(label, sent("b", second))).result()  # sent again: written once
            assert asked(service) == [told, told]
            elsewhere = next(item for item in range(12) if item not in (first, second))
            service.answer("bob", incoming(sent("c", elsewhere, why="browse"))).result()
            assert asked(service) == [told, told, None]  # nobody asked for it
            service.merge_class(1, 0, "ann").result()
            assert asked(service)[0] == {"rule": "max-entropy", "top": [{"class": 0, "share": s} for s in (0.41, 0.39)]}
        with open_service(project) as again:
            assert [row is None for row in asked(again)] == [False, False, True]


def test_a_test_question_has_no_reason_but_the_draw_and_a_refused_guess_its_own(tmp_path: Path) -> None:
    project = small_project(tmp_path, 40, audit=0.5)
    with begin_model(project) as run:
        commit(run, 1, make_ranking([1] * 40))
    reserve = set(project.audit_reserve().tolist())
    refused = next(item for item in range(40) if item not in reserve)
    with open_service(project) as service:
        service.answer("bob", incoming(sent("v", refused, 1, kind="veto", why="guesses"))).result()
        items = [question.item for question in service.next("ann", 10).result()[0]]
        assert refused in items and reserve.intersection(items)
        service.answer("ann", incoming(*(sent(f"a{item}", item) for item in items))).result()
        reasons = dict(zip(items, asked(service)[1:], strict=True))
    assert {item for item, reason in reasons.items() if reason is None} == reserve.intersection(items)
    rules = {item: reason["rule"] for item, reason in reasons.items() if reason}
    assert {item for item, rule in rules.items() if rule == "veto"} == {refused}


def test_questions_taken_along_stay_with_the_person_for_hours_and_can_be_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = small_project(tmp_path, 12, lease_seconds=60)
    clock = [1000.0]
    monkeypatch.setattr("deepbass.web.service.time.time", lambda: clock[0])

    def items(questions: list[Question]) -> set[int]:
        return {question.item for question in questions}

    with open_service(project) as service:
        mine = items(service.take_along("ann", 8, 2.0, ()).result()[0])
        clock[0] += 3600  # far beyond the usual time
        assert items(service.next("bob", 12).result()[0]) == set(range(12)) - mine
        first = next(iter(mine))
        receipt = service.answer("ann", incoming(sent("a", first), want=1, holding=tuple(mine - {first}))).result()
        assert receipt.saved == ["a"]
        assert items(service.next("ann", 8).result()[0]) == mine - {first}  # asking anew does not shorten it
    with open_service(project) as again:
        assert not items(again.next("bob", 12).result()[0]) & mine  # nor does a restart
        kept = sorted(mine - {first})[:2]
        left, _ = again.take_along("ann", 2, 0, tuple(kept)).result()
        assert items(left) == set(kept)
        assert mine - {first} - set(kept) <= items(again.next("bob", 12).result()[0])
        clock[0] += 61
        assert set(kept) <= items(again.next("bob", 12).result()[0])  # the usual time again
