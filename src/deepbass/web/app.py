"""The routes: every request that the middleware let through, to the service and back. Nothing here blocks the loop."""

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
from deepbass.label.guesses import THRESHOLD
from deepbass.label.ledger import Only
from deepbass.label.project import SOURCE
from deepbass.web import requests
from deepbass.web.auth import AuthEndpoints, BrowserSession, Sessions, Tokens
from deepbass.web.class_requests import ClassRequests, class_rows
from deepbass.web.content_responses import Contents
from deepbass.web.downloads import Downloads
from deepbass.web.image_responses import Pictures
from deepbass.web.item_tags import ItemTags
from deepbass.web.live_events import LiveEvents
from deepbass.web.middleware import AllowedHosts, SecurityMiddleware
from deepbass.web.rate_limits import RateLimit, too_many
from deepbass.web.requests import (
    item_id,
    moment,
    number,
    one_word,
    read_acts,
    read_ahead,
    read_audit_wish,
    read_json,
    read_target,
    share,
)
from deepbass.web.responses import Refusal, answer
from deepbass.web.service import LabelService
from deepbass.web.static_files import Files
from deepbass.web.trainer_process import TrainerState
from deepbass.web.views import Sought, act_json

T = TypeVar("T")

_TELL = 1.0  # seconds between two panels sent to everyone
_EVER = 2**53  # ids that a page may name
_ONLY: dict[str, Only | None] = {"": None, "flagged": "flagged", "unsure": "unsure", "skipped": "skipped"}


class App:
    """All of the page's server but the socket."""

    def __init__(
        self,
        service: LabelService,
        sessions: Sessions,
        hosts: AllowedHosts,
        *,
        annotator: str,
        tokens: Tokens | None = None,
        trainer: Callable[[], TrainerState] = TrainerState,
        data: Path | None = None,
        files: Files | None = None,
    ) -> None:
        self.service = service
        self.hub = LiveEvents()
        self.id = project_id(service.project.about["created_at"])
        self._trainer = trainer
        self._sessions = sessions
        self._several = len(service.people) > 1 or service.project.settings.twice > 0
        tags = ItemTags(service.items.kind, service.names, service.project.source, self.id)
        self._pictures = Pictures(service.items, service.names, tags)
        self._contents = Contents(service.items, service.names, tags)
        self._downloads = Downloads(service.project, data)
        self._exports = RateLimit(0.2, 6)
        self._files = files or Files()
        self._auth = AuthEndpoints(sessions, tokens, self._files, annotator=annotator, tls=hosts.scheme == "https")
        self._news = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._teller: asyncio.Task[None] | None = None
        service.on_news = self._heard
        self.asgi: ASGIApp = SecurityMiddleware(Router(self._routes(), redirect_slashes=False), hosts, sessions)

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
        """Let go of threads; the service is its owner's to close."""
        self._pictures.close()
        self._contents.close()
        self._downloads.close()

    def trainer_changed(self, state: TrainerState) -> None:
        """Tell everyone what the trainer does; from any thread."""
        self.hub.say_soon("trainer", state.as_json())

    def _routes(self) -> list[Route]:
        get: list[tuple[str, Callable[[Request], Awaitable[Response]]]] = [
            ("/", self._auth.page),
            ("/login", self._auth.login_page),
            ("/favicon.ico", self._icon),
            ("/static/{name:path}", self._static),
            ("/image/{item}", self._image),
            ("/content/{item}", self._content),
            ("/api/project", self._project),
            ("/api/next", self._next),
            ("/api/last", self._last),
            ("/api/guess/{item}", self._guess),
            ("/api/alike/{item}", self._alike),
            ("/api/note/{item}", self._note),
            ("/api/history", self._history),
            ("/api/guesses", self._guesses),
            ("/api/guess-levels", self._guess_levels),
            ("/api/disagreements", self._disagreements),
            ("/api/audit", self._audit_results),
            ("/api/targets", self._targets),
            ("/api/panel", self._panel),
            ("/api/live", self._live),
            ("/api/export/{format}", self._export),
        ]
        post: list[tuple[str, Callable[[Request], Awaitable[Response]]]] = [
            ("/api/acts", self._acts),
            ("/api/audit", self._audit_first),
            ("/api/target", self._choose_target),
            ("/api/ahead", self._ahead),
            ("/login", self._auth.login),
            ("/logout", self._auth.logout),
        ]
        return [
            *(Route(path, end, methods=["GET"]) for path, end in get),
            *(Route(path, end, methods=["POST"]) for path, end in post),
            *ClassRequests(self.service, person).routes(),
        ]

    # labelling

    async def _project(self, request: Request) -> Response:
        project, me = self.service.project, person(request)
        everyone = await done(self.service.annotators())
        settings = project.settings
        return answer(
            {
                "id": self.id,
                "name": self.service.items.name,
                "kind": self.service.items.kind,
                "items": self.service.here,
                "classes": class_rows(self.service.classes()),
                "annotator": me,
                "several": self._several or bool(set(everyone) - {me, SOURCE}),
                "target": settings.target_error,
                "audit": settings.audit,
                "twice": settings.twice,
                "ahead": settings.ahead,
                "login": self._sessions.people is not None,
            }
        )

    async def _next(self, request: Request) -> Response:
        count = number(request, "count", 4, 1, requests.QUESTIONS)
        questions, empty = await done(self.service.next(person(request), count))
        return answer({"questions": self._questions(questions), "empty": empty})

    async def _acts(self, request: Request) -> Response:
        incoming = read_acts(await read_json(request))
        receipt = await done(self.service.answer(person(request), incoming))
        return answer(
            {
                "saved": receipt.saved,
                "refused": [{"uid": one.uid, "reason": one.reason} for one in receipt.refused],
                "questions": self._questions(receipt.questions),
                "panel": self._with_trainer(receipt.panel),
                "last": self._act(receipt.last),
            }
        )

    async def _audit_first(self, request: Request) -> Response:
        count, showing = read_audit_wish(await read_json(request), len(self.service.names))
        return answer({"questions": await done(self.service.audit_first(person(request), count, showing))})

    async def _ahead(self, request: Request) -> Response:
        count, hours, holding = read_ahead(await read_json(request))
        questions, empty = await done(self.service.take_along(person(request), count, hours, holding))
        until = min((question.until for question in questions), default=None)
        return answer({"questions": self._questions(questions), "empty": empty, "until": until})

    async def _targets(self, request: Request) -> Response:
        return answer({"targets": await done(self.service.targets())})

    async def _choose_target(self, request: Request) -> Response:
        allowed = [choice["target"] for choice in await done(self.service.targets())]
        target = read_target(await read_json(request), allowed)
        return answer({"panel": self._with_trainer(await done(self.service.choose_target(target, person(request))))})

    async def _last(self, request: Request) -> Response:
        acts = await done(self.service.last(person(request)))
        last = self._act(acts[-1] if acts else None)
        return answer({**last, "group": [self._act(act) for act in acts]} if last and len(acts) > 1 else last)

    async def _guess(self, request: Request) -> Response:
        item = self._item(request)
        return answer({"guess": await done(self.service.guess(item, person(request)))})

    # looking through

    async def _history(self, request: Request) -> Response:
        mine = one_word(request, "who", "me", ("me", "all")) == "me"
        class_ = number(request, "class", -1, 0, _EVER)
        sought = Sought(
            before=number(request, "before", 0, 0, _EVER) or None,
            limit=number(request, "limit", 50, 1, requests.PAGE),
            annotator=person(request) if mine else request.query_params.get("by") or None,
            only=_ONLY[one_word(request, "only", "", tuple(_ONLY))],
            part=request.query_params.get("name", "")[: requests.NAME],
            class_=None if class_ < 0 else class_,
            since=moment(request, "since"),
            until=moment(request, "until"),
        )
        found = await done(self.service.history(sought))
        return answer({**found, "people": await done(self.service.annotators())})

    async def _alike(self, request: Request) -> Response:
        count = number(request, "count", 24, 1, requests.ALIKE)
        found = await done(self.service.alike(self._item(request), person(request), count))
        return answer(found)

    async def _note(self, request: Request) -> Response:
        return answer({"note": await done(self.service.note(self._item(request)))})

    async def _guesses(self, request: Request) -> Response:
        class_ = number(request, "class", -1, 0, _EVER)
        classes = self.service.classes()
        if class_ >= 0 and class_ not in classes:
            raise Refusal(400, "BadRequest", f"class={class_} is none of the {len(classes)} classes.")
        offset = number(request, "offset", 0, 0, _EVER)
        limit = number(request, "limit", 60, 1, requests.PAGE)
        least = share(request, "least", THRESHOLD)
        found = await done(self.service.guesses(class_ if class_ >= 0 else None, least, offset, limit))
        return answer(found)

    async def _guess_levels(self, request: Request) -> Response:
        found = await done(self.service.guess_levels())
        return answer(found)

    async def _audit_results(self, request: Request) -> Response:
        found = await done(self.service.audit_results())
        return answer(found)

    async def _disagreements(self, request: Request) -> Response:
        found = await done(self.service.disagreements())
        return answer(found)

    async def _image(self, request: Request) -> Response:
        return await self._pictures.respond(request, self._item(request))

    async def _content(self, request: Request) -> Response:
        return await self._contents.respond(request, self._item(request))

    async def _export(self, request: Request) -> Response:
        if wait := self._exports.take(session_of(request).id):
            raise too_many(wait, "exports")
        none = request.query_params.get("guesses") == "none"
        guesses = None if none else share(request, "guesses", THRESHOLD)
        return await self._downloads.respond(request.path_params["format"], guesses)

    # news

    async def _panel(self, request: Request) -> Response:
        return answer(await self._numbers())

    async def _live(self, request: Request) -> Response:
        if request.method != "GET":
            raise Refusal(405, "BadMethod", "A stream has no end to measure.", {"Allow": "GET"})
        return self.hub.stream(session_of(request).id, {"panel": await self._numbers()})

    def _heard(self, kind: str) -> None:
        """Hear from the service, in its thread, that something has changed."""
        if self._loop is None:
            return
        if kind == "classes":
            self.hub.say_soon("classes", class_rows(self.service.classes()))
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
        return self._with_trainer(await done(self.service.panel()))

    def _with_trainer(self, panel: dict[str, Any]) -> dict[str, Any]:
        return {**panel, "trainer": self._trainer().as_json()}

    # files

    async def _static(self, request: Request) -> Response:
        return self._files.respond(request, request.path_params["name"])

    async def _icon(self, request: Request) -> Response:
        return self._files.respond(request, "icon.svg")

    def _questions(self, questions: list[Question]) -> list[dict[str, Any]]:
        # not why they are asked: nobody should answer an audit question with more care than others
        return [{"item": question.item, "name": self.service.names[question.item]} for question in questions]

    def _act(self, act: Act | None) -> dict[str, Any] | None:
        return None if act is None else act_json(act, self.service.names, self.service.classes())

    def _item(self, request: Request) -> int:
        return item_id(request, len(self.service.names))


async def done(future: Future[T]) -> T:
    """Wait for the service without holding up the loop."""
    return await asyncio.wrap_future(future)


def session_of(request: Request) -> BrowserSession:
    """Return the session, which the middleware has made sure of."""
    session: BrowserSession = request.state.session
    return session


def person(request: Request) -> str:
    """Tell who asks."""
    return session_of(request).name


def project_id(created_at: str) -> str:
    """Make a short name that tells projects apart, wherever they are moved to."""
    return hashlib.sha256(created_at.encode()).hexdigest()[:12]
