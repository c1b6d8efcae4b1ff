"""News for the pages, by server-sent events.

A page that reads slowly gets the newest of every kind of event, not all of them: nothing piles up here.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from deepbass.web.responses import Refusal, dumps

IN_ALL = 400
PER_SESSION = 8
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


class LiveEvents:
    """Everyone who listens. Belongs to the event loop; other threads use ``say_soon``."""

    def __init__(self, in_all: int = IN_ALL, per_session: int = PER_SESSION, beat: float = _BEAT) -> None:
        self._in_all = in_all
        self._per_session = per_session
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
            message = _message(event, value)
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

    def stream(self, session: str, first: dict[str, object]) -> Response:
        """Make the response of a page that wants to listen; ``first`` are the events that it gets at once."""
        return _EventStream(self, session, first)

    @contextmanager
    def listen(self, session: str) -> Iterator[_Listener]:
        """Take a place among the listeners, or refuse; it is free again afterwards, whatever happens."""
        if self._closed or len(self._listeners) >= self._in_all:
            raise Refusal(503, "Full", "Too many pages are open: this one has no live news.", {"Retry-After": "30"})
        if self._by_session[session] >= self._per_session:
            raise Refusal(429, "TooMany", "Too many tabs are open: this one has no live news.", {"Retry-After": "30"})
        listener = _Listener()
        self._listeners.add(listener)
        self._by_session[session] += 1
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
            self._by_session[session] -= 1
            if not self._by_session[session]:
                del self._by_session[session]

    async def messages(self, listener: _Listener) -> AsyncIterator[bytes]:
        """Give a listener its events, as they come."""
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


class _EventStream(Response):
    """Sends events. Its place is taken when it begins, where the places are counted, and given back when it ends.

    Were it taken in the handler, a stream that never begins would keep it; in the body, all that are asked for at once
    would find room.
    """

    def __init__(self, events: LiveEvents, session: str, first: dict[str, object]) -> None:
        super().__init__(media_type="text/event-stream")
        self._events = events
        self._session = session
        self._first = {event: _message(event, value) for event, value in first.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._events.listen(self._session) as listener:
            for event, message in self._first.items():
                listener.tell(event, message)
            stream = StreamingResponse(self._events.messages(listener), media_type=self.media_type)
            await stream(scope, receive, send)


def _message(event: str, value: object) -> bytes:
    return b"event: " + event.encode() + b"\ndata: " + dumps(value) + b"\n\n"
