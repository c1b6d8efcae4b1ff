"""Texts and rows for the page: by id only, read in threads, as JSON; what cannot be read says why in its place."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from starlette.requests import Request
from starlette.responses import Response

from deepbass.label.items import Items, Unpicturable
from deepbass.web.item_tags import ItemTags, is_known
from deepbass.web.requests import one_word
from deepbass.web.responses import Refusal, answer, dumps

_WAITING = 2000  # contents asked for and not yet there


class Contents:
    """Answers requests for what texts and rows say."""

    def __init__(self, items: Items, names: Sequence[str], tags: ItemTags) -> None:
        self._items = items
        self._names = names
        self._tags = tags
        self._coming = 0
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="contents")

    async def respond(self, request: Request, item: int) -> Response:
        """Answer a request for the content of an item: all of it, or ``part=short`` for lists."""
        if self._items.kind == "image":
            raise Refusal(404, "NoContent", "The items of this project are images: ask for their pictures.")
        short = one_word(request, "part", "whole", ("whole", "short")) == "short"
        tag = await self._tags.tag(item, "short" if short else "whole")
        headers = self._tags.headers(request, tag)
        if is_known(request, tag):
            return Response(status_code=304, headers=headers)
        if self._coming >= _WAITING:
            raise Refusal(503, "Busy", "Too many contents were asked for at once.", {"Retry-After": "1"})
        self._coming += 1
        try:
            loop = asyncio.get_running_loop()
            content = await loop.run_in_executor(self._threads, self._written, self._names[item], short)
        except Unpicturable as error:
            problem = {"kind": self._items.kind, "problem": str(error)}
            return answer(problem, headers={"Cache-Control": "no-store"})
        finally:
            self._coming -= 1
        return Response(content, headers=headers, media_type="application/json")

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _written(self, name: str, short: bool) -> bytes:
        return dumps(self._items.read(name).as_json(short=short))
