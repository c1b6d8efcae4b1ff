"""How much is too much: sizes of bodies, rates of requests, numbers in addresses."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NoReturn

from starlette.requests import ClientDisconnect, Request

from deepbass.web.answers import Refused

BODY_BYTES = 64 * 1024
BODY_SECONDS = 20.0  # for all of a body to arrive
ACTS = 200  # in a request
QUESTIONS = 50  # handed out at a time
HOLDING = 200  # questions that a page may say it has already
PAGE = 200  # rows of a list in one answer
SIDE = 4096  # of a picture

REQUESTS_A_SECOND = 100.0  # of one session: a page with a grid of small pictures asks for many at once
REQUESTS_AT_ONCE = 300.0
STRANGERS_A_SECOND = 20.0  # of one address that has no session
STRANGERS_AT_ONCE = 100.0
LOGINS_A_SECOND = 0.2  # tries for one name or from one address
LOGINS_AT_ONCE = 8.0
_KEYS = 10_000  # buckets kept: the memory of the server is no target


class Rates:
    """Buckets of tokens by key: full at first, refilled all the time, one token a request."""

    def __init__(self, a_second: float, at_once: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._a_second = a_second
        self._at_once = at_once
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, when counted

    def take(self, key: str) -> float:
        """Take a token and return 0, or return the seconds until there is one."""
        now = self._clock()
        tokens, counted = self._buckets.pop(key, (self._at_once, now))
        tokens = min(self._at_once, tokens + (now - counted) * self._a_second)
        wait = 0.0 if tokens >= 1 else (1 - tokens) / self._a_second
        self._buckets[key] = (tokens if wait else tokens - 1, now)
        if len(self._buckets) > _KEYS:
            self._buckets.popitem(last=False)  # the one not used for longest: most likely full again
        return wait

    def give_back(self, key: str) -> None:
        """Put a token back: what it was taken for did not count."""
        if key in self._buckets:
            tokens, counted = self._buckets[key]
            self._buckets[key] = (min(self._at_once, tokens + 1), counted)


def too_many(wait: float, what: str = "requests") -> Refused:
    """Make the refusal for a rate that is too high."""
    seconds = max(1, math.ceil(wait))
    return Refused(429, "TooMany", f"Too many {what}: try again in {seconds} s.", {"Retry-After": str(seconds)})


async def read_json(request: Request, limit: int = BODY_BYTES) -> dict[str, Any]:
    """Read the body as a JSON object, and stop reading where it gets too large."""
    said = request.headers.get("content-length")
    if said is not None and (not said.isdigit() or int(said) > limit):
        raise _too_large(limit)
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise _too_large(limit)
    except TimeoutError:
        raise Refused(408, "TooSlow", f"The request's body did not arrive in {BODY_SECONDS:.0f} s.") from None
    except ClientDisconnect:
        raise Refused(400, "Gone", "The request ended before its body did.") from None
    try:
        value = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Refused(400, "BadRequest", "The request's body is not JSON.") from None
    if not isinstance(value, dict):
        raise Refused(400, "BadRequest", f"The request's body is a {type(value).__name__}, not an object.")
    return value


def number(request: Request, name: str, default: int | None, low: int, high: int) -> int:
    """Read a whole number from the query, or refuse."""
    word = request.query_params.get(name)
    if word is None:
        if default is None:
            raise Refused(400, "BadRequest", f"{name} is missing from the address.")
        return default
    if not (word.isascii() and word.isdigit() and len(word) <= 18 and low <= int(word) <= high):
        raise Refused(400, "BadRequest", f"{name}={word[:40]!r} is not a whole number from {low} to {high}.")
    return int(word)


def one_word(request: Request, name: str, default: str, words: tuple[str, ...]) -> str:
    """Read one of a few words from the query, or refuse."""
    word = request.query_params.get(name, default)
    if word not in words:
        raise Refused(400, "BadRequest", f"{name}={word[:40]!r} is not one of {', '.join(filter(None, words))}.")
    return word


def text(value: object, what: str, longest: int) -> str:
    """Check text from a client: not empty, not long, printable, and such that it can be written down."""
    if not isinstance(value, str):
        raise Refused(400, "BadRequest", f"{what} must be text.")
    clean = value.strip()
    if not clean or len(clean) > longest or not clean.isprintable():  # lone surrogates are not printable either
        raise Refused(400, "BadRequest", f"{what} must have 1 to {longest} printable characters: {value[:40]!r}.")
    return clean


def _too_large(limit: int) -> Refused:
    return Refused(413, "TooLarge", f"The request is too large: at most {limit // 1024} kB are taken.")


def _no_constant(word: str) -> NoReturn:
    raise ValueError(word)
