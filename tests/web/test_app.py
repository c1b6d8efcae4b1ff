"""The page's server over real HTTP: what it answers, and what it refuses."""

from __future__ import annotations

import json
import socket
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from deepbass.core.errors import StoreError
from deepbass.label.journal import Journal
from deepbass.web.live_events import PER_SESSION
from deepbass.web.requests import ACTS
from tests.label.projects import begin_model, commit, make_ranking
from tests.web.served import CHANGE, IDLE, Served, label, served, small_project


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Served]:
    with served(small_project(tmp_path)) as here:
        yield here


def written(here: Served) -> list[Any]:
    with Journal.open(here.project.labels_db, "ro") as journal:
        return journal.acts()


# answers


def test_an_answer_is_saved_when_it_is_acknowledged_and_brings_what_comes_next(page: Served) -> None:
    first = page.get("/api/next", count=3)["questions"]
    assert len(first) == 3
    assert page.get("/api/next", count=3)["questions"] == first  # a reload
    answer = label(first[0]["item"], 1, seconds=1.5, saw_guess=True)
    body = {"acts": [answer], "want": 2, "holding": [question["item"] for question in first[1:]]}
    receipt = page.post("/api/acts", body).json()
    with sqlite3.connect(page.project.labels_db) as db:
        row = db.execute("SELECT uid, item, kind, annotator, why, class, seconds, saw_guess FROM acts").fetchall()
    db.close()
    assert row == [(answer["uid"], answer["item"], "label", "ann", "spread", 1, 1.5, 1)]
    assert receipt["saved"] == [answer["uid"]]
    assert receipt["refused"] == []
    assert len(receipt["questions"]) == 2
    assert not {question["item"] for question in receipt["questions"]} & {question["item"] for question in first}
    assert receipt["panel"]["labels"] == 1
    assert receipt["panel"]["trainer"]["restarts"] == 0
    assert receipt["last"] == {
        "uid": answer["uid"], "item": answer["item"], "kind": "label", "class": 1, "name": first[0]["name"],
    }  # fmt: skip
    assert page.get("/api/last") == receipt["last"]


def test_questions_do_not_tell_which_of_them_is_an_audit(tmp_path: Path) -> None:
    with served(small_project(tmp_path, 60, audit=0.5)) as here:
        questions = here.get("/api/next", count=20)["questions"]
        assert all(set(question) == {"item", "name"} for question in questions)
        here.act(*(label(question["item"]) for question in questions))
        assert {act.why for act in written(here)} == {"audit", "spread"}


def test_the_same_answer_sent_again_is_acknowledged_and_written_once(page: Served) -> None:
    answer, undo = label(4, 1), {"uid": "u-undo", "item": 4, "kind": "undo"}
    undo["undoes"] = answer["uid"]
    for _ in range(3):
        assert page.act(answer)["saved"] == [answer["uid"]]
    for _ in range(3):
        assert page.act(undo)["saved"] == ["u-undo"]
    assert page.act(answer, answer, undo)["saved"] == [answer["uid"]] * 2 + ["u-undo"]
    assert [act.kind for act in written(page)] == ["label", "undo"]
    assert page.get("/api/last") is None


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        ({"item": 999}, "no item"),
        ({"item": "3"}, "no item"),
        ({"item": [3]}, "no item"),
        ({"item": None}, "no item"),
        ({"item": 1e300}, "no item"),
        ({"item": True}, "no item"),
        ({"class": 7}, "no class"),
        ({"class": None}, "no class"),
        ({"class": "cat"}, "no class"),
        ({"class": {}}, "no class"),
        ({"kind": "delete"}, "nothing that can be done"),
        ({"kind": ["label"]}, "nothing that can be done"),
        ({"kind": "undo", "class": None, "undoes": "nothing"}, "no act"),
        ({"kind": "undo", "class": None, "undoes": {"a": 1}}, "no act"),
        ({"kind": "skip"}, "names no class"),
        ({"uid": "a\u0000b"}, "plain text"),
    ],
)
def test_what_cannot_be_taken_is_refused_alone_with_a_reason(page: Served, act: dict[str, Any], reason: str) -> None:
    good, bad = label(1), {**label(2), **act}
    receipt = page.act(bad, good)
    assert receipt["saved"] == [good["uid"]]
    assert [one["uid"] for one in receipt["refused"]] == [bad["uid"]]
    assert reason in receipt["refused"][0]["reason"]
    assert [one.uid for one in written(page)] == [good["uid"]]


@pytest.mark.parametrize(
    "body",
    [
        {"acts": "all"},
        {"acts": [1]},
        {"acts": [{"item": 1, "kind": "skip"}]},
        {"acts": [{"uid": 7, "item": 1, "kind": "skip"}]},
        {"acts": [{"uid": "x" * 500, "item": 1, "kind": "skip"}]},
        {"acts": [], "want": -1},
        {"acts": [], "want": 10_000},
        {"acts": [], "want": True},
        {"acts": [], "holding": ["1"]},
        {"acts": [], "holding": list(range(500))},
    ],
)
def test_a_body_without_shape_is_refused_as_a_whole(page: Served, body: dict[str, Any]) -> None:
    assert page.post("/api/acts", body).status_code == 400


def test_acts_are_bounded_in_number_and_size(page: Served) -> None:
    assert page.post("/api/acts", {"acts": [label(0)] * (ACTS + 1)}).status_code == 413
    assert page.post("/api/acts", {"acts": [], "x": "y" * 70_000}).status_code == 413
    assert written(page) == []
    many = [label(number % 12) for number in range(ACTS)]
    assert len(page.act(*many)["saved"]) == ACTS


def test_what_the_page_looked_up_itself_it_may_say(page: Served) -> None:
    page.act(label(0, why="browse"), label(1, why="guesses"), label(2, why="audit"), label(3, why="import"))
    assert [act.why for act in written(page)] == ["browse", "guesses", "spread", "spread"]


def test_undo_goes_back_without_limit_and_over_a_restart(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    given = [label(item) for item in range(5)]
    with served(project) as here:
        here.act(*given)
    with served(project) as here:
        for answer in reversed(given):
            last = here.get("/api/last")
            assert last["uid"] == answer["uid"]
            here.act({"uid": f"back-{last['uid']}", "item": last["item"], "kind": "undo", "undoes": last["uid"]})
        assert here.get("/api/last") is None
        assert here.get("/api/panel")["labels"] == 0


def test_nobody_undoes_what_another_did(page: Served) -> None:
    answer = label(0)
    page.act(answer)
    with page.person("ben") as ben:
        undo = {"uid": "u", "item": 0, "kind": "undo", "undoes": answer["uid"]}
        assert "ann" in page.act(undo, client=ben)["refused"][0]["reason"]
        taken = {**label(5), "uid": answer["uid"]}
        assert page.act(taken, client=ben)["refused"]


def test_people_are_not_asked_about_the_same_image(page: Served) -> None:
    with page.person("ben") as ben:
        mine = {question["item"] for question in page.get("/api/next", count=6)["questions"]}
        theirs = {question["item"] for question in ben.get("/api/next?count=6").json()["questions"]}
        assert len(mine) == len(theirs) == 6
        assert not mine & theirs
        with page.person("cid") as cid:
            left = cid.get("/api/next?count=6").json()
            assert left["questions"] == []
            assert "ann" in left["empty"]


def test_labels_and_class_names_are_data_whatever_they_look_like(page: Served) -> None:
    for name in ("<script>alert(1)</script>", "'; DROP TABLE acts; --", "../../etc/passwd", "\u202ahi"):
        answer = page.post("/api/classes", {"name": name})
        if "\u202a" in name:  # which would turn the page's text around
            assert answer.status_code == 400
            continue
        assert answer.headers["content-type"] == "application/json"
        assert answer.json()["name"] == name
    names = [one["name"] for one in page.get("/api/project")["classes"]]
    assert names == ["cat", "dog", "<script>alert(1)</script>", "'; DROP TABLE acts; --", "../../etc/passwd"]
    assert page.post("/api/classes", {"name": " dog  "}).json() == {
        "id": 1, "name": "dog", "existing": True, "change": None,
    }  # fmt: skip
    for bad in ("", " ", 7, None, "x" * 101, ["a"]):
        assert page.post("/api/classes", {"name": bad}).status_code == 400
    page.act(label(0, 2))
    assert "<script>" in page.client.get("/api/export/csv").text


# looking through


def test_history_shows_mine_or_all_page_by_page_and_what_was_marked(page: Served) -> None:
    with page.person("ben") as ben:
        page.act(*(label(item) for item in range(4)))
        page.act(label(5, 1), client=ben)
    page.act({"uid": "s", "item": 6, "kind": "skip"}, {"uid": "f", "item": 1, "kind": "flag"})
    page.act({"uid": "d", "item": 7, "kind": "unsure"})
    newest = page.get("/api/history", limit=3)
    assert [act["kind"] for act in newest["acts"]] == ["unsure", "flag", "skip"]
    assert newest["more"] is True
    older = page.get("/api/history", limit=50, before=newest["acts"][-1]["id"])
    assert [act["item"] for act in older["acts"]] == [3, 2, 1, 0]
    assert older["more"] is False
    assert older["acts"][0] | {"at": "", "uid": ""} == {
        "uid": "", "item": 3, "kind": "label", "class": 0, "name": "003.png", "id": 4, "annotator": "ann", "at": "",
        "label": 0, "why": "spread", "asked": None, "note": "",
    }  # fmt: skip
    assert {act["why"] for act in newest["acts"]} == {""}  # they may be asked again
    assert "ben" in {act["annotator"] for act in page.get("/api/history", who="all")["acts"]}
    for only, item in (("flagged", 1), ("skipped", 6), ("unsure", 7)):
        assert [act["item"] for act in page.get("/api/history", only=only)["acts"]] == [item]
    assert [act["item"] for act in page.get("/api/history", name="003.PNG")["acts"]] == [3]
    assert page.get("/api/history", name="nowhere") == {"acts": [], "more": False, "people": ["ann", "ben"]}


@pytest.mark.parametrize(
    "path",
    [
        "/api/history?limit=0",
        "/api/history?before=-1",
        "/api/history?who=you",
        "/api/history?only=bad",
        "/api/next?count=0",
        "/api/guesses?class=2",
        "/api/guesses?offset=x",
        "/api/guesses?least=2",
        "/api/guesses?least=nan",
        "/api/export/csv?guesses=some",
        "/api/guesses?limit=9999",
        "/image/1?side=0",
        "/image/1?side=big",
    ],
)
def test_queries_are_checked(page: Served, path: str) -> None:
    answer = page.client.get(path)
    assert answer.status_code == 400
    assert answer.json()["kind"] == "BadRequest"


@pytest.mark.parametrize(
    "path", ["/api/nothing", "/api/export/exe", "/image/12", "/image/-1", "/image/x", "/api/guess/99"]
)
def test_what_is_not_there_is_not_found(page: Served, path: str) -> None:
    answer = page.client.get(path)
    assert answer.status_code == 404
    assert set(answer.json()) == {"error", "kind"}


@pytest.mark.parametrize("digits", [19, 4300, 4301, 9000])
def test_a_number_of_any_length_is_refused_and_never_a_crash(page: Served, digits: int) -> None:
    huge = "9" * digits  # int() itself refuses more than 4,300
    for path in (f"/image/{huge}", f"/image/-{huge}", f"/api/guess/{huge}", "/image/%E0%B9%91"):
        assert page.client.get(path).status_code == 404
    for path in (f"/api/next?count={huge}", f"/api/history?before={huge}", f"/image/1?side={huge}"):
        assert page.client.get(path).status_code == 400
    headers = {**CHANGE, "Content-Type": "application/json"}
    for body in (f'{{"want": {huge}}}', f'{{"acts": [], "holding": [{huge}e9]}}'):
        assert page.client.post("/api/acts", content=body, headers=headers).status_code == 400
    act = page.client.post("/api/acts", content=f'{{"acts": [{{"uid": "u", "item": {huge}}}]}}', headers=headers)
    assert act.status_code == 400 or act.json()["refused"]


def test_the_models_guesses_are_shown_most_doubtful_first_until_somebody_speaks(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    guesses = [0, 1] * 6
    with begin_model(project) as run:
        commit(run, 3, make_ranking(guesses))
    with served(project) as here:
        found = here.get("/api/guesses", **{"class": 1, "least": 0.5})
        assert [one["item"] for one in found["items"]] == [1, 3, 5, 7, 9, 11]
        assert found["total"] == 6
        assert found["counts"] == {"0": 6, "1": 6}
        assert found["items"][0] == {
            "item": 1, "name": "001.png", "guess": 1, "confidence": pytest.approx(0.586, abs=1e-3),
            "entropy": pytest.approx(0.827, abs=1e-3),
        }  # fmt: skip
        here.act(
            label(1, 1, why="guesses"),
            label(3, 0, why="guesses"),
            {"uid": "v", "item": 5, "kind": "veto", "class": 1, "why": "guesses"},
        )
        after = here.get("/api/guesses", **{"class": 1, "limit": 2, "offset": 1, "least": 0.5})
        assert [one["item"] for one in after["items"]] == [9, 11]
        assert after["total"] == 3
        guess = here.get("/api/guess/7")["guess"]
        assert guess["class"] == 1
        assert (guess["confidence"], guess["entropy"]) == pytest.approx((0.8045, 0.3909), abs=1e-3)
        panel = here.get("/api/panel")
        assert (panel["iteration"], panel["pseudo"], panel["known_to_model"], panel["ready"]) == (3, 1, 6, None)


def test_a_guess_is_not_shown_before_the_answer_to_an_audit_question(tmp_path: Path) -> None:
    project = small_project(tmp_path, 60, audit=0.3)
    reserved = int(project.audit_reserve()[0])
    with begin_model(project) as run:
        commit(run, 1, make_ranking([0] * 60))
    with served(project) as here:
        assert here.get(f"/api/guess/{reserved}") == {"guess": None}
        here.act(label(reserved, 1))
        assert here.get(f"/api/guess/{reserved}")["guess"]["class"] == 0
        assert here.get("/api/panel")["audit"]["errors"] == 1


def test_a_model_that_is_committed_while_people_label_is_taken_up_and_told(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    signal = tmp_path / "committed"
    trainer = (
        "import json, pathlib, sys, time\n"
        f"while not pathlib.Path({str(signal)!r}).exists(): time.sleep(0.02)\n"
        "print(json.dumps({'committed': 1, 'model': '0001', 'known': 6, 'members': 0, 'seconds': 1}), flush=True)\n"
        "print(json.dumps({'doing': 'training', 'share': 0.5, 'iteration': 2}), flush=True)\n"
        "sys.stdin.read()"
    )
    with served(project, trainer=[sys.executable, "-c", trainer]) as here, here.person("listener") as listener:
        assert here.get("/api/panel")["iteration"] == 0
        with listener.stream("GET", "/api/live") as stream:
            lines = stream.iter_lines()
            assert "event: panel" in (next(lines), next(lines), next(lines))
            with begin_model(project) as run:
                commit(run, 1, make_ranking([0, 1] * 6))
            signal.touch()
            seen: set[str] = set()
            while not {"event: ranking", "event: trainer"} <= seen:
                seen.add(next(lines))
        deadline = time.monotonic() + 20
        while (panel := here.get("/api/panel"))["trainer"]["doing"] != "training" and time.monotonic() < deadline:
            time.sleep(0.05)
        assert panel["iteration"] == 1
        assert panel["trainer"]["doing"] == "training"
        here.act(label(0), label(1))
        question = here.get("/api/next", count=1)["questions"][0]
        assert question["item"] == 2  # the least sure that nobody answered


def test_a_trainer_that_dies_is_said_so_on_the_panel(tmp_path: Path) -> None:
    dies = [sys.executable, "-c", "raise SystemExit('out of memory')"]
    with served(small_project(tmp_path), trainer=dies) as here:
        deadline = time.monotonic() + 30
        while here.get("/api/panel")["trainer"]["restarts"] == 0 and time.monotonic() < deadline:
            time.sleep(0.05)
        trainer = here.get("/api/panel")["trainer"]
        assert trainer["restarts"] >= 1
        assert "out of memory" in trainer["error"]
        assert here.act(label(0))["saved"]  # nobody waits for it


def test_disagreements_are_listed_with_who_said_what_and_how_far_people_agree(page: Served) -> None:
    with page.person("ben") as ben:
        page.act(*(label(item, item % 2) for item in range(6)))
        page.act(*(label(item, item % 2 if item else 1, why="browse") for item in range(6)), client=ben)
    found = page.get("/api/disagreements")
    assert found["items"] == [
        {"item": 0, "name": "000.png", "answers": [{"annotator": "ann", "class": 0}, {"annotator": "ben", "class": 1}]}
    ]
    assert found["agreement"][0]["people"] == ["ann", "ben"]
    assert found["agreement"][0]["n"] == 6
    assert found["agreement"][0]["kappa"] == pytest.approx(2 / 3)
    page.act({"uid": "s", "item": 0, "kind": "settle", "class": 1})
    assert page.get("/api/disagreements")["items"] == []


# news


def test_everyone_hears_of_labels_and_classes_and_streams_end_with_the_server(tmp_path: Path) -> None:
    heard: list[str] = []
    panels: list[dict[str, Any]] = []
    ended = threading.Event()
    with served(small_project(tmp_path)) as here:

        def listen() -> None:
            with here.person("listener") as listener, listener.stream("GET", "/api/live", timeout=60) as stream:
                assert stream.headers["content-type"].startswith("text/event-stream")
                for line in stream.iter_lines():
                    heard.append(line)
                    if line.startswith("data: {") and '"labels"' in line:
                        panels.append(json.loads(line.removeprefix("data: ")))
            ended.set()

        thread = threading.Thread(target=listen)
        thread.start()
        deadline = time.monotonic() + 30
        while not panels and time.monotonic() < deadline:
            time.sleep(0.02)
        here.act(label(0), label(1))
        here.post("/api/classes", {"name": "fish"})
        while not (panels[-1]["labels"] == 2 and "event: classes" in heard) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert panels[-1]["labels"] == 2
        assert "event: classes" in heard
    assert ended.wait(20)
    thread.join()


def test_streams_are_bounded(page: Served) -> None:
    streams, parts = [], []  # a stream ends when whoever reads it is forgotten
    try:
        for _ in range(8):
            request = page.client.build_request("GET", "/api/live")
            streams.append(page.client.send(request, stream=True))
            parts.append(streams[-1].iter_raw())
            next(parts[-1])
        assert page.client.get("/api/live").status_code == 429
    finally:
        for stream in streams:
            stream.close()
    assert page.client.head("/api/live").status_code == 405


def test_streams_are_bounded_also_when_they_are_asked_for_all_at_once(page: Served) -> None:
    address = ("127.0.0.1", int(page.origin.rpartition(":")[2]))
    request = f"GET /api/live HTTP/1.1\r\nHost: 127.0.0.1:{address[1]}\r\nCookie: {page.cookie}\r\n\r\n".encode()
    with ExitStack() as opened:
        pages = [opened.enter_context(socket.create_connection(address, timeout=60)) for _ in range(30)]
        for one in pages:
            one.sendall(request)
        statuses = Counter(one.recv(12) for one in pages)
    assert statuses == {b"HTTP/1.1 200": PER_SESSION, b"HTTP/1.1 429": 30 - PER_SESSION}


def test_the_panel_adds_up(page: Served) -> None:
    page.act(label(0, 0, seconds=1.0), label(1, 1, seconds=3.0), {"uid": "s", "item": 2, "kind": "skip"})
    page.act({"uid": "d", "item": 3, "kind": "unsure"}, {"uid": "f", "item": 0, "kind": "flag"})
    panel = page.get("/api/panel")
    assert {name: panel[name] for name in ("labels", "by_class", "answers", "skipped", "unsure", "flagged")} == {
        "labels": 2, "by_class": {"0": 1, "1": 1}, "answers": 3, "skipped": 1, "unsure": 1, "flagged": 1,
    }  # fmt: skip
    assert panel["median_seconds"] == 2.0
    assert panel["people"] == [{"name": "ann", "labels": 2}]
    assert panel["ready"] == {"need": [{"class": 0, "have": 0, "need": 3}, {"class": 1, "have": 1, "need": 3}]}
    assert set(panel) == {
        "labels", "by_class", "answers", "skipped", "unsure", "flagged", "flagged_labels", "threshold", "pseudo",
        "known_to_model", "iteration",
        "median_seconds", "audit", "target", "good_enough", "standstill", "believed", "history", "trainer", "people",
        "disagreements", "ready", "worth",
    }  # fmt: skip


def test_audit_questions_can_be_wished_for_and_bad_wishes_are_refused(page: Served) -> None:
    assert page.get("/api/audit")["n"] == 0
    for body in (
        {},
        {"count": 0},
        {"count": 51},
        {"count": "5"},
        {"count": 5, "showing": -1},
        {"count": 5, "showing": "a"},
    ):
        assert page.post("/api/audit", body).status_code == 400, body
    wished = page.post("/api/audit", {"count": 5, "showing": None})
    assert wished.status_code == 200
    assert 0 <= wished.json()["questions"] <= 5


def test_every_answer_has_the_policy_that_lets_nothing_foreign_in(page: Served) -> None:
    for path in ("/", "/api/project", "/image/0", "/static/main.js", "/nowhere"):
        answer = page.client.get(path)
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "server" not in answer.headers
    assert page.client.get("/api/project").headers["cache-control"] == "no-store"
    assert page.client.post("/api/acts", content=b"{}", headers={"Content-Type": "text/plain"}).status_code == 403
    assert page.client.post("/api/acts", content=b"{}", headers={**CHANGE, "Content-Type": "x"}).status_code == 415


def test_a_second_server_for_the_same_project_is_refused(page: Served) -> None:
    with pytest.raises(StoreError, match="in use by process"), served(page.project, trainer=IDLE):
        pass


def test_only_a_target_of_the_list_can_be_chosen_and_everyone_hears_of_it(page: Served) -> None:
    offered = page.get("/api/targets")["targets"]
    assert [one["target"] for one in offered] == [0.01, 0.02, 0.05, 0.1, 0.2, None]
    assert all(one["way"] for one in offered)
    for bad in (0.03, 0, 1, -1, "0.05", True, [0.05]):
        refused = page.post("/api/target", {"target": bad})
        assert refused.status_code == 400, bad
    assert page.post("/api/target", {}).status_code == 400
    assert page.get("/api/project")["target"] == 0.02
    assert page.post("/api/target", {"target": 0.05}).json()["panel"]["target"] == 0.05
    assert page.get("/api/project")["target"] == page.get("/api/panel")["target"] == 0.05
    assert page.post("/api/target", {"target": None}).json()["panel"]["target"] is None
    with page.anonymous() as stranger:
        assert page.post("/api/target", {"target": 0.2}, stranger).status_code == 401


def test_questions_are_taken_along_within_limits(page: Served) -> None:
    for body in (
        {},
        {"count": 0, "hours": 1},
        {"count": 201, "hours": 1},
        {"count": 5, "hours": 73},
        {"count": 5, "hours": -1},
        {"count": 5, "hours": "1"},
        {"count": 5, "hours": 1, "holding": ["a"]},
        {"count": 5, "hours": 1, "holding": 3},
    ):
        assert page.post("/api/ahead", body).status_code == 400, body
    taken = page.post("/api/ahead", {"count": 5, "hours": 2, "holding": []}).json()
    assert len(taken["questions"]) == 5 and taken["empty"] is None
    assert time.time() + 7100 < taken["until"] < time.time() + 7201
    assert set(taken["questions"][0]) == {"item", "name"}
    assert page.get("/api/project")["ahead"] == 6
