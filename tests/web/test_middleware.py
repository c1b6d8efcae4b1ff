"""The middleware: what another site, another name or too quick a page does not get."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import httpx
import pytest

from deepbass.web.middleware import HEADERS, AllowedHosts
from deepbass.web.rate_limits import is_loopback
from tests.web.toy_site import CHANGE, HOST, PORT, ToySite

FOLLOWED = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@pytest.fixture
def site(tmp_path: Path) -> ToySite:
    return ToySite(tmp_path)


def test_without_a_cookie_there_is_only_the_way_in(site: ToySite) -> None:
    assert site.ask("GET", "/").status_code == 200
    assert site.ask("GET", "/static/page.js").status_code == 200
    refused = site.ask("GET", "/api/next")
    assert refused.status_code == 401
    assert refused.json()["kind"] == "NoSession"
    assert site.ask("POST", "/api/acts", CHANGE, b"{}").status_code == 401
    assert site.ask("GET", "/api/next", site.cookie).json() == {"count": 4}


def test_every_answer_carries_the_headers_a_refusal_and_a_crash_too(
    site: ToySite, caplog: pytest.LogCaptureFixture
) -> None:
    asked = ("/", "/api/next", "/api/broken", "/nowhere", "/api/wrong", "/api/full")
    answers = [site.ask("GET", path, site.cookie) for path in asked] + [site.ask("GET", "/", {"Host": "evil.example"})]
    assert [each.status_code for each in answers] == [200, 200, 500, 404, 400, 503, 403]
    for each in answers:
        assert {name: each.headers[name] for name in HEADERS} == HEADERS
        assert each.headers["Cache-Control"] == "no-store"
    assert answers[4].json() == {"error": "No such class: 'zebra'.", "kind": "DeepBassError"}
    assert answers[5].headers["Retry-After"]


def test_a_crash_tells_the_terminal_and_not_the_client(site: ToySite, caplog: pytest.LogCaptureFixture) -> None:
    crashed = site.ask("GET", "/api/broken", site.cookie)
    assert crashed.status_code == 500
    assert "secret" not in crashed.text
    assert "Traceback" not in crashed.text
    assert "a secret in a stack trace" in caplog.text


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:80", f"127.0.0.1.evil.example:{PORT}", ""]
)
def test_a_foreign_name_is_refused_however_it_resolves(site: ToySite, host: str) -> None:
    assert site.ask("GET", "/", {**site.cookie, "Host": host}).status_code == 403


@pytest.mark.parametrize("host", [HOST, f"localhost:{PORT}", f"[::1]:{PORT}", f"LOCALHOST:{PORT}"])
def test_the_names_of_this_machine_are_known(site: ToySite, host: str) -> None:
    assert site.ask("GET", "/", {"Host": host}).status_code == 200


def test_two_host_headers_are_one_too_many(site: ToySite) -> None:
    async def once() -> httpx.Response:
        transport = httpx.ASGITransport(app=site.app)
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
    hosts = AllowedHosts.at(host, PORT, tls=True)
    assert hosts.allow(known)
    assert not hosts.allow(unknown)


def test_a_browser_leaves_out_the_schemes_own_port() -> None:
    assert AllowedHosts.at("labels.example", 443, tls=True).allow("labels.example")
    assert AllowedHosts.at("::1", 80, tls=False).allow("[::1]")
    assert not AllowedHosts.at("labels.example", 443, tls=False).allow("labels.example")


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
def test_what_changes_something_must_come_from_our_page(site: ToySite, lacking: dict[str, str]) -> None:
    assert site.ask("POST", "/api/acts", {**site.cookie, **CHANGE}, b'{"a":1}').json() == {"a": 1}
    assert site.ask("POST", "/api/acts", {**site.cookie, **CHANGE, **lacking}, b"{}").status_code in (403, 415)
    assert site.ask("POST", "/login", {**CHANGE, **lacking}, b"{}").status_code in (403, 415)


def test_a_link_to_the_page_may_be_followed_but_nothing_loaded_from_another_site(site: ToySite) -> None:
    assert site.ask("GET", "/", FOLLOWED).status_code == 200
    assert site.ask("GET", "/", {**FOLLOWED, "Sec-Fetch-Dest": "iframe"}).status_code == 403
    for headers in (FOLLOWED, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
        assert site.ask("GET", "/api/next", {**site.cookie, **headers}).status_code == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_do_not_exist(site: ToySite, method: str) -> None:
    assert site.ask(method, "/api/acts", {**site.cookie, **CHANGE}, b"{}").status_code == 405


def test_a_session_that_asks_too_often_waits_and_others_do_not(site: ToySite) -> None:
    other = {"Cookie": f"deepbass-{PORT}={site.sessions.issue('bert')}"}

    async def many() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=site.app)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
            return [await client.get("/api/next", headers=site.cookie) for _ in range(310)]

    answers = asyncio.run(many())
    assert all(each.status_code == 200 for each in answers[:300])
    late = answers[300:]
    assert all(each.status_code == 429 for each in late)
    assert all(int(each.headers["Retry-After"]) >= 1 for each in late)
    assert site.ask("GET", "/api/next", other).status_code == 200
    site.now = 0.05
    assert site.ask("GET", "/api/next", site.cookie).status_code == 200


def test_other_programs_cookies_do_not_hide_ours(site: ToySite) -> None:
    ours = site.cookie["Cookie"]
    odd = '_xsrf={"a": 1,2}; x@y=[]; ' + ours + "; deepbass-9999=abc"
    assert site.ask("GET", "/api/next", {"Cookie": odd}).status_code == 200
    assert site.ask("GET", "/api/next", {"Cookie": f"deepbass-{PORT}=stale; {ours}"}).status_code == 200


def test_the_access_log_never_holds_the_token(site: ToySite, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "deepbass.web.access"):
        site.ask("GET", "/?token=very-secret", site.cookie)
        forged = site.ask("GET", "/%0aanna GET /forged 200", site.cookie)
    assert forged.status_code == 404
    assert "\nanna GET /forged" not in caplog.text
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
