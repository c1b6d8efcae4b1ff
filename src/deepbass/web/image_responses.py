"""Pictures for the page: by id only, decoded in threads, the last ones kept; what cannot be shown has a placeholder."""

from __future__ import annotations

import asyncio
import os
import textwrap
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from html import escape

from starlette.requests import Request
from starlette.responses import Response

from deepbass.label.items import Items, Picture, Unpicturable
from deepbass.web.item_tags import ItemTags, is_known
from deepbass.web.requests import SIDE, number
from deepbass.web.responses import Refusal

ROOM = 64 * 1024 * 1024  # bytes of encoded pictures kept
_SIDES = (64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)  # others are rounded up: few sizes fit the room
_WAITING = 2000  # pictures asked for and not yet there
_PER_LINE, _LINES = 34, 5


class Pictures:
    """Answers requests for pictures. ``names`` has the name of every item by id."""

    def __init__(self, items: Items, names: Sequence[str], tags: ItemTags, room: int = ROOM) -> None:
        self._items = items
        self._names = names
        self._tags = tags
        self._kept = _Kept(room)
        self._coming: dict[str, asyncio.Future[Picture]] = {}
        self._threads = ThreadPoolExecutor(min(4, max(2, os.cpu_count() or 1)), thread_name_prefix="pictures")

    async def respond(self, request: Request, item: int) -> Response:
        """Answer a request for the picture of an item."""
        asked = number(request, "side", 512, 1, SIDE)
        side = next((side for side in _SIDES if side >= asked), _SIDES[-1])
        tag = await self._tags.tag(item, side)
        headers = self._tags.headers(request, tag)
        if is_known(request, tag):
            return Response(status_code=304, headers=headers)
        try:
            picture = self._kept.get(tag) or await self._draw(tag, item, side)
        except Unpicturable as error:
            return Response(placeholder(str(error)), headers={"Cache-Control": "no-store"}, media_type="image/svg+xml")
        return Response(picture.content, headers=headers, media_type=picture.media_type)

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def _draw(self, tag: str, item: int, side: int) -> Picture:
        coming = self._coming.get(tag)
        if coming is None:
            if len(self._coming) >= _WAITING:
                raise Refusal(503, "Busy", "Too many pictures were asked for at once.", {"Retry-After": "1"})
            loop = asyncio.get_running_loop()
            coming = loop.run_in_executor(self._threads, self._items.picture, self._names[item], side)
            self._coming[tag] = coming
            coming.add_done_callback(lambda done: self._arrived(tag, done))
        return await asyncio.shield(coming)  # others may wait for it too

    def _arrived(self, tag: str, done: asyncio.Future[Picture]) -> None:
        self._coming.pop(tag, None)
        if not done.cancelled() and done.exception() is None:
            self._kept.put(tag, done.result())


class _Kept:
    """The pictures used last, as many as there is room for."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._pictures: OrderedDict[str, Picture] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, tag: str) -> Picture | None:
        with self._lock:
            picture = self._pictures.get(tag)
            if picture is not None:
                self._pictures.move_to_end(tag)
            return picture

    def put(self, tag: str, picture: Picture) -> None:
        with self._lock:
            if tag in self._pictures:
                return
            self._pictures[tag] = picture
            self._room -= len(picture.content)
            while self._room < 0:
                _, old = self._pictures.popitem(last=False)
                self._room += len(old.content)


def placeholder(reason: str) -> bytes:
    """Draw what stands in the place of a picture that cannot be shown."""
    lines = textwrap.wrap(reason, _PER_LINE, max_lines=_LINES, placeholder=" …") or ["no reason is known"]
    rows = "".join(
        f'<text x="160" y="{128 + 20 * row}" text-anchor="middle">{escape(line)}</text>'
        for row, line in enumerate(lines)
    )
    # no style element or attribute: the page's policy forbids them, and a placeholder is no exception
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 240" width="320" height="240" '
        'font-family="sans-serif" font-size="15" fill="#444">'
        f"<title>{escape(reason)}</title>"
        '<rect width="320" height="240" fill="#e4e4e4"/>'
        '<path d="M130 40h60v44h-60z M130 84l20-20 14 12 10-8 16 16 M124 34l72 56" fill="none" stroke="#777" '
        'stroke-width="3"/>'
        f'<text x="160" y="108" text-anchor="middle" font-weight="bold">cannot be shown</text>{rows}</svg>'
    ).encode()
