"""News for the pages: the newest of every kind, for everyone, and nothing piles up."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from deepbass.web.live_events import LiveEvents
from deepbass.web.responses import Refusal


class Page:
    """Reads a stream of events as fast as it wants to."""

    def __init__(self, events: LiveEvents, session: str, first: dict[str, object]) -> None:
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue(1)
        self._gone = asyncio.Event()
        self.task = asyncio.create_task(events.stream(session, first)({"type": "http"}, self._receive, self._send))

    async def read(self) -> bytes:
        return await self._chunks.get()

    async def heard(self) -> dict[str, Any]:
        """Take the next block of events apart."""
        block = (await self.read()).decode()
        events = [part.split("\n") for part in block.strip().split("\n\n")]
        return {event.removeprefix("event: "): json.loads(data.removeprefix("data: ")) for event, data in events}

    async def leave(self) -> None:
        self._gone.set()
        await self.task

    async def _receive(self) -> dict[str, object]:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.body":
            await self._chunks.put(message["body"])


@asynccontextmanager
async def listening(events: LiveEvents, session: str = "a", **first: object) -> AsyncIterator[Page]:
    page = Page(events, session, first)
    try:
        assert (await page.read()).startswith(b"retry:")
        yield page
    finally:
        await page.leave()


def test_a_page_gets_the_state_of_things_at_once_and_then_the_news() -> None:
    async def run() -> None:
        events = LiveEvents()
        events.attach()
        async with listening(events, panel={"labels": 1}) as page:
            assert await page.heard() == {"panel": {"labels": 1}}
            events.say("panel", {"labels": 2})
            events.say("trainer", {"doing": "training\n\nevent: x"})
            assert await page.heard() == {"panel": {"labels": 2}, "trainer": {"doing": "training\n\nevent: x"}}
            thread = threading.Thread(target=events.say_soon, args=("ranking", 3))
            thread.start()
            assert await page.heard() == {"ranking": 3}
            thread.join()
            events.close()
            assert await page.read() == b""  # the end
        assert len(events) == 0

    asyncio.run(run())


def test_a_page_that_reads_slowly_gets_the_newest_only() -> None:
    async def run() -> None:
        events = LiveEvents()
        async with listening(events) as page:
            for labels in range(10_000):
                events.say("panel", {"labels": labels})
            assert await page.heard() == {"panel": {"labels": 9999}}
        assert len(events) == 0

    asyncio.run(run())


def test_silence_is_broken_by_a_comment() -> None:
    async def run() -> None:
        async with listening(LiveEvents(beat=0.01)) as page:
            assert (await page.read()).startswith(b":")

    asyncio.run(run())


async def refused(events: LiveEvents, session: str) -> int:
    with pytest.raises(Refusal) as told:
        await Page(events, session, {}).task
    return told.value.status


def test_streams_are_bounded_for_a_session_and_in_all_and_come_free_again() -> None:
    async def run() -> None:
        events = LiveEvents(in_all=3, per_session=2)
        async with listening(events, "a"), listening(events, "a"):
            assert await refused(events, "a") == 429
            async with listening(events, "b"):
                assert await refused(events, "c") == 503
            async with listening(events, "c"):
                assert len(events) == 3
        assert len(events) == 0
        events.close()
        assert await refused(events, "a") == 503

    asyncio.run(run())


def test_streams_that_are_asked_for_all_at_once_are_counted_too() -> None:
    async def run() -> None:
        events = LiveEvents(per_session=8)
        pages = [Page(events, "a", {}) for _ in range(30)]
        for _ in range(3):  # turns of the loop
            await asyncio.sleep(0)
        assert len(events) == 8
        done = [page for page in pages if page.task.done()]
        assert len(done) == 22
        assert all(isinstance(page.task.exception(), Refusal) for page in done)
        for page in pages:
            if page not in done:
                await page.leave()
        assert len(events) == 0

    asyncio.run(run())


def test_a_stream_that_never_begins_takes_no_place() -> None:
    async def run() -> None:
        events = LiveEvents(per_session=1)
        for _ in range(5):
            events.stream("a", {})
            cancelled = Page(events, "a", {}).task
            cancelled.cancel()
            await asyncio.wait([cancelled])
        async with listening(events):
            assert len(events) == 1

    asyncio.run(run())


def test_without_a_loop_news_go_nowhere_and_hurt_nobody() -> None:
    events = LiveEvents()
    events.say_soon("panel", {})

    async def run() -> None:
        events.attach()

    asyncio.run(run())
    events.say_soon("panel", {})
