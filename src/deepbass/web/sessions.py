"""Who is who: the token in the printed address, and signed cookies that outlive a restart of the server.

A cookie says whose it is and since when, signed with a secret kept in the project's folder. Where people log in, their
password's hash is part of what is signed: a new password or a removed person ends all of that person's sessions.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from deepbass.core.errors import StoreError

KEY_FILE = "web.key"
# sessions that were logged out of, so that a copied cookie is worth nothing after a restart either
ENDED_FILE = "web.ended"
DAYS = 30
ONCE_SECONDS = 120.0  # for the browser that the command opens to arrive
_KEY_BYTES = 32


@dataclass(frozen=True)
class Session:
    """A browser that was let in."""

    id: str
    name: str  # of the person
    since: int


class Tokens:
    """What opens the door without a log-in: one for the printed address, and ones that work a single time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.token = secrets.token_urlsafe(32)
        self._clock = clock
        self._once: dict[str, float] = {}  # until when

    def once(self) -> str:
        """Make a token for one use: a browser's command line can be read by others on the machine."""
        token = secrets.token_urlsafe(32)
        self._once[token] = self._clock() + ONCE_SECONDS
        return token

    def opens(self, word: str) -> bool:
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

    def __init__(
        self, folder: Path, people: Mapping[str, str] | None, port: int, clock: Callable[[], float] = time.time
    ) -> None:
        self.cookie = f"deepbass-{port}"  # cookies do not know ports: two servers on a host must not share one
        self.people = people
        self._clock = clock
        self._key = _read_key(folder / KEY_FILE)
        self._ended_file = folder / ENDED_FILE
        self._ended = _read_ended(self._ended_file, clock())
        self._lock = threading.Lock()

    def issue(self, name: str) -> str:
        """Make the cookie of a new session."""
        payload = _encode(json.dumps([secrets.token_urlsafe(12), name, int(self._clock())]).encode())
        return f"{payload}.{self._sign(payload, name)}"

    def find(self, cookie: str) -> Session | None:
        """Return the session of a cookie, if it is one of ours and still counts."""
        payload, _, signature = cookie.partition(".")
        try:
            sid, name, since = json.loads(_decode(payload))
        except (ValueError, TypeError, RecursionError):
            return None
        if not (isinstance(sid, str) and isinstance(name, str) and isinstance(since, int)):
            return None
        if not hmac.compare_digest(self._sign(payload, name).encode(), signature.encode("utf-8", "surrogatepass")):
            return None
        if self.people is not None and name not in self.people:
            return None
        if sid in self._ended or not since <= self._clock() + 60 <= since + DAYS * 86400:
            return None
        return Session(sid, name, since)

    def end(self, session: Session) -> None:
        """Log out: the cookie counts no more, after a restart neither. Writes a file."""
        with self._lock:
            self._ended[session.id] = session.since
            line = json.dumps([session.id, session.since]) + "\n"
            with os.fdopen(os.open(self._ended_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w") as file:
                file.write(line)

    def _sign(self, payload: str, name: str) -> str:
        # a cookie given for a token is none where people log in, nor the other way round
        stands_for = "token" if self.people is None else f"password {self.people.get(name)}"
        return _encode(hmac.digest(self._key, f"{payload} {stands_for}".encode(), hashlib.sha256))


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
        raise StoreError(
            f"Cannot keep a secret in {path}: {error.strerror}. Check that you may write there."
        ) from error
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


def _encode(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def _decode(value: str) -> bytes:
    return base64.b64decode(value + "=" * (-len(value) % 4), b"-_", validate=True)
