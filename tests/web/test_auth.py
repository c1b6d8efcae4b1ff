"""Who is let in: tokens, log-ins, and cookies that are signed, age and end."""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from itsdangerous import URLSafeTimedSerializer

from deepbass.label.journal import Journal
from deepbass.label.passwords import hash_password
from deepbass.store.names import WEB_ENDED_FILE, WEB_KEY_FILE
from deepbass.web.auth import DAYS, Sessions, Tokens
from deepbass.web.server import Address
from tests.web.served import Served, add_person, label, served, small_project
from tests.web.toy_site import PORT


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Served]:
    with served(small_project(tmp_path)) as here:
        yield here


def written(here: Served) -> list[Any]:
    with Journal.open(here.project.labels_db, "ro") as journal:
        return journal.acts()


# cookies and tokens


def test_a_cookie_is_signed_ages_and_outlives_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    sessions = Sessions(tmp_path, None, PORT)
    cookie = sessions.issue("Žofie <b>")
    found = Sessions(tmp_path, None, PORT).find(cookie)
    assert found is not None
    assert found.name == "Žofie <b>"
    payload, at, signature = cookie.rsplit(".", 2)
    later = URLSafeTimedSerializer("another key").dumps(0).split(".")[1]
    wrong = (
        "",
        ".",
        "..",
        "...",
        payload,
        f"{payload}.{at}",
        f"{payload}.{at}.",
        f"{payload}A.{at}.{signature}",
        "é.é.é",
    )
    for each in (*wrong, f"{payload}.{later}A.{signature}", cookie[:-1], "\ud800", "9" * 5000, "." * 5000):
        assert sessions.find(each) is None
    now[0] -= 30  # a clock that is corrected is no forgery
    assert sessions.find(cookie) is not None
    now[0] += DAYS * 86400 + 30
    assert sessions.find(cookie) is None


def test_a_cookie_of_another_project_or_another_kind_of_log_in_counts_for_nothing(tmp_path: Path) -> None:
    hashed = hash_password("correct horse")
    (tmp_path / "other").mkdir()
    by_token = Sessions(tmp_path, None, PORT)
    by_password = Sessions(tmp_path, {"anna": hashed}, PORT)
    assert by_password.find(by_token.issue("anna")) is None
    assert by_token.find(by_password.issue("anna")) is None
    assert Sessions(tmp_path / "other", None, PORT).find(by_token.issue("anna")) is None


def test_a_new_password_or_a_removal_ends_the_sessions_of_a_person(tmp_path: Path) -> None:
    people = {"anna": hash_password("correct horse"), "bert": hash_password("battery staple")}
    before = Sessions(tmp_path, people, PORT)
    anna, bert = before.issue("anna"), before.issue("bert")
    after = Sessions(tmp_path, {"anna": hash_password("correct horse")}, PORT)
    assert after.find(anna) is None
    assert after.find(bert) is None
    assert Sessions(tmp_path, people, PORT).find(bert) is not None


def test_who_logged_out_stays_out_after_a_restart_too(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path, None, PORT)
    cookie, other = sessions.issue("anna"), sessions.issue("anna")
    session = sessions.find(cookie)
    assert session is not None
    sessions.end(session)
    with (tmp_path / WEB_ENDED_FILE).open("a") as file:
        file.write('["half a li')
    for each in (sessions, Sessions(tmp_path, None, PORT)):
        assert each.find(cookie) is None
        assert each.find(other) is not None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_log_out_on_a_full_disk_holds_at_once_and_is_written_when_there_is_room(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with served(project) as here:
        stolen = dict(here.client.cookies)
        port = int(here.origin.rpartition(":")[2])
        (project.path / WEB_ENDED_FILE).symlink_to("/dev/full")
        told = here.post("/logout", {})
        assert told.status_code == 503
        assert "No space left" in told.json()["error"]
        assert "make room" in told.json()["error"]
        assert "Max-Age=0" in told.headers["set-cookie"]
        with httpx.Client(base_url=here.origin, cookies=stolen, trust_env=False) as thief:
            assert thief.get("/api/project").status_code == 401
        (project.path / WEB_ENDED_FILE).unlink()  # room is made
    with (
        served(project, address=Address(port=port)) as here,
        httpx.Client(base_url=here.origin, cookies=stolen, trust_env=False) as thief,
    ):
        assert thief.get("/api/project").status_code == 401


def test_half_a_line_hides_no_later_log_out(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path, None, PORT)
    cookie = sessions.issue("anna")
    session = sessions.find(cookie)
    assert session is not None
    (tmp_path / WEB_ENDED_FILE).write_text('["half a li')  # a full disk took a part
    sessions.end(session)
    assert Sessions(tmp_path, None, PORT).find(cookie) is None


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX's")
def test_the_secret_is_for_its_owner_only_and_replaced_when_it_was_not(tmp_path: Path) -> None:
    cookie = Sessions(tmp_path, None, PORT).issue("anna")
    key = tmp_path / WEB_KEY_FILE
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    key.chmod(0o644)
    assert Sessions(tmp_path, None, PORT).find(cookie) is None
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_the_printed_token_works_again_and_the_browsers_only_once_and_soon() -> None:
    now = [0.0]
    tokens = Tokens(clock=lambda: now[0])
    once, late = tokens.once(), tokens.once()
    assert tokens.accepts(once)
    assert not tokens.accepts(once)
    now[0] = 1000.0
    assert not tokens.accepts(late)
    assert tokens.accepts(tokens.token)
    assert tokens.accepts(tokens.token)
    assert not any(tokens.accepts(wrong) for wrong in ("", tokens.token[:-1], "é", "\ud800", tokens.token + "a"))
    assert len(tokens.token) >= 40


# the way in


def test_the_token_is_exchanged_for_a_cookie_that_scripts_and_other_sites_do_not_get(page: Served) -> None:
    with page.anonymous() as anonymous:
        assert anonymous.get("/").status_code == 403
        assert anonymous.get("/", params={"token": "wrong"}).status_code == 403
        assert anonymous.get("/api/project").status_code == 401
        let_in = anonymous.get("/", params={"token": page.token})
        assert let_in.status_code == 303
        assert let_in.headers["location"] == "/"
        cookie = let_in.headers["set-cookie"]
        assert re.match(r"deepbass-\d+=", cookie)
        assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(cookie.split("; "))
        assert "Secure" not in cookie  # without TLS the browser would not send it
        assert page.token not in cookie
        assert anonymous.get("/").status_code == 200
        assert anonymous.get("/api/project").json()["annotator"] == "ann"


def test_a_link_followed_from_another_site_still_leads_in(page: Served) -> None:
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    with page.anonymous() as anonymous:
        step = anonymous.get("/", params={"token": page.token}, headers=followed)
        # a redirect would still be that other site's doing, and the browser would keep the cookie to itself
        assert step.status_code == 200
        assert 'http-equiv="refresh"' in step.text
        assert anonymous.get("/").status_code == 200


def test_people_on_one_machine_choose_their_names(page: Served) -> None:
    with page.person("Žofie") as zofie, page.person("ben") as ben:
        assert zofie.get("/api/project").json()["annotator"] == "Žofie"
        page.act(label(3, 1), client=zofie)
        assert ben.get("/api/project").json()["several"] is True
        assert [act.annotator for act in written(page)] == ["Žofie"]
        for name in ("source", "", "a\x00b", "x" * 200):
            assert ben.get("/", params={"token": page.token, "as": name}).status_code == 400


def test_nobody_logs_in_where_there_is_a_token(page: Served) -> None:
    assert page.client.get("/login").headers["location"] == "/"
    assert page.post("/login", {"name": "ann", "password": "x" * 10}).status_code == 404


def test_who_logs_in_needs_the_right_password_and_a_wrong_name_is_told_nothing_else(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    add_person(project, "anna", "correct horse")
    with served(project) as here, here.anonymous() as anna:
        assert "token" not in here.ready.url
        assert anna.get("/").headers["location"] == "/login"
        assert anna.get("/?token=").headers["location"] == "/login"
        assert anna.get("/login").status_code == 200
        wrong = [
            here.post("/login", {"name": name, "password": password}, anna)
            for name, password in (("anna", "wrong horse"), ("nobody", "correct horse"), ("anna", ""))
        ]
        assert {(answer.status_code, answer.text) for answer in wrong} == {(401, wrong[0].text)}
        assert anna.get("/api/project").status_code == 401
        assert here.post("/login", {"name": "anna", "password": "correct horse"}, anna).status_code == 200
        assert anna.get("/api/project").json()["login"] is True
        assert anna.get("/api/project").json()["annotator"] == "anna"
        assert anna.get("/login").headers["location"] == "/"

        stolen = dict(anna.cookies)
        assert here.post("/logout", {}, anna).status_code == 200
        assert anna.get("/api/project").status_code == 401
        with httpx.Client(base_url=here.origin, cookies=stolen, trust_env=False) as thief:
            assert thief.get("/api/project").status_code == 401


@pytest.mark.skipif(sys.platform != "linux", reason="needs a machine with many addresses of its own")
def test_guessing_passwords_is_slow_and_keeps_nobody_else_out(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    add_person(project, "anna", "correct horse")
    elsewhere = httpx.HTTPTransport(local_address="127.0.0.2")
    with (
        served(project) as here,
        httpx.Client(base_url=here.origin, transport=elsewhere, trust_env=False) as guesser,
        here.anonymous() as anna,
    ):
        tries = [here.post("/login", {"name": "anna", "password": f"guess {n}"}, guesser) for n in range(40)]
        assert [answer.status_code for answer in tries[:5]] == [401] * 5
        late = [answer for answer in tries if answer.status_code == 429]
        assert len(late) > 15
        assert int(late[0].headers["Retry-After"]) >= 1
        assert here.post("/login", {"name": "anna", "password": "correct horse"}, anna).status_code == 200


def test_a_name_is_known_however_it_is_typed(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    add_person(project, "Zo\u00eb Ada", "correct horse")
    with served(project) as here, here.anonymous() as zoe:
        for name in ("Zoe\u0308 Ada", " Zo\u00eb   Ada "):  # as a Mac writes it; with blanks too many
            let_in = here.post("/login", {"name": name, "password": "correct horse"}, zoe)
            assert let_in.json() == {"name": "Zo\u00eb Ada"}
            assert zoe.get("/api/project").json()["annotator"] == "Zo\u00eb Ada"
        for nobody in ("", "   ", "a\x00b", "x" * 200):
            assert here.post("/login", {"name": nobody, "password": "correct horse"}, zoe).status_code == 401


def test_a_cookie_holds_over_a_restart(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with served(project) as before:
        cookie = dict(before.client.cookies)
        port = int(before.origin.rpartition(":")[2])
    origin = f"http://127.0.0.1:{port}"
    with (
        served(project, address=Address(port=port)),
        httpx.Client(base_url=origin, cookies=cookie, trust_env=False) as same,
    ):
        assert same.get("/api/project").status_code == 200
