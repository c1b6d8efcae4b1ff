"""What goes back to the page: small JSON, and refusals that say why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response


class Refusal(Exception):  # noqa: N818  (a refusal is an answer, not an accident)
    """A request that is answered with an error on purpose."""

    def __init__(self, status: int, kind: str, error: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(error)
        self.status = status
        self.kind = kind
        self.error = error
        self.headers = dict(headers or {})


def dumps(value: object) -> bytes:
    """Write compact JSON; a number that is none (NaN) is a mistake here, not something for the page to meet."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode(
        "utf-8", "backslashreplace"
    )  # half a character, which UTF-8 has not, is written as JSON's \ud800


def answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Make a JSON response."""
    return Response(dumps(value), status, dict(headers or {}), "application/json")


def refusal_response(refused: Refusal) -> Response:
    """Make the response for a refusal."""
    return answer(_error(refused.error, refused.kind), refused.status, refused.headers)


def _error(error: str, kind: str) -> dict[str, Any]:
    return {"error": error, "kind": kind}
