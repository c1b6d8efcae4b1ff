"""The labelling server's HTTP contract, in memory and with made-up images: for working on the page, and for its tests.

``python -m tests.browser.fake_server`` serves it at http://127.0.0.1:8123/?token=ann
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from .fake_classes import RefusedChangeError, Row
from .fake_project import THRESHOLD, Fake

STATIC = Path(__file__).parents[2] / "src" / "deepbass" / "web" / "static"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
COOKIE = "deepbass-fake"
ALWAYS = (("since", "0001-01-01T00:00:00+00:00"), ("until", "9999-01-01T00:00:00+00:00"))


def application(fake: Fake) -> Starlette:
    """Build the server."""

    def person(request: Request) -> str:
        return str(request.state.person)

    async def page(request: Request) -> Response:
        token = request.query_params.get("token")
        if token in fake.people:
            response: Response = RedirectResponse("/")
            response.set_cookie(COOKIE, token, httponly=True, samesite="strict")
            return response
        return FileResponse(STATIC / "index.html")

    async def login(request: Request) -> Response:
        if request.method == "GET":
            return FileResponse(STATIC / "login.html")
        sent = await request.json()
        if sent["name"] not in fake.people or sent["password"] != "right":
            return JSONResponse({"error": "Name or password is wrong.", "kind": "login"}, 401)
        response = JSONResponse({})
        response.set_cookie(COOKIE, sent["name"], httponly=True, samesite="strict")
        return response

    async def logout(_: Request) -> Response:
        response = JSONResponse({})
        response.delete_cookie(COOKIE)
        return response

    async def project(request: Request) -> Response:
        return JSONResponse(fake.project(person(request)))

    async def next_(request: Request) -> Response:
        if fake.reserved:
            return JSONResponse({"questions": [], "empty": fake.reserved})
        items = fake.journal.next(person(request), int(request.query_params["count"]))
        return JSONResponse(
            {"questions": fake.questions(items), "empty": None if items else f"Every {fake.kind} has an answer."}
        )

    async def acts(request: Request) -> Response:
        sent = await request.json()
        saved, refused = [], []
        for act in sent["acts"]:
            reason = fake.journal.write(person(request), act)
            if reason is None:
                saved.append(act["uid"])
            else:
                refused.append({"uid": act["uid"], "reason": reason})
        items = [] if fake.reserved else fake.journal.next(person(request), sent["want"], tuple(sent["holding"]))
        fake.tell("panel", fake.panel())
        return JSONResponse(
            {
                "saved": saved,
                "refused": refused,
                "questions": fake.questions(items),
                "panel": fake.panel(),
                "last": _short(person(request)),
            }
        )

    def _short(who: str) -> Row | None:
        last = fake.journal.last_of(who)
        return last and _named(last)

    def _named(act: Row) -> Row:
        return {key: act[key] for key in ("uid", "item", "kind", "class")} | {"name": fake.names[act["item"]]}

    async def last(request: Request) -> Response:
        group = [_named(act) for act in fake.journal.last_group_of(person(request))]
        return JSONResponse({**group[-1], "group": group} if group else None)

    async def guess(request: Request) -> Response:
        return JSONResponse({"guess": fake.guess(int(request.path_params["item"]))})

    async def history(request: Request) -> Response:
        query = request.query_params
        before, limit = int(query.get("before", 1 << 40)), int(query.get("limit", 50))
        rows = [act for act in reversed(fake.journal.live()) if act["id"] < before]
        if query.get("who", "me") == "me":
            rows = [act for act in rows if act["annotator"] == person(request)]
        rows = [act for act in rows if query.get("name", "").lower() in fake.names[act["item"]].lower()]
        rows = [act for act in rows if query.get("by", act["annotator"]) == act["annotator"]]
        rows = [act for act in rows if query.get("class", str(act["class"])) == str(act["class"])]
        since, until = (datetime.fromisoformat(query.get(name, default)) for name, default in ALWAYS)
        rows = [act for act in rows if since <= datetime.fromisoformat(act["at"]) < until]
        standing, flags = fake.journal.standing(), fake.journal.flags()
        only = query.get("only")
        if only == "flagged":
            rows = [act for act in rows if act["kind"] == "flag" and act["item"] in flags]
        elif only:
            kind = {"unsure": "unsure", "skipped": "skip"}[only]
            holds = {act["uid"] for act in standing.values()}
            rows = [act for act in rows if act["kind"] == kind and act["uid"] in holds]
        labels = fake.journal.labels()
        keys = ("id", "uid", "item", "kind", "class", "annotator", "at", "why")
        shown = [
            {key: act[key] for key in keys}
            | {"name": fake.names[act["item"]], "label": labels.get(act["item"])}
            | {"note": fake.journal.note(act["item"]), "asked": fake.asked.get(act["item"])}
            for act in rows[:limit]
        ]
        people = sorted({act["annotator"] for act in fake.journal.live()})
        return JSONResponse({"acts": shown, "more": len(rows) > limit, "people": people})

    async def alike(request: Request) -> Response:
        return JSONResponse(
            fake.alike(int(request.path_params["item"]), person(request), int(request.query_params["count"]))
        )

    async def note(request: Request) -> Response:
        return JSONResponse({"note": fake.journal.note(int(request.path_params["item"]))})

    async def guesses(request: Request) -> Response:
        query = request.query_params
        rows = fake.guessed(float(query.get("least", THRESHOLD)))
        counts = [sum(row["guess"] == id_ for row in rows) for id_ in range(fake.kinds.ever)]
        mine = [row for row in rows if row["guess"] == int(query["class"])]
        offset, limit = int(query["offset"]), int(query["limit"])
        page = {"items": mine[offset : offset + limit], "total": len(mine), "counts": counts, "threshold": THRESHOLD}
        return JSONResponse(page)

    async def guess_levels(_: Request) -> Response:
        return JSONResponse(fake.levels())

    async def disagreements(_: Request) -> Response:
        standing = fake.journal.standing()
        items = []
        for item in fake.journal.disagreements():
            answers = [{"annotator": who, "class": act["class"]} for (one, who), act in standing.items() if one == item]
            items.append({"item": item, "name": fake.names[item], "answers": answers})
        pairs = [{"people": list(fake.people[:2]), "n": 12, "kappa": 0.81}] if len(fake.people) > 1 else []
        return JSONResponse({"items": items, "agreement": pairs})

    async def audit(request: Request) -> Response:
        if request.method == "GET":
            return JSONResponse(fake.audited())
        fake.wished = await request.json()
        return JSONResponse({"questions": fake.wished["count"]})

    async def ahead(request: Request) -> Response:
        sent = await request.json()
        fake.along.append(sent)
        if not sent["hours"]:
            fake.journal.leases[person(request)] = sent["holding"][: sent["count"]]
        items = fake.journal.next(person(request), sent["count"])
        until = time.time() + (3600 * sent["hours"] or 600)
        return JSONResponse({"questions": fake.questions(items), "empty": None, "until": until})

    async def targets(request: Request) -> Response:
        if request.method == "POST":
            fake.target = (await request.json())["target"]
            fake.tell("panel", fake.panel())
            return JSONResponse({"panel": fake.panel()})
        return JSONResponse({"targets": fake.targets()})

    async def class_counts(_: Request) -> Response:
        return JSONResponse({"classes": [{**row, "labels": fake.labels_of(row["id"])} for row in fake.kinds.rows()]})

    async def change_classes(request: Request) -> Response:
        """Add a class, or change one: the last part of the path says how."""
        how, id_ = request.url.path.rpartition("/")[2], int(request.path_params.get("id", -1))
        try:
            answer = fake.kinds.change(how, id_, await request.json())
        except RefusedChangeError as refused:
            return JSONResponse(refused.answer, 409)
        fake.tell("classes", fake.kinds.rows())
        fake.tell("panel", fake.panel())
        return JSONResponse(answer)

    async def panel(_: Request) -> Response:
        return JSONResponse(fake.panel())

    async def live(request: Request) -> Response:
        async def events() -> AsyncIterator[str]:
            told = len(fake.news)
            yield f"event: panel\ndata: {json.dumps(fake.panel())}\n\n"
            while not fake.closing and not await request.is_disconnected():
                for kind, data in fake.news[told:]:
                    yield f"event: {kind}\ndata: {json.dumps(data)}\n\n"
                    told += 1
                await asyncio.sleep(0.02)

        return StreamingResponse(events(), media_type="text/event-stream")

    async def export(request: Request) -> Response:
        name, least = request.path_params["format"], request.query_params.get("guesses", str(THRESHOLD))
        known = [(item, id_, "person") for item, id_ in sorted(fake.journal.labels().items())]
        guessed = [] if least == "none" else fake.guessed(float(least))
        rows = known + [(row["item"], row["guess"], "pseudo") for row in guessed]
        lines = [f"{fake.names[item]},{fake.kinds.living[id_]},{source}\n" for item, id_, source in rows]
        headers = {"Content-Disposition": f'attachment; filename="labels.{name}"'}
        return Response(f"name,label,source\n{''.join(lines)}", headers=headers)

    def image(request: Request) -> Response:
        item, side = int(request.path_params["item"]), int(request.query_params["side"])
        if item in fake.broken:
            return Response(_placeholder("This file is cut off after 1,024 bytes."), media_type="image/svg+xml")
        return Response(fake.picture(item, side), media_type="image/png")

    async def content(request: Request) -> Response:
        item, short = int(request.path_params["item"]), request.query_params["part"] == "short"
        if item in fake.broken:
            return JSONResponse({"kind": fake.kind, "problem": "row 3 is not UTF-8 text"})
        made = fake.contents[item]
        if short:
            made = made | (
                {"text": made["text"][:500], "beside": []} if fake.kind == "text" else {"cells": made["cells"][:6]}
            )
        return JSONResponse(made)

    gets = {
        "/": page,
        "/api/project": project,
        "/api/next": next_,
        "/api/last": last,
        "/api/guess/{item:int}": guess,
        "/api/alike/{item:int}": alike,
        "/api/note/{item:int}": note,
        "/api/history": history,
        "/api/guesses": guesses,
        "/api/guess-levels": guess_levels,
        "/api/classes": class_counts,
        "/api/disagreements": disagreements,
        "/api/audit": audit,
        "/api/targets": targets,
        "/api/panel": panel,
        "/api/live": live,
        "/api/export/{format}": export,
        "/image/{item:int}": image,
        "/content/{item:int}": content,
        "/login": login,
    }
    posts = {
        "/api/acts": acts,
        "/api/audit": audit,
        "/api/target": targets,
        "/api/ahead": ahead,
        "/login": login,
        "/logout": logout,
    }
    changes = ["", "/undo", *(f"/{{id:int}}/{how}" for how in ("rename", "merge", "remove"))]
    posts |= {f"/api/classes{path}": change_classes for path in changes}
    routes = [Route(path, handler) for path, handler in gets.items()]
    routes += [Route(path, handler, methods=["POST"]) for path, handler in posts.items()]
    static = Mount("/static", StaticFiles(directory=STATIC))
    return Starlette(routes=[*routes, static], middleware=[Middleware(BaseHTTPMiddleware, dispatch=_check(fake))])


def _check(fake: Fake) -> Any:
    async def door(request: Request, call_next: RequestResponseEndpoint) -> Response:
        response = await _refusal(fake, request) or await call_next(request)
        response.headers["Content-Security-Policy"] = POLICY
        response.headers["X-Content-Type-Options"] = "nosniff"
        if not request.url.path.startswith("/image/"):
            response.headers["Cache-Control"] = "no-store"
        return response

    return door


async def _refusal(fake: Fake, request: Request) -> Response | None:
    """Check what the real server checks, so that the page is held to it."""
    path = request.url.path
    if request.method == "POST":
        origin = urlsplit(request.headers.get("origin", "")).netloc
        fits = origin == request.headers["host"] and request.headers.get("content-type") == "application/json"
        if not fits or request.headers.get("x-deepbass") != "1":
            return JSONResponse({"error": "This request did not come from the page.", "kind": "origin"}, 403)
    request.state.person = request.cookies.get(COOKIE)
    if (
        request.state.person in fake.people
        or path == "/login"
        or path.startswith("/static/")
        or "token" in request.query_params
    ):
        return None
    return RedirectResponse("/login") if path == "/" else JSONResponse({"error": "Log in first.", "kind": "login"}, 401)


def _placeholder(reason: str) -> str:
    style = 'fill="#555" font-family="sans-serif" font-size="18" text-anchor="middle"'
    text = f'<text x="50%" y="50%" {style}>{escape(reason)}</text>'
    size = 'width="512" height="384"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><rect {size} fill="#ddd"/>{text}</svg>'


class Running:
    """The server in a thread of its own, until it is closed."""

    def __init__(self, fake: Fake, port: int = 0) -> None:
        self.fake = fake
        self._socket = socket.create_server(("127.0.0.1", port))
        self.origin = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(
            application(fake), log_level="error", lifespan="off", ws="none", timeout_graceful_shutdown=2
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)

    def close(self) -> None:
        """Stop, and wait for it."""
        self.fake.closing = True
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


if __name__ == "__main__":
    running = Running(Fake(iteration=3, count=200, classes=[str(digit) for digit in range(10)]), 8123)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        running.close()
