"""The door: nothing gets past it that is not from our own page, with a session, at a bearable rate.

Everything about who may come in is here, as one ASGI middleware around the whole application. It checks, in this order:

1. Host: a page on another domain that resolves to this machine (DNS rebinding) does not have our name.
2. Sec-Fetch-Site and Origin: other sites' pages do not get to talk to us through somebody's browser.
3. What changes something must be JSON with a header of our own, which no foreign page can send without being asked.
4. The cookie; without it there are only the page that asks for it and the static files, which hold no secrets.
5. The rate, by session or, without one, by address.

Every answer, a refusal or a crash too, leaves with the same headers.
"""

from __future__ import annotations

import ipaddress
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deepbass.core.errors import DeepBassError, StoreError
from deepbass.web.answers import Refused, refusal
from deepbass.web.limits import (
    REQUESTS_A_SECOND,
    REQUESTS_AT_ONCE,
    STRANGERS_A_SECOND,
    STRANGERS_AT_ONCE,
    Rates,
    too_many,
)
from deepbass.web.sessions import Session, Sessions

ACCESS = logging.getLogger("deepbass.web.access")
ERRORS = logging.getLogger("deepbass.web")

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_OPEN = ("/", "/login", "/favicon.ico")  # "/" itself asks for the token or sends people to /login
_OPEN_BELOW = "/static/"
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
_EVERYWHERE = frozenset({"0.0.0.0", "[::]"})


@dataclass(frozen=True)
class Place:
    """Where the server is reached: the names that may stand in the Host header."""

    scheme: str
    port: int
    names: frozenset[str]
    any_address: bool = False  # numbers are no names: nobody can make them resolve to somewhere else

    @classmethod
    def at(cls, host: str, port: int, *, tls: bool, names: tuple[str, ...] = ()) -> Place:
        """Make the place of a server that listens on ``host``; ``names`` are others that people use for it."""
        own = in_address(host)
        known = _LOOPBACK if own in _LOOPBACK or own in _EVERYWHERE or is_loopback(host) else frozenset()
        given = frozenset({own, *(in_address(name) for name in names)})
        return cls("https" if tls else "http", port, known | given, any_address=own in _EVERYWHERE)

    def knows(self, host: str) -> bool:
        """Tell whether a Host header is one of ours."""
        name, colon, port = host.rpartition(":")
        if not colon or port.endswith("]"):  # no port: the scheme's own
            name, port = host, "443" if self.scheme == "https" else "80"
        if port != str(self.port):
            return False
        name = name.lower()
        return name in self.names or (self.any_address and _is_address(name.strip("[]")))


class Guard:
    """The middleware."""

    def __init__(
        self, app: ASGIApp, place: Place, sessions: Sessions, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._place = place
        self._sessions = sessions
        self._rates = Rates(REQUESTS_A_SECOND, REQUESTS_AT_ONCE, clock)
        self._strangers = Rates(STRANGERS_A_SECOND, STRANGERS_AT_ONCE, clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # uvicorn closes a WebSocket that nobody accepts
        start = time.monotonic()
        status = 0

        async def sealed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(raw=list(message.get("headers", [])))
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
                message = {**message, "headers": headers.raw}
            await send(message)

        who = "-"
        try:
            session = self._admit(scope)
            who = session.name if session else "-"
            scope.setdefault("state", {})["session"] = session
            scope["app"] = self._app  # which makes the router raise what it cannot find, instead of answering in text
            await self._app(scope, receive, sealed)
        except ClientDisconnect:
            pass
        except Exception as error:
            refused = _as_refusal(error)
            if refused.status == 500:
                ERRORS.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
            if status:
                raise  # in the middle of an answer: the connection must break, or the page would take a part for all
            await refusal(refused)(scope, receive, sealed)
        finally:
            # the path only: the query may hold the token
            took = (time.monotonic() - start) * 1000
            ACCESS.info("%s %s %s %d %.0f ms", who, scope["method"], scope["path"], status, took)

    def _admit(self, scope: Scope) -> Session | None:
        headers = Headers(scope=scope)
        self._check_host(headers)
        method, path = scope["method"], scope["path"]
        if method not in ("GET", "HEAD", "POST"):
            raise Refused(405, "BadMethod", f"{method[:20]} is not understood here.", {"Allow": "GET, HEAD, POST"})
        self._check_site(headers, scope)
        if method == "POST":
            self._check_change(headers)
        session = self._session(headers)
        wait = self._rates.take(session.id) if session else self._strangers.take(address(scope))
        if wait:
            raise too_many(wait)
        if session is None and path not in _OPEN and not path.startswith(_OPEN_BELOW):
            how = "log in" if self._sessions.people is not None else "open the address that deepbass label printed"
            raise Refused(401, "NoSession", f"This page is not let in (any more): {how}.")
        return session

    def _check_host(self, headers: Headers) -> None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._place.knows(hosts[0]):
            raise Refused(403, "WrongHost", "This server does not go by that name: use the address that it printed.")

    def _check_site(self, headers: Headers, scope: Scope) -> None:
        site = headers.get("sec-fetch-site", "none")
        if site in ("same-origin", "none"):
            return
        # somebody may follow a link to the page, in a chat or a notebook; no other site may load or send anything
        follows = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        if not (follows and scope["method"] == "GET" and scope["path"] in ("/", "/login")):
            raise Refused(403, "CrossSite", "Another site's page asked for this: it is refused.")

    def _check_change(self, headers: Headers) -> None:
        origins = headers.getlist("origin")
        ours = f"{self._place.scheme}://{headers['host']}".lower()
        if any(origin.lower() != ours for origin in origins):
            raise Refused(403, "WrongOrigin", "Another site's page sent this: it is refused.")
        if headers.get("x-deepbass") != "1":
            raise Refused(403, "NoHeader", "The header X-Deepbass: 1 is missing.")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refused(415, "NotJson", f"Content-Type must be application/json, not {kind[:40]!r}.")

    def _session(self, headers: Headers) -> Session | None:
        # taken apart by hand: other programs on this host may have set cookies that a strict parser stumbles over
        for header in headers.getlist("cookie"):
            for part in header.split(";"):
                name, _, value = part.strip().partition("=")
                if name == self._sessions.cookie and (session := self._sessions.find(value)):
                    return session
        return None


def address(scope: Scope) -> str:
    """Return the address that a request came from."""
    client = scope.get("client")
    return str(client[0]) if client else "unknown"


def in_address(host: str) -> str:
    """Write a host as in an address: numbers with colons get brackets."""
    host = host.strip().strip("[]").lower()
    return f"[{host}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    """Tell whether a host can be reached from this machine only."""
    host = host.strip().strip("[]").lower()
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _as_refusal(error: Exception) -> Refused:
    match error:
        case Refused():
            return error
        case HTTPException():  # of the router: no such address, no such method
            return Refused(error.status_code, "BadRequest", str(error.detail), error.headers)
        case StoreError():  # a full disk, say: the page keeps what it could not send, and tries again
            ERRORS.error("%s", error)
            return Refused(503, type(error).__name__, str(error), {"Retry-After": "5"})
        case DeepBassError():
            return Refused(400, type(error).__name__, str(error))
        case _:
            return Refused(500, "Internal", "Something went wrong here; the server's terminal says what.")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
