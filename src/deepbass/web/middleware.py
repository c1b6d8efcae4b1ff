"""What every request passes: nothing is let through that is not from our own page, with a session, at a bearable rate.

One ASGI middleware around the whole application. It checks, in this order, and follows published rules:

1. Host, against a list of allowed names. A page on another domain that is made to resolve to this machine (DNS
   rebinding) sends its own name; numbers cannot be rebound. (OWASP, Testing Guide: Host header; RFC 9110, 7.2.)
2. Sec-Fetch-Site, Sec-Fetch-Mode and Sec-Fetch-Dest: the *resource isolation policy* of W3C's Fetch Metadata Request
   Headers, as written up on web.dev. Other sites' pages may link to the page; they may load or send nothing.
   Browsers that do not send these headers are left to the next rule and to cookies that are SameSite=Strict.
3. What changes something (POST) must have an Origin that is ours, where there is one, a header of our own
   (X-Deepbass) and be JSON, which no foreign page can send without a CORS preflight, which is never granted: *verifying
   origin with standard headers* and *custom request headers* of OWASP's Cross-Site Request Forgery Prevention
   Cheat Sheet.
4. The cookie; without it there are only the page that asks for it and the static files, which hold no secrets.
5. The rate, by session or, without one, by address.

It is written by hand because Starlette's parts check less: its TrustedHostMiddleware knows no ports and lets a second
Host header pass, and it has neither Fetch Metadata nor an origin check.

Every answer, a refusal or a crash too, leaves with the same headers (OWASP, HTTP Headers Cheat Sheet).
"""

from __future__ import annotations

import ipaddress
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deepbass.core.errors import DeepBassError, StoreError
from deepbass.web.auth import BrowserSession, Sessions
from deepbass.web.rate_limits import (
    ANONYMOUS_AT_ONCE,
    ANONYMOUS_PER_SECOND,
    REQUESTS_AT_ONCE,
    REQUESTS_PER_SECOND,
    RateLimit,
    is_loopback,
    network,
    too_many,
)
from deepbass.web.requests import client_address
from deepbass.web.responses import Refusal, refusal_response

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
_SHOWN = 200  # characters of a path in the log
_EVERYWHERE = frozenset({"0.0.0.0", "[::]"})


@dataclass(frozen=True)
class AllowedHosts:
    """Where the server is reached: the names that may stand in the Host header."""

    scheme: str
    port: int
    names: frozenset[str]
    any_address: bool = False  # numbers are no names: nobody can make them resolve to somewhere else

    @classmethod
    def at(cls, host: str, port: int, *, tls: bool, names: tuple[str, ...] = ()) -> AllowedHosts:
        """Name the hosts of a server that listens on ``host``; ``names`` are others that people use for it."""
        own = in_url(host)
        known = _LOOPBACK if own in _LOOPBACK or own in _EVERYWHERE or is_loopback(host) else frozenset()
        given = frozenset({own, *(in_url(name) for name in names)})
        return cls("https" if tls else "http", port, known | given, any_address=own in _EVERYWHERE)

    def allow(self, host: str) -> bool:
        """Tell whether a Host header is one of ours."""
        name, colon, port = host.rpartition(":")
        if not colon or port.endswith("]"):  # no port: the scheme's own
            name, port = host, "443" if self.scheme == "https" else "80"
        if port != str(self.port):
            return False
        name = name.lower()
        return name in self.names or (self.any_address and _is_address(name.strip("[]")))


class SecurityMiddleware:
    """Lets a request through, or answers it with the reason why not."""

    def __init__(
        self, app: ASGIApp, hosts: AllowedHosts, sessions: Sessions, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._sessions = sessions
        self._rates = RateLimit(REQUESTS_PER_SECOND, REQUESTS_AT_ONCE, clock)
        self._anonymous = RateLimit(ANONYMOUS_PER_SECOND, ANONYMOUS_AT_ONCE, clock)

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
                ERRORS.error("%s %s failed", scope["method"], _shown(scope), exc_info=error)
            if status:
                raise  # in the middle of an answer: the connection must break, or the page would take a part for all
            await refusal_response(refused)(scope, receive, sealed)
        finally:
            took = (time.monotonic() - start) * 1000
            ACCESS.info("%s %s %s %d %.0f ms", who, scope["method"], _shown(scope), status, took)

    def _admit(self, scope: Scope) -> BrowserSession | None:
        headers = Headers(scope=scope)
        self._check_host(headers)
        method, path = scope["method"], scope["path"]
        if method not in ("GET", "HEAD", "POST"):
            raise Refusal(405, "BadMethod", f"{method[:20]} is not understood here.", {"Allow": "GET, HEAD, POST"})
        self._check_site(headers, scope)
        if method == "POST":
            self._check_change(headers)
        session = self._session(headers)
        wait = self._rates.take(session.id) if session else self._anonymous.take(network(client_address(scope)))
        if wait:
            raise too_many(wait)
        if session is None and path not in _OPEN and not path.startswith(_OPEN_BELOW):
            how = "log in" if self._sessions.people is not None else "open the address that deepbass label printed"
            raise Refusal(401, "NoSession", f"This page is not let in (any more): {how}.")
        return session

    def _check_host(self, headers: Headers) -> None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._hosts.allow(hosts[0]):
            raise Refusal(403, "WrongHost", "This server does not go by that name: use the address that it printed.")

    def _check_site(self, headers: Headers, scope: Scope) -> None:
        site = headers.get("sec-fetch-site", "none")
        if site in ("same-origin", "none"):
            return
        # somebody may follow a link to the page, in a chat or a notebook; no other site may load or send anything
        follows = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        if not (follows and scope["method"] == "GET" and scope["path"] in ("/", "/login")):
            raise Refusal(403, "CrossSite", "Another site's page asked for this: it is refused.")

    def _check_change(self, headers: Headers) -> None:
        origins = headers.getlist("origin")
        ours = f"{self._hosts.scheme}://{headers['host']}".lower()
        if any(origin.lower() != ours for origin in origins):
            raise Refusal(403, "WrongOrigin", "Another site's page sent this: it is refused.")
        if headers.get("x-deepbass") != "1":
            raise Refusal(403, "NoHeader", "The header X-Deepbass: 1 is missing.")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refusal(415, "NotJson", f"Content-Type must be application/json, not {kind[:40]!r}.")

    def _session(self, headers: Headers) -> BrowserSession | None:
        # taken apart by hand: other programs on this host may have set cookies that a strict parser stumbles over
        for header in headers.getlist("cookie"):
            for part in header.split(";"):
                name, _, value = part.strip().partition("=")
                if name == self._sessions.cookie and (session := self._sessions.find(value)):
                    return session
        return None


def in_url(host: str) -> str:
    """Write a host as in a URL: numbers with colons get brackets."""
    host = host.strip().strip("[]").lower()
    return f"[{host}]" if ":" in host else host


def _as_refusal(error: Exception) -> Refusal:
    match error:
        case Refusal():
            return error
        case HTTPException():  # of the router: no such address, no such method
            return Refusal(error.status_code, "BadRequest", str(error.detail), error.headers)
        case StoreError():  # a full disk, say: the page keeps what it could not send, and tries again
            ERRORS.error("%s", error)
            return Refusal(503, type(error).__name__, str(error), {"Retry-After": "5"})
        case DeepBassError():
            return Refusal(400, type(error).__name__, str(error))
        case _:
            return Refusal(500, "Internal", "Something went wrong here; the server's terminal says what.")


def _shown(scope: Scope) -> str:
    """Write a path for the log: without the query, which may hold the token, and on one line, whatever is in it."""
    return quote(scope["path"])[:_SHOWN]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
