"""What a page sends, read and checked: bodies, numbers and words in addresses, acts; and how much of it is too much."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

from starlette.requests import ClientDisconnect, Request
from starlette.types import Scope

from deepbass.label.acts import NewAct
from deepbass.label.clean_names import LONGEST
from deepbass.label.settings import MOST_AHEAD
from deepbass.web.responses import Refusal

BODY_BYTES = 64 * 1024
BODY_SECONDS = 20.0  # for all of a body to arrive
ACTS = 200  # in a request
QUESTIONS = MOST_AHEAD  # handed out at a time
AUDIT_WISH = 50  # audit questions wished for at a time
HOURS = 72  # that questions can be taken along for
HOLDING = 200  # questions that a page may say it has already
PAGE = 200  # rows of a list in one answer
SIDE = 4096  # of a picture
NAME = 200  # characters of a name that is sought
ALIKE = 100  # items that are like another, in one answer
_DIGITS = 18  # of a number: what SQLite can keep


@dataclass(frozen=True)
class Incoming:
    """Acts as they arrived: the journal says of each whether it can be taken."""

    acts: list[NewAct]  # whoever acts is not known here
    want: int = 0  # further questions
    holding: tuple[int, ...] = ()  # items that the page has in hand


def read_acts(body: dict[str, Any]) -> Incoming:
    """Take a request's body apart; what has no shape at all is refused as a whole."""
    acts, want, holding = body.get("acts", []), body.get("want", 0), body.get("holding", [])
    if not isinstance(acts, list):
        raise _bad("acts must be a list.")
    if len(acts) > ACTS:
        raise Refusal(413, "TooLarge", f"{len(acts)} acts at once are too many: send {ACTS} at most.")
    if not _is_int(want) or not 0 <= want <= QUESTIONS:
        raise _bad(f"want must be a whole number from 0 to {QUESTIONS}.")
    return Incoming([_read_act(act) for act in acts], want, _read_holding(holding))


def read_audit_wish(body: dict[str, Any], items: int) -> tuple[int, int | None]:
    """Read how many audit questions a person wants next, and which item their page shows."""
    count, showing = body.get("count", 0), body.get("showing")
    if not _is_int(count) or not 1 <= count <= AUDIT_WISH:
        raise _bad(f"count must be a whole number from 1 to {AUDIT_WISH}.")
    if showing is not None and (not _is_int(showing) or not 0 <= showing < items):
        raise _bad("showing must be null or the number of an item.")
    return count, showing


def read_ahead(body: dict[str, Any]) -> tuple[int, float, tuple[int, ...]]:
    """Read how many questions a page wants to hold, for how many hours (0: as usual), and which it holds."""
    count, hours, holding = body.get("count", 0), body.get("hours", 0), body.get("holding", [])
    if not _is_int(count) or not 1 <= count <= QUESTIONS:
        raise _bad(f"count must be a whole number from 1 to {QUESTIONS}.")
    if isinstance(hours, bool) or not isinstance(hours, int | float) or not 0 <= hours <= HOURS:
        raise _bad(f"hours must be a number from 0 to {HOURS}.")
    return count, float(hours), _read_holding(holding)


def _read_holding(holding: object) -> tuple[int, ...]:
    if not isinstance(holding, list) or len(holding) > HOLDING or not all(_is_int(item) for item in holding):
        raise _bad(f"holding must be a list of at most {HOLDING} whole numbers.")
    return tuple(holding)


def read_target(body: dict[str, Any], allowed: Sequence[float | None]) -> float | None:
    """Read which of the targets is chosen."""
    target = body.get("target", 0)
    if isinstance(target, bool) or (target is not None and not isinstance(target, int | float)):
        raise _bad("target must be a share of 1, or null for none.")
    for choice in allowed:
        if choice == target:
            return choice
    listed = ", ".join(f"{choice:g}" for choice in allowed if choice is not None)
    raise _bad(f"target={str(target)[:40]} is none that may be chosen: {listed}, or null for none.")


async def read_json(request: Request, limit: int = BODY_BYTES) -> dict[str, Any]:
    """Read the body as a JSON object, and stop reading where it gets too large."""
    said = request.headers.get("content-length")
    if said is not None and ((length := _whole(said)) is None or length > limit):
        raise _too_large(limit)
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise _too_large(limit)
    except TimeoutError:
        raise Refusal(408, "TooSlow", f"The request's body did not arrive in {BODY_SECONDS:.0f} s.") from None
    except ClientDisconnect:
        raise Refusal(400, "Gone", "The request ended before its body did.") from None
    try:
        value = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Refusal(400, "BadRequest", "The request's body is not JSON.") from None
    if not isinstance(value, dict):
        raise Refusal(400, "BadRequest", f"The request's body is a {type(value).__name__}, not an object.")
    return value


def number(request: Request, name: str, default: int | None, low: int, high: int) -> int:
    """Read a whole number from the query, or refuse."""
    word = request.query_params.get(name)
    if word is None:
        if default is None:
            raise Refusal(400, "BadRequest", f"{name} is missing from the address.")
        return default
    found = _whole(word)
    if found is None or not low <= found <= high:
        raise Refusal(400, "BadRequest", f"{name}={word[:40]!r} is not a whole number from {low} to {high}.")
    return found


def item_id(request: Request, items: int) -> int:
    """Read the id of an item from the path; what is none of the ``items`` ids is not found."""
    word: str = request.path_params["item"]
    found = _whole(word)
    if found is None or found >= items:
        raise Refusal(404, "NoItem", f"There is no item {word[:40]!r}.")
    return found


def one_word(request: Request, name: str, default: str, words: tuple[str, ...]) -> str:
    """Read one of a few words from the query, or refuse."""
    word = request.query_params.get(name, default)
    if word not in words:
        raise Refusal(400, "BadRequest", f"{name}={word[:40]!r} is not one of {', '.join(filter(None, words))}.")
    return word


def share(request: Request, name: str, default: float) -> float:
    """Read a share from the query, from 0 to 1, or refuse."""
    word = request.query_params.get(name)
    if word is None:
        return default
    if not re.fullmatch(r"0(\.\d{1,9})?|1(\.0{1,9})?", word, re.ASCII):
        raise Refusal(400, "BadRequest", f"{name}={word[:40]!r} is not a share from 0 to 1, as in {default}.")
    return float(word)


def moment(request: Request, name: str) -> str:
    """Read a moment of time from the query, as ISO-8601 text in UTC as acts have it; "" where there is none."""
    word = request.query_params.get(name, "")
    try:
        found = datetime.fromisoformat(word) if word else None
        return "" if found is None else found.astimezone(UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError):
        raise Refusal(400, "BadRequest", f"{name}={word[:40]!r} is not a moment, as in 2026-05-01T00:00:00Z.") from None


def text(value: object, what: str, longest: int) -> str:
    """Check text from a client: not empty, not long, printable, and such that it can be written down."""
    if not isinstance(value, str):
        raise Refusal(400, "BadRequest", f"{what} must be text.")
    clean = value.strip()
    if not clean or len(clean) > longest or not clean.isprintable():  # lone surrogates are not printable either
        raise Refusal(400, "BadRequest", f"{what} must have 1 to {longest} printable characters: {value[:40]!r}.")
    return clean


def client_address(scope: Scope) -> str:
    """Return the address that a request came from."""
    client = scope.get("client")
    return str(client[0]) if client else "unknown"


def _read_act(raw: object) -> NewAct:
    if not isinstance(raw, dict):
        raise _bad("An act must be an object.")
    uid = raw.get("uid")
    if not isinstance(uid, str) or not 0 < len(uid) <= LONGEST:  # nobody could be told what became of it
        raise _bad(f"The uid of an act must be text of 1 to {LONGEST} characters.")
    # the rest may be of any kind here: the journal looks at everything before it takes it
    return NewAct(
        uid=uid,
        item=raw.get("item", -1),
        kind=raw.get("kind", ""),
        annotator="",
        why=raw.get("why", ""),
        class_=raw.get("class"),
        undoes=raw.get("undoes"),
        seconds=raw.get("seconds"),
        saw_guess=raw.get("saw_guess") is True,
        note=raw.get("note"),
    )


def _whole(word: str) -> int | None:
    """Read decimal digits, and no more than an id can have: int() refuses thousands of them, and takes them in Thai."""
    return int(word) if word.isascii() and word.isdigit() and len(word) <= _DIGITS else None


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _bad(error: str) -> Refusal:
    return Refusal(400, "BadRequest", error)


def _too_large(limit: int) -> Refusal:
    return Refusal(413, "TooLarge", f"The request is too large: at most {limit // 1024} kB are taken.")


def _no_constant(word: str) -> NoReturn:
    raise ValueError(word)
