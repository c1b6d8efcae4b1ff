"""News for the pages: the newest of every kind, for everyone, and nothing piles up."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from deepbass.web.answers import Refused
from deepbass.web.live import Hub


def stream(hub: Hub, session: str = "a", **first: object) -> AsyncIterator[bytes]:
    return hub.stream(session, first).body_iterator  # type: ignore[return-value]


async def heard(messages: AsyncIterator[bytes]) -> dict[str, Any]:
    """Take the next block of events apart."""
    block = (await anext(messages)).decode()
    events = [part.split("\n") for part in block.strip().split("\n\n")]
    return {event.removeprefix("event: "): json.loads(data.removeprefix("data: ")) for event, data in events}


def test_a_page_gets_the_state_of_things_at_once_and_then_the_news() -> None:
    async def run() -> None:
        hub = Hub()
        hub.attach()
        messages = stream(hub, panel={"labels": 1})
        assert (await anext(messages)).startswith(b"retry:")
        assert await heard(messages) == {"panel": {"labels": 1}}
        hub.say("panel", {"labels": 2})
        hub.say("trainer", {"doing": "training\n\nevent: x"})
        assert await heard(messages) == {"panel": {"labels": 2}, "trainer": {"doing": "training\n\nevent: x"}}
        thread = threading.Thread(target=hub.say_soon, args=("ranking", 3))
        thread.start()
        assert await heard(messages) == {"ranking": 3}
        thread.join()
        hub.close()
        assert [message async for message in messages] == []
        assert len(hub) == 0

    asyncio.run(run())


def test_a_page_that_reads_slowly_gets_the_newest_only() -> None:
    async def run() -> None:
        hub = Hub()
        messages = stream(hub)
        await anext(messages)
        for labels in range(10_000):
            hub.say("panel", {"labels": labels})
        assert await heard(messages) == {"panel": {"labels": 9999}}
        await messages.aclose()  # type: ignore[attr-defined]
        assert len(hub) == 0

    asyncio.run(run())


def test_silence_is_broken_by_a_comment() -> None:
    async def run() -> None:
        messages = stream(Hub(beat=0.01))
        await anext(messages)
        assert (await anext(messages)).startswith(b":")
        await messages.aclose()  # type: ignore[attr-defined]

    asyncio.run(run())


def test_streams_are_bounded_for_a_session_and_in_all_and_come_free_again() -> None:
    async def run() -> None:
        hub = Hub(in_all=3, a_session=2)
        open_ones = [stream(hub, "a"), stream(hub, "a"), stream(hub, "b")]
        for each in open_ones:
            await anext(each)
        with pytest.raises(Refused) as full:
            stream(hub, "c")
        assert full.value.status == 503
        await open_ones[2].aclose()  # type: ignore[attr-defined]
        with pytest.raises(Refused) as many:
            stream(hub, "a")
        assert many.value.status == 429
        another = stream(hub, "c")
        await anext(another)
        for each in [*open_ones[:2], another]:
            await each.aclose()  # type: ignore[attr-defined]
        assert len(hub) == 0
        hub.close()
        with pytest.raises(Refused):
            stream(hub, "a")

    asyncio.run(run())


def test_without_a_loop_news_go_nowhere_and_hurt_nobody() -> None:
    hub = Hub()
    hub.say_soon("panel", {})

    async def run() -> None:
        hub.attach()

    asyncio.run(run())
    hub.say_soon("panel", {})
