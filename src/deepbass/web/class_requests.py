"""What the page wants of the classes: to list, add, rename, merge and remove them, and to take such changes back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from deepbass.label.class_edits import LabelsChangedError
from deepbass.label.class_list import ClassChangeError, ClassList
from deepbass.web.requests import read_json, text
from deepbass.web.responses import Refusal, answer
from deepbass.web.service import LabelService

_DIGITS = 9  # of an id or a number of labels: there are never more


class ClassRequests:
    """The routes below ``/api/classes``. What cannot be done is answered with 409 and the reason."""

    def __init__(self, service: LabelService, person: Callable[[Request], str]) -> None:
        self._service = service
        self._person = person

    def routes(self) -> list[Route]:
        """List the addresses."""
        posts: dict[str, Callable[[Request], Awaitable[Response]]] = {
            "": self._add,
            "/undo": self._undo,
            "/{id}/rename": self._rename,
            "/{id}/merge": self._merge,
            "/{id}/remove": self._remove,
        }
        changes = [Route(f"/api/classes{path}", _explained(end), methods=["POST"]) for path, end in posts.items()]
        return [Route("/api/classes", self._counts, methods=["GET"]), *changes]

    async def _counts(self, request: Request) -> Response:
        counts = await asyncio.wrap_future(self._service.class_counts())
        rows = class_rows(self._service.classes())
        return answer({"classes": [{**row, "labels": counts.get(row["id"], 0)} for row in rows]})

    async def _add(self, request: Request) -> Response:
        name = _name(await read_json(request))
        class_, change = await asyncio.wrap_future(self._service.add_class(name, self._person(request)))
        written = self._service.classes().name(class_)
        return answer(
            {"id": class_, "name": written, "existing": change is None, "change": change.id if change else None}
        )

    async def _rename(self, request: Request) -> Response:
        class_, name = self._class(request), _name(await read_json(request))
        change = await asyncio.wrap_future(self._service.rename_class(class_, name, self._person(request)))
        return answer({"id": class_, "name": change.name, "change": change.id})

    async def _merge(self, request: Request) -> Response:
        class_, into = self._class(request), _number(await read_json(request), "into")
        merged = self._service.merge_class(class_, into, self._person(request))
        change, labels = await asyncio.wrap_future(merged)
        return answer({"change": change.id, "labels": labels})

    async def _remove(self, request: Request) -> Response:
        class_, labels = self._class(request), _number(await read_json(request), "labels")
        removed = self._service.remove_class(class_, labels, self._person(request))
        try:
            change = await asyncio.wrap_future(removed)
        except LabelsChangedError as error:
            return answer({"error": str(error), "kind": "LabelsChanged", "labels": error.labels}, 409)
        return answer({"change": change.id, "labels": labels})

    async def _undo(self, request: Request) -> Response:
        change = _number(await read_json(request), "change")
        await asyncio.wrap_future(self._service.undo_class_change(change, self._person(request)))
        return answer({"classes": class_rows(self._service.classes())})

    def _class(self, request: Request) -> int:
        word: str = request.path_params["id"]
        if not (word.isascii() and word.isdigit() and len(word) <= _DIGITS):
            raise Refusal(404, "NoClass", f"There is no class {word[:40]!r}.")
        if int(word) >= self._service.classes().ever:
            raise Refusal(404, "NoClass", f"There is no class {int(word)}.")
        return int(word)


def class_rows(classes: ClassList) -> list[dict[str, Any]]:
    """Describe the classes that there are."""
    return [{"id": class_, "name": name} for class_, name in zip(classes.ids, classes.names, strict=True)]


def _explained(handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except ClassChangeError as error:
            raise Refusal(409, "Classes", str(error)) from error

    return handle


def _name(body: dict[str, Any]) -> str:
    return text(body.get("name"), "The name of a class", 100)


def _number(body: dict[str, Any], name: str) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 10**_DIGITS:
        raise Refusal(400, "BadRequest", f"{name} must be a whole number.")
    return value
