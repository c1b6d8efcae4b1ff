"""A toy application behind the real middleware, asked without a socket."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, Router

from deepbass.core.errors import DeepBassError, StoreError
from deepbass.web.auth import Sessions
from deepbass.web.middleware import AllowedHosts, SecurityMiddleware
from deepbass.web.requests import number, read_json
from deepbass.web.responses import answer

PORT = 8484
HOST = f"127.0.0.1:{PORT}"
CHANGE = {"X-Deepbass": "1", "Content-Type": "application/json", "Origin": f"http://{HOST}"}


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


class ToySite:
    """A toy application behind the middleware, and somebody with a session."""

    def __init__(self, folder: Path, people: dict[str, str] | None = None, host: str = "127.0.0.1") -> None:
        self.sessions = Sessions(folder, people, PORT)
        self.now = 0.0
        self.app = SecurityMiddleware(
            Router(ROUTES), AllowedHosts.at(host, PORT, tls=False), self.sessions, clock=lambda: self.now
        )
        self.cookie = {"Cookie": f"deepbass-{PORT}={self.sessions.issue('anna')}"} if people is None else {}

    def ask(
        self, method: str, path: str, headers: dict[str, str] | None = None, content: bytes | None = None
    ) -> httpx.Response:
        async def once() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
                return await client.request(method, path, headers=headers, content=content)

        return asyncio.run(once())
