"""The ways in: the printed address with its token, or a name and a password. Both end in a cookie."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from deepbass.label.names import clean_name
from deepbass.label.passwords import LONGEST, check_password
from deepbass.label.project import SOURCE
from deepbass.web.answers import Refused, answer
from deepbass.web.files import Files
from deepbass.web.guard import address
from deepbass.web.limits import LOGINS_A_SECOND, LOGINS_AT_ONCE, Rates, read_json, too_many
from deepbass.web.sessions import DAYS, Session, Sessions, Tokens

_HASHING = 2  # passwords checked at a time: each takes 32 MB and a core

# Somebody who follows a link from another site has our cookie only after a step that our own page makes
_STEP = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/"><title>deepbass</title>'


class Entrance:
    """Lets people in, and out."""

    def __init__(self, sessions: Sessions, tokens: Tokens | None, files: Files, *, annotator: str, tls: bool) -> None:
        self._sessions = sessions
        self._tokens = tokens
        self._files = files
        self._annotator = annotator
        self._tls = tls
        self._by_address = Rates(LOGINS_A_SECOND, LOGINS_AT_ONCE)
        self._by_name = Rates(LOGINS_A_SECOND, LOGINS_AT_ONCE)
        self._turn = asyncio.Semaphore(_HASHING)

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
            raise Refused(404, "NoLogin", "Nobody logs in here: open the address that deepbass label printed.")
        body = await read_json(request)
        name, password = body.get("name"), body.get("password")
        if not isinstance(name, str) or not isinstance(password, str) or len(name) > LONGEST:
            raise Refused(400, "BadRequest", "A name and a password are needed.")
        where, who = address(request.scope), name.casefold()
        if wait := max(self._by_address.take(where), self._by_name.take(who)):
            raise too_many(wait, "tries to log in")
        async with self._turn:
            right = await asyncio.to_thread(check_password, password, people.get(name))
        if not right:
            raise Refused(401, "WrongLogin", "This name and password do not go together.")
        self._by_address.give_back(where)
        self._by_name.give_back(who)
        return self._let_in(answer({"name": name}), name)

    async def logout(self, request: Request) -> Response:
        """End the session, here and in the browser."""
        session = _session(request)
        response = answer({})
        if session is not None:
            await asyncio.to_thread(self._sessions.end, session)
            response.delete_cookie(self._sessions.cookie, secure=self._tls, httponly=True, samesite="strict")
        return response

    def _take_token(self, request: Request, token: str) -> Response:
        if self._tokens is None or not self._tokens.opens(token):
            return self._files.respond(request, "token.html", 403)
        name = self._annotator
        if (chosen := request.query_params.get("as")) is not None:
            name = clean_name(chosen, "a person")
            if name == SOURCE:
                raise Refused(400, "BadRequest", f"Nobody can be called {SOURCE!r}: that is who brought the images.")
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


def _session(request: Request) -> Session | None:
    session: Session | None = request.state.session
    return session
