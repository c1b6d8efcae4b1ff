"""The routes: every request that the guard let through, taken to the desk and back. Nothing here blocks the loop."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from deepbass.label.acts import Act, Question
from deepbass.label.ledger import Only
from deepbass.label.project import SOURCE
from deepbass.web import limits
from deepbass.web.answers import Refused, answer
from deepbass.web.desk import Desk
from deepbass.web.downloads import Downloads
from deepbass.web.entrance import Entrance
from deepbass.web.files import Files
from deepbass.web.guard import Guard, Place
from deepbass.web.incoming import read_acts
from deepbass.web.limits import number, one_word, read_json, text, too_many
from deepbass.web.live import Hub
from deepbass.web.pictures import Pictures
from deepbass.web.sessions import Session, Sessions, Tokens
from deepbass.web.supervisor import TrainerState
from deepbass.web.views import act_json

T = TypeVar("T")

_TELL = 1.0  # seconds between two panels sent to everyone
_EVER = 2**53  # ids that a page may name
_ONLY: dict[str, Only | None] = {"": None, "flagged": "flagged", "unsure": "unsure", "skipped": "skipped"}


class App:
    """All of the page's server but the socket."""

    def __init__(
        self,
        desk: Desk,
        sessions: Sessions,
        place: Place,
        *,
        annotator: str,
        tokens: Tokens | None = None,
        trainer: Callable[[], TrainerState] = TrainerState,
        data: Path | None = None,
        files: Files | None = None,
    ) -> None:
        self.desk = desk
        self.hub = Hub()
        self.id = project_id(desk.project.about["created_at"])
        self._trainer = trainer
        self._sessions = sessions
        self._several = len(desk.people) > 1 or desk.project.settings.twice > 0
        self._pictures = Pictures(desk.items, desk.names, desk.project.source, self.id)
        self._downloads = Downloads(desk.project, data)
        self._exports = limits.Rates(0.2, 6)
        self._files = files or Files()
        self._entrance = Entrance(sessions, tokens, self._files, annotator=annotator, tls=place.scheme == "https")
        self._news = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._teller: asyncio.Task[None] | None = None
        desk.on_news = self._heard
        self.asgi: ASGIApp = Guard(Router(self._routes(), redirect_slashes=False), place, sessions)

    def start(self) -> None:
        """Begin to tell everyone the news; call it inside the event loop."""
        self._loop = asyncio.get_running_loop()
        self.hub.attach()
        self._teller = self._loop.create_task(self._tell())

    def end(self) -> None:
        """End all streams, so that the server can; call it inside the event loop."""
        self.hub.close()
        if self._teller is not None:
            self._teller.cancel()

    def close(self) -> None:
        """Let go of threads; the desk is its owner's to close."""
        self._pictures.close()

    def trainer_changed(self, state: TrainerState) -> None:
        """Tell everyone what the trainer does; from any thread."""
        self.hub.say_soon("trainer", state.as_json())

    def _routes(self) -> list[Route]:
        door = self._entrance
        get: list[tuple[str, Callable[[Request], Awaitable[Response]]]] = [
            ("/", door.page),
            ("/login", door.login_page),
            ("/favicon.ico", self._icon),
            ("/static/{name:path}", self._static),
            ("/image/{item:int}", self._image),
            ("/api/project", self._project),
            ("/api/next", self._next),
            ("/api/last", self._last),
            ("/api/guess/{item:int}", self._guess),
            ("/api/history", self._history),
            ("/api/guesses", self._guesses),
            ("/api/disagreements", self._disagreements),
            ("/api/panel", self._panel),
            ("/api/live", self._live),
            ("/api/export/{format}", self._export),
        ]
        post: list[tuple[str, Callable[[Request], Awaitable[Response]]]] = [
            ("/api/acts", self._acts),
            ("/api/classes", self._classes),
            ("/login", door.login),
            ("/logout", door.logout),
        ]
        return [Route(path, end, methods=["GET"]) for path, end in get] + [
            Route(path, end, methods=["POST"]) for path, end in post
        ]

    # labelling

    async def _project(self, request: Request) -> Response:
        project, me = self.desk.project, person(request)
        everyone = await done(self.desk.annotators())
        settings = project.settings
        return answer(
            {
                "id": self.id,
                "name": self.desk.items.name,
                "items": self.desk.here,
                "classes": self._class_list(),
                "annotator": me,
                "several": self._several or bool(set(everyone) - {me, SOURCE}),
                "target": settings.target_error,
                "audit": settings.audit,
                "twice": settings.twice,
                "login": self._sessions.people is not None,
            }
        )

    async def _next(self, request: Request) -> Response:
        count = number(request, "count", 4, 1, limits.QUESTIONS)
        questions, empty = await done(self.desk.next(person(request), count))
        return answer({"questions": self._questions(questions), "empty": empty})

    async def _acts(self, request: Request) -> Response:
        incoming = read_acts(await read_json(request))
        receipt = await done(self.desk.answer(person(request), incoming))
        return answer(
            {
                "saved": receipt.saved,
                "refused": [{"uid": one.uid, "reason": one.reason} for one in receipt.refused],
                "questions": self._questions(receipt.questions),
                "panel": self._with_trainer(receipt.panel),
                "last": self._act(receipt.last),
            }
        )

    async def _last(self, request: Request) -> Response:
        return answer(self._act(await done(self.desk.last(person(request)))))

    async def _guess(self, request: Request) -> Response:
        item = self._item(request)
        return answer({"guess": await done(self.desk.guess(item, person(request)))})

    async def _classes(self, request: Request) -> Response:
        body = await read_json(request)
        name = text(body.get("name"), "The name of a class", 100)
        class_, written = await done(self.desk.add_class(name, person(request)))
        return answer({"id": class_, "name": written})

    # looking through

    async def _history(self, request: Request) -> Response:
        before = number(request, "before", 0, 0, _EVER) or None
        limit = number(request, "limit", 50, 1, limits.PAGE)
        mine = one_word(request, "who", "me", ("me", "all")) == "me"
        only = _ONLY[one_word(request, "only", "", tuple(_ONLY))]
        found = await done(self.desk.history(before, limit, person(request) if mine else None, only))
        return answer(found)

    async def _guesses(self, request: Request) -> Response:
        classes = len(self.desk.classes())
        if not classes:
            return answer({"items": [], "total": 0, "counts": []})
        class_ = number(request, "class", 0, 0, classes - 1)
        offset = number(request, "offset", 0, 0, _EVER)
        limit = number(request, "limit", 60, 1, limits.PAGE)
        found = await done(self.desk.guesses(class_, offset, limit))
        return answer(found)

    async def _disagreements(self, request: Request) -> Response:
        found = await done(self.desk.disagreements())
        return answer(found)

    async def _image(self, request: Request) -> Response:
        return await self._pictures.respond(request, self._item(request))

    async def _export(self, request: Request) -> Response:
        if wait := self._exports.take(session_of(request).id):
            raise too_many(wait, "exports")
        return await self._downloads.respond(request.path_params["format"])

    # news

    async def _panel(self, request: Request) -> Response:
        return answer(await self._numbers())

    async def _live(self, request: Request) -> Response:
        if request.method != "GET":
            raise Refused(405, "BadMethod", "A stream has no end to measure.", {"Allow": "GET"})
        return self.hub.stream(session_of(request).id, {"panel": await self._numbers()})

    def _heard(self, kind: str) -> None:
        """Hear from the desk, in its thread, that something has changed."""
        if self._loop is None:
            return
        if kind == "classes":
            self.hub.say_soon("classes", self._class_list())
        elif kind == "ranking":
            self.hub.say_soon("ranking", {})
        with suppress(RuntimeError):  # it has just been closed
            self._loop.call_soon_threadsafe(self._news.set)

    async def _tell(self) -> None:
        """Send the panel to everyone after a change, but not more often than can be read."""
        while True:
            await self._news.wait()
            self._news.clear()
            if len(self.hub):
                self.hub.say("panel", await self._numbers())
            await asyncio.sleep(_TELL)

    async def _numbers(self) -> dict[str, Any]:
        return self._with_trainer(await done(self.desk.panel()))

    def _with_trainer(self, panel: dict[str, Any]) -> dict[str, Any]:
        return {**panel, "trainer": self._trainer().as_json()}

    # files

    async def _static(self, request: Request) -> Response:
        return self._files.respond(request, request.path_params["name"])

    async def _icon(self, request: Request) -> Response:
        return self._files.respond(request, "icon.svg")

    def _class_list(self) -> list[dict[str, Any]]:
        return [{"id": class_, "name": name} for class_, name in enumerate(self.desk.classes())]

    def _questions(self, questions: list[Question]) -> list[dict[str, Any]]:
        # not why they are asked: nobody should answer an audit question with more care than others
        return [{"item": question.item, "name": self.desk.names[question.item]} for question in questions]

    def _act(self, act: Act | None) -> dict[str, Any] | None:
        return None if act is None else act_json(act, self.desk.names)

    def _item(self, request: Request) -> int:
        item: int = request.path_params["item"]
        if not 0 <= item < len(self.desk.names):
            raise Refused(404, "NoItem", f"There is no image {item}.")
        return item


async def done(future: Future[T]) -> T:
    """Wait for the desk without holding up the loop."""
    return await asyncio.wrap_future(future)


def session_of(request: Request) -> Session:
    """Return the session, which the guard has made sure of."""
    session: Session = request.state.session
    return session


def person(request: Request) -> str:
    """Tell who asks."""
    return session_of(request).name


def project_id(created_at: str) -> str:
    """Make a short name that tells projects apart, wherever they are moved to."""
    return hashlib.sha256(created_at.encode()).hexdigest()[:12]
