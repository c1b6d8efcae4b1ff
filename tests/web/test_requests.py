"""What a page sends: nothing too large, nothing of another shape."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from deepbass.web.requests import BODY_BYTES, text
from tests.web.toy_site import CHANGE, HOST, ToySite


@pytest.fixture
def site(tmp_path: Path) -> ToySite:
    return ToySite(tmp_path)


def test_a_body_is_refused_as_soon_as_it_is_too_large(site: ToySite) -> None:
    headers = {**site.cookie, **CHANGE}
    assert site.ask("POST", "/api/acts", headers, b" " * (BODY_BYTES + 1)).status_code == 413
    read = 0

    async def once() -> httpx.Response:
        async def endless() -> object:
            nonlocal read
            while True:
                read += 1
                yield b" " * 1024

        transport = httpx.ASGITransport(app=site.app)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
            return await client.post("/api/acts", headers=headers, content=endless())  # type: ignore[arg-type]

    assert asyncio.run(once()).status_code == 413
    assert read <= BODY_BYTES // 1024 + 1


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'"x"', b'{"a":NaN}', b"[" * 60_000, b'{"a":' + b"9" * 5000 + b"}", b"\xff"]
)
def test_a_body_that_is_no_json_object_is_refused(site: ToySite, body: bytes) -> None:
    assert site.ask("POST", "/api/acts", {**site.cookie, **CHANGE}, body).status_code == 400


@pytest.mark.parametrize("length", ["9" * 5000, "\u00b2", "-1", "1e3", ""])
def test_a_length_that_is_no_number_is_refused(site: ToySite, length: str) -> None:
    headers = {**site.cookie, **CHANGE, "Content-Length": length}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/acts",
        "headers": [
            (name.lower().encode(), value.encode("latin-1")) for name, value in {**headers, "Host": HOST}.items()
        ],
    }
    sent: list[Any] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(site.app(scope, receive, send))
    assert sent[0]["status"] == 413


@pytest.mark.parametrize("word", ["0", "51", "-1", "1.5", "x", "", "\uff11", "9" * 100])
def test_numbers_in_addresses_are_checked(site: ToySite, word: str) -> None:
    assert site.ask("GET", f"/api/next?count={word}", site.cookie).status_code == 400


@pytest.mark.parametrize("value", ["", "  ", "a\nb", "\ud800", "x" * 101, 7, None, "a\u202eb", "\x00"])
def test_text_that_cannot_be_shown_or_kept_is_refused(value: object) -> None:
    with pytest.raises(Exception, match="must"):
        text(value, "A class", 100)


def test_text_is_data_whatever_it_looks_like() -> None:
    assert text(" <script>alert(1)</script> ", "A class", 100) == "<script>alert(1)</script>"
