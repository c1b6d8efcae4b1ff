"""The door: what another site, another name, another machine or too quick a page does not get."""

from __future__ import annotations

import asyncio
import logging
import os
import stat
from pathlib import Path

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, Router

from deepbass.core.errors import ConfigError, DeepBassError, StoreError
from deepbass.label.passwords import hash_password
from deepbass.web.answers import answer
from deepbass.web.door import Door, check_door, check_people, listen
from deepbass.web.guard import HEADERS, Guard, Place, is_loopback
from deepbass.web.limits import BODY_BYTES, Rates, number, read_json, text
from deepbass.web.sessions import DAYS, ENDED_FILE, KEY_FILE, Sessions, Tokens

PORT = 8484
HOST = f"127.0.0.1:{PORT}"
CHANGE = {"X-Deepbass": "1", "Content-Type": "application/json", "Origin": f"http://{HOST}"}
FOLLOWED = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


async def hello(request: Request) -> Response:
    return PlainTextResponse("hello")


async def echo(request: Request) -> Response:
    return answer(await read_json(request))


async def count(request: Request) -> Response:
    return answer({"count": number(request, "count", 4, 1, 50)})


async def broken(request: Request) -> Response:
    raise RuntimeError("a secret in a stack trace")


async def wrong_call(request: Request) -> Response:
    raise DeepBassError("No such class: 'zebra'.")


async def full_disk(request: Request) -> Response:
    raise StoreError("The disk is full.")


ROUTES = [
    Route("/", hello),
    Route("/login", echo, methods=["POST"]),
    Route("/static/page.js", hello),
    Route("/api/acts", echo, methods=["POST"]),
    Route("/api/next", count),
    Route("/api/broken", broken),
    Route("/api/wrong", wrong_call),
    Route("/api/full", full_disk),
]


class Guarded:
    """A guarded toy application, and somebody with a session."""

    def __init__(self, folder: Path, people: dict[str, str] | None = None, host: str = "127.0.0.1") -> None:
        self.sessions = Sessions(folder, people, PORT)
        self.now = 0.0
        self.app = Guard(Router(ROUTES), Place.at(host, PORT, tls=False), self.sessions, clock=lambda: self.now)
        self.cookie = {"Cookie": f"deepbass-{PORT}={self.sessions.issue('anna')}"} if people is None else {}

    def ask(
        self, method: str, path: str, headers: dict[str, str] | None = None, content: bytes | None = None
    ) -> httpx.Response:
        async def once() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
                return await client.request(method, path, headers=headers, content=content)

        return asyncio.run(once())


@pytest.fixture
def door(tmp_path: Path) -> Guarded:
    return Guarded(tmp_path)


def test_without_a_cookie_there_is_only_the_way_in(door: Guarded) -> None:
    assert door.ask("GET", "/").status_code == 200
    assert door.ask("GET", "/static/page.js").status_code == 200
    refused = door.ask("GET", "/api/next")
    assert refused.status_code == 401
    assert refused.json()["kind"] == "NoSession"
    assert door.ask("POST", "/api/acts", CHANGE, b"{}").status_code == 401
    assert door.ask("GET", "/api/next", door.cookie).json() == {"count": 4}


def test_every_answer_carries_the_headers_a_refusal_and_a_crash_too(
    door: Guarded, caplog: pytest.LogCaptureFixture
) -> None:
    asked = ("/", "/api/next", "/api/broken", "/nowhere", "/api/wrong", "/api/full")
    answers = [door.ask("GET", path, door.cookie) for path in asked] + [door.ask("GET", "/", {"Host": "evil.example"})]
    assert [each.status_code for each in answers] == [200, 200, 500, 404, 400, 503, 403]
    for each in answers:
        assert {name: each.headers[name] for name in HEADERS} == HEADERS
        assert each.headers["Cache-Control"] == "no-store"
    assert answers[4].json() == {"error": "No such class: 'zebra'.", "kind": "DeepBassError"}
    assert answers[5].headers["Retry-After"]


def test_a_crash_tells_the_terminal_and_not_the_client(door: Guarded, caplog: pytest.LogCaptureFixture) -> None:
    crashed = door.ask("GET", "/api/broken", door.cookie)
    assert crashed.status_code == 500
    assert "secret" not in crashed.text
    assert "Traceback" not in crashed.text
    assert "a secret in a stack trace" in caplog.text


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:80", f"127.0.0.1.evil.example:{PORT}", ""]
)
def test_a_foreign_name_is_refused_however_it_resolves(door: Guarded, host: str) -> None:
    assert door.ask("GET", "/", {**door.cookie, "Host": host}).status_code == 403


@pytest.mark.parametrize("host", [HOST, f"localhost:{PORT}", f"[::1]:{PORT}", f"LOCALHOST:{PORT}"])
def test_the_names_of_this_machine_are_known(door: Guarded, host: str) -> None:
    assert door.ask("GET", "/", {"Host": host}).status_code == 200


def test_two_host_headers_are_one_too_many(door: Guarded) -> None:
    async def once() -> httpx.Response:
        transport = httpx.ASGITransport(app=door.app)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
            return await client.get("/", headers=[("Host", HOST), ("Host", "evil.example")])

    assert asyncio.run(once()).status_code == 403


@pytest.mark.parametrize(
    ("host", "known", "unknown"),
    [
        ("labels.example", "labels.example:8484", "127.0.0.1:8484"),
        ("10.0.0.7", "10.0.0.7:8484", "10.0.0.8:8484"),
        ("0.0.0.0", "10.0.0.8:8484", "labels.example:8484"),
        ("0.0.0.0", "localhost:8484", "rebound.example:8484"),
        ("::", "[fd00::1]:8484", "rebound.example:8484"),
        ("127.0.0.2", "127.0.0.2:8484", "127.0.0.3:8484"),
    ],
)
def test_a_host_that_was_given_is_known_by_its_name_or_by_numbers(host: str, known: str, unknown: str) -> None:
    place = Place.at(host, PORT, tls=True)
    assert place.knows(known)
    assert not place.knows(unknown)


def test_a_browser_leaves_out_the_schemes_own_port() -> None:
    assert Place.at("labels.example", 443, tls=True).knows("labels.example")
    assert Place.at("::1", 80, tls=False).knows("[::1]")
    assert not Place.at("labels.example", 443, tls=False).knows("labels.example")


@pytest.mark.parametrize(
    "lacking",
    [
        {"X-Deepbass": ""},
        {"X-Deepbass": "0"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"https://{HOST}"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        FOLLOWED,
    ],
)
def test_what_changes_something_must_come_from_our_page(door: Guarded, lacking: dict[str, str]) -> None:
    assert door.ask("POST", "/api/acts", {**door.cookie, **CHANGE}, b'{"a":1}').json() == {"a": 1}
    assert door.ask("POST", "/api/acts", {**door.cookie, **CHANGE, **lacking}, b"{}").status_code in (403, 415)
    assert door.ask("POST", "/login", {**CHANGE, **lacking}, b"{}").status_code in (403, 415)


def test_a_link_to_the_page_may_be_followed_but_nothing_loaded_from_another_site(door: Guarded) -> None:
    assert door.ask("GET", "/", FOLLOWED).status_code == 200
    assert door.ask("GET", "/", {**FOLLOWED, "Sec-Fetch-Dest": "iframe"}).status_code == 403
    for headers in (FOLLOWED, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
        assert door.ask("GET", "/api/next", {**door.cookie, **headers}).status_code == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_do_not_exist(door: Guarded, method: str) -> None:
    assert door.ask(method, "/api/acts", {**door.cookie, **CHANGE}, b"{}").status_code == 405


def test_a_body_is_refused_as_soon_as_it_is_too_large(door: Guarded) -> None:
    headers = {**door.cookie, **CHANGE}
    assert door.ask("POST", "/api/acts", headers, b" " * (BODY_BYTES + 1)).status_code == 413
    read = 0

    async def once() -> httpx.Response:
        async def endless() -> object:
            nonlocal read
            while True:
                read += 1
                yield b" " * 1024

        transport = httpx.ASGITransport(app=door.app)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
            return await client.post("/api/acts", headers=headers, content=endless())  # type: ignore[arg-type]

    assert asyncio.run(once()).status_code == 413
    assert read <= BODY_BYTES // 1024 + 1


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'"x"', b'{"a":NaN}', b"[" * 60_000, b'{"a":' + b"9" * 5000 + b"}", b"\xff"]
)
def test_a_body_that_is_no_json_object_is_refused(door: Guarded, body: bytes) -> None:
    assert door.ask("POST", "/api/acts", {**door.cookie, **CHANGE}, body).status_code == 400


@pytest.mark.parametrize("word", ["0", "51", "-1", "1.5", "x", "", "\uff11", "9" * 100])
def test_numbers_in_addresses_are_checked(door: Guarded, word: str) -> None:
    assert door.ask("GET", f"/api/next?count={word}", door.cookie).status_code == 400


@pytest.mark.parametrize("value", ["", "  ", "a\nb", "\ud800", "x" * 101, 7, None, "a\u202eb", "\x00"])
def test_text_that_cannot_be_shown_or_kept_is_refused(value: object) -> None:
    with pytest.raises(Exception, match="must"):
        text(value, "A class", 100)


def test_text_is_data_whatever_it_looks_like() -> None:
    assert text(" <script>alert(1)</script> ", "A class", 100) == "<script>alert(1)</script>"


def test_a_session_that_asks_too_often_waits_and_others_do_not(door: Guarded) -> None:
    other = {"Cookie": f"deepbass-{PORT}={door.sessions.issue('bert')}"}

    async def many() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=door.app)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
            return [await client.get("/api/next", headers=door.cookie) for _ in range(310)]

    answers = asyncio.run(many())
    assert all(each.status_code == 200 for each in answers[:300])
    late = answers[300:]
    assert all(each.status_code == 429 for each in late)
    assert all(int(each.headers["Retry-After"]) >= 1 for each in late)
    assert door.ask("GET", "/api/next", other).status_code == 200
    door.now = 0.05
    assert door.ask("GET", "/api/next", door.cookie).status_code == 200


def test_a_bucket_refills_and_is_never_more_than_full() -> None:
    now = [0.0]
    rates = Rates(2.0, 3.0, clock=lambda: now[0])
    assert [rates.take("a") for _ in range(4)] == [0, 0, 0, pytest.approx(0.5)]
    assert rates.take("b") == 0
    now[0] = 0.5
    assert rates.take("a") == 0
    assert rates.take("a") > 0
    rates.give_back("a")
    assert rates.take("a") == 0
    now[0] = 1000.0
    assert [rates.take("a") > 0 for _ in range(4)] == [False, False, False, True]


def test_a_cookie_is_signed_ages_and_outlives_a_restart(tmp_path: Path) -> None:
    now = [1_000_000.0]
    sessions = Sessions(tmp_path, None, PORT, clock=lambda: now[0])
    cookie = sessions.issue("Žofie <b>")
    found = Sessions(tmp_path, None, PORT, clock=lambda: now[0]).find(cookie)
    assert found is not None
    assert found.name == "Žofie <b>"
    payload, _, signature = cookie.partition(".")
    for wrong in ("", ".", payload, f"{payload}.", f"{payload}A.{signature}", f"{payload}.{signature[:-1]}", "é.é"):
        assert sessions.find(wrong) is None
    now[0] += DAYS * 86400
    assert sessions.find(cookie) is None


def test_a_cookie_of_another_project_or_another_kind_of_door_opens_nothing(tmp_path: Path) -> None:
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
    with (tmp_path / ENDED_FILE).open("a") as file:
        file.write('["half a li')
    for each in (sessions, Sessions(tmp_path, None, PORT)):
        assert each.find(cookie) is None
        assert each.find(other) is not None


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX's")
def test_the_secret_is_for_its_owner_only_and_replaced_when_it_was_not(tmp_path: Path) -> None:
    cookie = Sessions(tmp_path, None, PORT).issue("anna")
    key = tmp_path / KEY_FILE
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    key.chmod(0o644)
    assert Sessions(tmp_path, None, PORT).find(cookie) is None
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_the_printed_token_works_again_and_the_browsers_only_once_and_soon() -> None:
    now = [0.0]
    tokens = Tokens(clock=lambda: now[0])
    once, late = tokens.once(), tokens.once()
    assert tokens.opens(once)
    assert not tokens.opens(once)
    now[0] = 1000.0
    assert not tokens.opens(late)
    assert tokens.opens(tokens.token)
    assert tokens.opens(tokens.token)
    assert not any(tokens.opens(wrong) for wrong in ("", tokens.token[:-1], "é", "\ud800", tokens.token + "a"))
    assert len(tokens.token) >= 40


def test_other_programs_cookies_do_not_hide_ours(door: Guarded) -> None:
    ours = door.cookie["Cookie"]
    odd = '_xsrf={"a": 1,2}; x@y=[]; ' + ours + "; deepbass-9999=abc"
    assert door.ask("GET", "/api/next", {"Cookie": odd}).status_code == 200
    assert door.ask("GET", "/api/next", {"Cookie": f"deepbass-{PORT}=stale; {ours}"}).status_code == 200


def test_the_access_log_never_holds_the_token(door: Guarded, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "deepbass.web.access"):
        door.ask("GET", "/?token=very-secret", door.cookie)
    assert "anna GET / 200" in caplog.text
    assert "very-secret" not in "".join(record.getMessage() for record in caplog.records if "deepbass" in record.name)


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("127.9.9.9", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("labels.example", False),
        ("localhost.evil.example", False),
    ],
)
def test_loopback_is_what_cannot_be_reached_from_elsewhere(host: str, own: bool) -> None:
    assert is_loopback(host) is own


def test_other_machines_need_tls_or_a_clear_word_and_a_person_with_a_password(tmp_path: Path) -> None:
    check_door(Door())
    check_people(Door(), 0, "")
    with pytest.raises(ConfigError, match="--insecure-http"):
        check_door(Door("0.0.0.0"))
    check_door(Door("0.0.0.0", insecure_http=True))
    with pytest.raises(ConfigError, match="deepbass people add"):
        check_people(Door("0.0.0.0", insecure_http=True), 0, "deepbass people add DIR NAME")
    check_people(Door("0.0.0.0", insecure_http=True), 1, "")
    with pytest.raises(ConfigError, match="go together"):
        check_door(Door(certfile=tmp_path / "a"))
    with pytest.raises(ConfigError, match="There is no file"):
        check_door(Door(certfile=tmp_path / "a", keyfile=tmp_path / "b"))
    (tmp_path / "a").write_text("no certificate")
    with pytest.raises(ConfigError, match="certificate"):
        check_door(Door(certfile=tmp_path / "a", keyfile=tmp_path / "a"))


def test_a_taken_port_is_an_error_only_where_it_was_asked_for() -> None:
    with listen(Door()) as first, listen(Door()) as second:
        port = first.getsockname()[1]
        assert second.getsockname()[1] != port
        with pytest.raises(ConfigError, match=f"Port {port} .* in use"):
            listen(Door(port=port))
    with pytest.raises(ConfigError, match="'no such host'"):
        listen(Door("no such host"))
