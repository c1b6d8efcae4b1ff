"""News for the pages, by server-sent events.

A page that reads slowly gets the newest of every kind of event, not all of them: nothing piles up here.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress

from starlette.responses import StreamingResponse

from deepbass.web.answers import Refused, dumps

IN_ALL = 400
A_SESSION = 8
_BEAT = 15.0  # seconds of silence after which a comment is sent: it keeps proxies awake and finds pages that are gone
_RETRY = b"retry: 2000\n\n"


class _Listener:
    def __init__(self) -> None:
        self.news: dict[str, bytes] = {}  # the newest of every kind, in the order of arrival
        self.wake = asyncio.Event()

    def tell(self, event: str, message: bytes) -> None:
        self.news.pop(event, None)
        self.news[event] = message
        self.wake.set()


class Hub:
    """Everyone who listens. Belongs to the event loop; other threads use ``say_soon``."""

    def __init__(self, in_all: int = IN_ALL, a_session: int = A_SESSION, beat: float = _BEAT) -> None:
        self._in_all = in_all
        self._a_session = a_session
        self._beat = beat
        self._listeners: set[_Listener] = set()
        self._by_session: Counter[str] = Counter()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def attach(self) -> None:
        """Take the running event loop as the one that events are sent from."""
        self._loop = asyncio.get_running_loop()

    def say(self, event: str, value: object) -> None:
        """Send an event to everyone."""
        if self._listeners:
            message = b"event: " + event.encode() + b"\ndata: " + dumps(value) + b"\n\n"
            for listener in self._listeners:
                listener.tell(event, message)

    def say_soon(self, event: str, value: object) -> None:
        """Send an event to everyone, from any thread; without a loop (before it starts, after its end) do nothing."""
        if self._loop is not None:
            with suppress(RuntimeError):  # it has just been closed
                self._loop.call_soon_threadsafe(self.say, event, value)

    def __len__(self) -> int:
        """Count who listens."""
        return len(self._listeners)

    def close(self) -> None:
        """End all streams: a server that goes down waits for them otherwise."""
        self._closed = True
        for listener in self._listeners:
            listener.wake.set()

    def stream(self, session: str, first: dict[str, object]) -> StreamingResponse:
        """Make the response of a page that wants to listen; ``first`` are the events that it gets at once."""
        if self._closed or len(self._listeners) >= self._in_all:
            raise Refused(503, "Full", "Too many pages are open: this one has no live news.", {"Retry-After": "30"})
        if self._by_session[session] >= self._a_session:
            raise Refused(429, "TooMany", "Too many tabs are open: this one has no live news.", {"Retry-After": "30"})
        listener = _Listener()
        for event, value in first.items():
            listener.tell(event, b"event: " + event.encode() + b"\ndata: " + dumps(value) + b"\n\n")
        return StreamingResponse(self._messages(listener, session), media_type="text/event-stream")

    async def _messages(self, listener: _Listener, session: str) -> AsyncIterator[bytes]:
        self._listeners.add(listener)
        self._by_session[session] += 1
        try:
            yield _RETRY
            while not self._closed:
                if listener.news:
                    message = b"".join(listener.news.values())
                    listener.news.clear()
                    listener.wake.clear()
                    yield message
                    continue
                try:
                    async with asyncio.timeout(self._beat):
                        await listener.wake.wait()
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            self._listeners.discard(listener)
            self._by_session[session] -= 1
            if not self._by_session[session]:
                del self._by_session[session]
