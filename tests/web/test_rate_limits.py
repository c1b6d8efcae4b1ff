"""Rates: who asks too often waits, and nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest

from deepbass.web.rate_limits import LOGINS_AT_ONCE, NAME_LOGINS_AT_ONCE, LoginLimits, RateLimit, network
from deepbass.web.responses import Refusal

HERE, OWNER, OTHER = "127.0.0.1", "192.0.2.1", "192.0.2.2"


def test_a_bucket_refills_and_is_never_more_than_full() -> None:
    now = [0.0]
    rates = RateLimit(2.0, 3.0, clock=lambda: now[0])
    assert [rates.take("a") for _ in range(4)] == [0, 0, 0, pytest.approx(0.5)]
    assert rates.take("b") == 0
    now[0] = 0.5
    assert rates.take("a") == 0
    assert rates.take("a") > 0
    rates.give_back("a")
    assert rates.take("a") == 0
    now[0] = 1000.0
    assert [rates.take("a") > 0 for _ in range(4)] == [False, False, False, True]


async def tried(limits: LoginLimits, address: str, name: str) -> int:
    """Try a wrong password; return the status."""
    try:
        async with limits.hashing(address, name):
            return 401
    except Refusal as refused:
        return refused.status


def later(work: Callable[[LoginLimits, list[float]], Coroutine[Any, Any, None]]) -> None:
    """Run with limits whose clock stands still, but for what is put into the list."""
    now = [0.0]
    asyncio.run(work(LoginLimits(lambda: now[0]), now))


def test_wrong_tries_use_up_those_of_their_own_address_only() -> None:
    async def work(limits: LoginLimits, now: list[float]) -> None:
        for _ in range(1000):
            await tried(limits, OTHER, "anna")
        assert await tried(limits, OTHER, "anna") == 429
        assert await tried(limits, OTHER, "bert") == 429  # the address comes first
        assert [await tried(limits, OWNER, "anna") for _ in range(int(NAME_LOGINS_AT_ONCE) + 1)] == [
            *[401] * int(NAME_LOGINS_AT_ONCE),
            429,
        ]
        assert await tried(limits, OWNER, "ANNA") == 429
        assert await tried(limits, OWNER, "bert") == 401  # in an office, somebody else's turn
        now[0] = 10.0
        assert await tried(limits, OWNER, "anna") == 401
        assert await tried(limits, OTHER, "anna") == 401

    later(work)


def test_what_was_right_does_not_count() -> None:
    async def work(limits: LoginLimits, now: list[float]) -> None:
        for _ in range(100):
            assert await tried(limits, OWNER, "anna") == 401
            limits.succeeded(OWNER, "anna")
        answers = [await tried(limits, OWNER, f"name {number}") for number in range(30)]
        assert answers == [401] * int(LOGINS_AT_ONCE) + [429] * (30 - int(LOGINS_AT_ONCE))

    later(work)


def test_a_flood_from_many_addresses_keeps_neither_this_machine_nor_who_is_known_out() -> None:
    async def work(limits: LoginLimits, now: list[float]) -> None:
        assert await tried(limits, OWNER, "anna") == 401
        limits.succeeded(OWNER, "anna")
        hold = asyncio.Event()

        async def flood(number: int) -> None:
            with suppress(Refusal):
                async with limits.hashing(f"198.51.100.{number}", "anna"):
                    await hold.wait()

        floods = [asyncio.create_task(flood(number)) for number in range(200)]
        await asyncio.sleep(0)
        assert await tried(limits, OTHER, "anna") == 503
        assert await tried(limits, OWNER, "bert") == 503  # who has never logged in there
        assert await tried(limits, OWNER, "anna") == 401
        assert await tried(limits, HERE, "anna") == 401
        assert sum(not task.done() for task in floods) == 17  # one at work, few waiting, the rest sent away
        hold.set()
        await asyncio.gather(*floods)
        assert await tried(limits, OTHER, "anna") == 401

    later(work)


@pytest.mark.parametrize(
    ("address", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("2001:db8::1", "2001:db8::ffff:1:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("unknown", "unknown", True),
    ],
)
def test_an_ipv6_network_is_one_address_to_limits(address: str, other: str, same: bool) -> None:
    assert (network(address) == network(other)) is same
