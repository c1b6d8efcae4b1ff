"""Who is who: the token of the printed address, or a name and a password; both end in a signed cookie.

A cookie says whose it is and since when, signed by itsdangerous with a secret kept in the project's folder: it outlives
a restart of the server. Where people log in, a keyed hash of their password's hash is part of what is signed,
as Django's sessions have it: a new password or a removed person ends all of that person's sessions.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from itsdangerous import BadData, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from deepbass.core.errors import DataError, StoreError
from deepbass.label.clean_names import clean_name
from deepbass.label.passwords import LONGEST, check_password
from deepbass.label.project import SOURCE
from deepbass.store.names import WEB_ENDED_FILE, WEB_KEY_FILE
from deepbass.store.write_errors import advice_for
from deepbass.web.rate_limits import LoginLimits
from deepbass.web.requests import client_address, read_json
from deepbass.web.responses import Refusal, answer, refusal_response
from deepbass.web.static_files import Files

LOG = logging.getLogger("deepbass.web")

DAYS = 30
ONCE_SECONDS = 120.0  # for the browser that the command opens to arrive
_KEY_BYTES = 32

# Somebody who follows a link from another site has our cookie only after a step that our own page makes
_STEP = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/"><title>deepbass</title>'


@dataclass(frozen=True)
class BrowserSession:
    """A browser that was let in."""

    id: str
    name: str  # of the person
    since: int


class Tokens:
    """What lets a browser in without a log-in: one for the printed address, and ones that work a single time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.token = secrets.token_urlsafe(32)
        self._clock = clock
        self._once: dict[str, float] = {}  # until when

    def once(self) -> str:
        """Make a token for one use: a browser's command line can be read by others on the machine."""
        token = secrets.token_urlsafe(32)
        self._once[token] = self._clock() + ONCE_SECONDS
        return token

    def accepts(self, word: str) -> bool:
        """Tell whether a token is right, in a time that does not depend on where it is wrong."""
        given = word.encode("utf-8", "surrogatepass")
        right = hmac.compare_digest(given, self.token.encode())
        for token in list(self._once):
            fresh = self._once[token] >= self._clock()
            if hmac.compare_digest(given, token.encode()):
                del self._once[token]
                right = right or fresh
            elif not fresh:
                del self._once[token]
        return right


class Sessions:
    """Cookies: issued, checked, ended. ``people`` (name to password's hash) is None where nobody logs in."""

    def __init__(self, folder: Path, people: Mapping[str, str] | None, port: int) -> None:
        self.cookie = f"deepbass-{port}"  # cookies do not know ports: two servers on a host must not share one
        self.people = people
        self._key = _read_key(folder / WEB_KEY_FILE)
        self._signed = URLSafeTimedSerializer(
            self._key,
            salt="session 1",  # another number for another content
            signer_kwargs={"key_derivation": "hmac", "digest_method": hashlib.sha256},
        )
        # sessions that were logged out of, so that a copied cookie is worth nothing after a restart either
        self._ended_file = folder / WEB_ENDED_FILE
        self._ended = _read_ended(self._ended_file, time.time())
        self._unwritten: dict[str, int] = {}  # those of them that a full disk did not take
        self._lock = threading.Lock()

    def issue(self, name: str) -> str:
        """Make the cookie of a new session."""
        return self._signed.dumps([secrets.token_urlsafe(12), name, self._stands_for(name)])

    def find(self, cookie: str) -> BrowserSession | None:
        """Return the session of a cookie, if it is one of ours and still counts."""
        try:
            (id_, name, stands_for), signed_at = self._signed.loads(cookie, return_timestamp=True)
        except (BadData, UnicodeError):
            return None
        if self.people is not None and name not in self.people:
            return None
        if not hmac.compare_digest(stands_for, self._stands_for(name)):
            return None
        since = int(signed_at.timestamp())
        # not by loads(max_age=...), to which a clock that was set back by a second is a forged cookie
        if id_ in self._ended or not since <= time.time() + 60 <= since + DAYS * 86400:
            return None
        return BrowserSession(id_, name, since)

    def end(self, session: BrowserSession) -> None:
        """Log out: the cookie counts no more. An error says that this could not be written down for the next start."""
        with self._lock:
            self._ended[session.id] = self._unwritten[session.id] = session.since
            self._write_ended()

    def close(self) -> None:
        """Write down what could not be written before."""
        with self._lock:
            if self._unwritten:
                try:
                    self._write_ended()
                except StoreError as error:
                    LOG.warning("%s", error)

    def _write_ended(self) -> None:
        # each in lines of its own, whatever part of a line an earlier write has left behind
        lines = "".join(f"\n{json.dumps([id_, since])}\n" for id_, since in self._unwritten.items())
        try:
            with os.fdopen(os.open(self._ended_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w") as file:
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(
                f"Logged out, but this cannot be written to {self._ended_file}: {error.strerror}. If it stays so until "
                f"the server ends, a copy of the cookie would count again after the next start: {advice_for(error)}. "
                f"Deleting {WEB_KEY_FILE} there, while the server is down, ends all sessions."
            ) from error
        self._unwritten.clear()

    def _stands_for(self, name: str) -> str:
        # a cookie given for a token is none where people log in, nor the other way round
        what = "token" if self.people is None else f"password {self.people[name]}"
        return hmac.digest(self._key, what.encode(), hashlib.sha256).hex()


class AuthEndpoints:
    """The pages and requests by which people come in, and leave."""

    def __init__(self, sessions: Sessions, tokens: Tokens | None, files: Files, *, annotator: str, tls: bool) -> None:
        self._sessions = sessions
        self._tokens = tokens
        self._files = files
        self._annotator = annotator
        self._tls = tls
        self._limits = LoginLimits()

    async def page(self, request: Request) -> Response:
        """Show the page, or take the token for it; without either, say how to get in."""
        token = request.query_params.get("token")
        if token is not None and self._tokens is not None and request.method == "GET":
            return self._take_token(request, token)
        if _session(request) is not None:
            return self._files.respond(request, "index.html")
        if self._sessions.people is not None:
            return RedirectResponse("/login", 303)
        return self._files.respond(request, "token.html", 403)

    async def login_page(self, request: Request) -> Response:
        """Show the page to log in on, where there is anything to log in to."""
        if self._sessions.people is None or _session(request) is not None:
            return RedirectResponse("/", 303)
        return self._files.respond(request, "login.html")

    async def login(self, request: Request) -> Response:
        """Check name and password. An unknown name is refused in the same words and after the same work."""
        people = self._sessions.people
        if people is None:
            raise Refusal(404, "NoLogin", "Nobody logs in here: open the address that deepbass label printed.")
        body = await read_json(request)
        name, password = body.get("name"), body.get("password")
        if not isinstance(name, str) or not isinstance(password, str) or len(name) > LONGEST:
            raise Refusal(400, "BadRequest", "A name and a password are needed.")
        with suppress(DataError):  # what can be nobody's name is refused in the same words
            name = clean_name(name, "a person")
        address = client_address(request.scope)
        async with self._limits.hashing(address, name):
            right = await asyncio.to_thread(check_password, password, people.get(name))
        if not right:
            raise Refusal(401, "WrongLogin", "This name and password do not go together.")
        self._limits.succeeded(address, name)
        return self._let_in(answer({"name": name}), name)

    async def logout(self, request: Request) -> Response:
        """End the session, here and in the browser."""
        response = answer({})
        session = _session(request)
        if session is not None:
            try:
                await asyncio.to_thread(self._sessions.end, session)
            except StoreError as error:
                LOG.error("%s", error)
                response = refusal_response(Refusal(503, "NotWritten", str(error)))
            response.delete_cookie(self._sessions.cookie, secure=self._tls, httponly=True, samesite="strict")
        return response

    def _take_token(self, request: Request, token: str) -> Response:
        if self._tokens is None or not self._tokens.accepts(token):
            return self._files.respond(request, "token.html", 403)
        name = self._annotator
        if (chosen := request.query_params.get("as")) is not None:
            name = clean_name(chosen, "a person")
            if name == SOURCE:
                raise Refusal(400, "BadRequest", f"Nobody can be called {SOURCE!r}: that is who brought the data.")
        elsewhere = request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        return self._let_in(HTMLResponse(_STEP) if elsewhere else RedirectResponse("/", 303), name)

    def _let_in(self, response: Response, name: str) -> Response:
        response.set_cookie(
            self._sessions.cookie,
            self._sessions.issue(name),
            max_age=DAYS * 86400,
            secure=self._tls,
            httponly=True,
            samesite="strict",
        )
        return response


def _session(request: Request) -> BrowserSession | None:
    session: BrowserSession | None = request.state.session
    return session


def _read_key(path: Path) -> bytes:
    """Read the secret, or make it; one that others could read is replaced."""
    try:
        with suppress(FileNotFoundError):
            private = os.name == "nt" or not path.stat().st_mode & 0o077
            key = path.read_bytes()
            if private and len(key) == _KEY_BYTES:
                return key
            path.unlink()
        key = secrets.token_bytes(_KEY_BYTES)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(key)
    except OSError as error:
        raise StoreError(f"Cannot keep a secret in {path}: {error.strerror}; {advice_for(error)}.") from error
    return key


def _read_ended(path: Path, now: float) -> dict[str, int]:
    ended: dict[str, int] = {}
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError, TypeError):  # half a line: the machine died in the middle of it
                sid, since = json.loads(line)
                if since + DAYS * 86400 >= now:
                    ended[sid] = since
    return ended
