"""How often is too often: requests by session or address, and tries to log in."""

from __future__ import annotations

import asyncio
import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from deepbass.web.responses import Refusal

REQUESTS_PER_SECOND = 100.0  # of one session: a page with a grid of small pictures asks for many at once
REQUESTS_AT_ONCE = 300.0
ANONYMOUS_PER_SECOND = 20.0  # of one address that has no session
ANONYMOUS_AT_ONCE = 100.0
LOGINS_PER_SECOND = 0.5  # wrong tries from one address, which may be that of a whole office
LOGINS_AT_ONCE = 20.0
NAME_LOGINS_PER_SECOND = 0.2  # of them, for one name
NAME_LOGINS_AT_ONCE = 8.0
_WAITING = 16  # log-ins that wait for their password to be hashed
_KNOWN = 1000  # names and addresses remembered that logged in
_KEYS = 10_000  # buckets kept: the memory of the server is no target


class RateLimit:
    """Buckets of tokens by key: full at first, refilled all the time, one token per request."""

    def __init__(self, per_second: float, at_once: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._at_once = at_once
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, when counted

    def take(self, key: str) -> float:
        """Take a token and return 0, or return the seconds until there is one."""
        now = self._clock()
        tokens, counted = self._buckets.pop(key, (self._at_once, now))
        tokens = min(self._at_once, tokens + (now - counted) * self._per_second)
        wait = 0.0 if tokens >= 1 else (1 - tokens) / self._per_second
        self._buckets[key] = (tokens if wait else tokens - 1, now)
        if len(self._buckets) > _KEYS:
            self._buckets.popitem(last=False)  # the one not used for longest: most likely full again
        return wait

    def give_back(self, key: str) -> None:
        """Put a token back: what it was taken for did not count."""
        if key in self._buckets:
            tokens, counted = self._buckets[key]
            self._buckets[key] = (min(self._at_once, tokens + 1), counted)


class LoginLimits:
    """How often people may try to log in: guessing is slow, and keeps nobody else out.

    Tries are counted by address first, then by address and name; one that was right does not count. They are not
    counted by name alone, as account lock-out does: whoever sends wrong passwords for a name, from anywhere, would
    keep its owner out (OWASP, Authentication Cheat Sheet).

    Hashing a password costs 32 MB and a tenth of a second of a core, so few are hashed at a time, few wait, and who
    comes when all places are taken is refused. That alone would let many addresses together keep the owner out. So
    there are two queues, and a password of each is hashed at a time: one for this machine and for addresses from
    which this name has logged in before, where nobody else can stand; and one for the rest. (The idea is that of
    OWASP's device cookies, with the address in place of the cookie.) What is left is the owner at a new address,
    while others flood: every try there has the same chance, and an address has half a try per second. Of some ten
    that are hashed per second, a hundred addresses leave one in five tries to the owner; it takes thousands to make
    it one in a hundred, and it is never none. It also means that in all no more than these ten guesses per second are
    made.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._by_address = RateLimit(LOGINS_PER_SECOND, LOGINS_AT_ONCE, clock)
        self._by_name = RateLimit(NAME_LOGINS_PER_SECOND, NAME_LOGINS_AT_ONCE, clock)
        self._known: OrderedDict[str, None] = OrderedDict()  # who logged in, where from
        self._queues = {True: _Queue(), False: _Queue()}  # for those known, for others

    @asynccontextmanager
    async def hashing(self, address: str, name: str) -> AsyncIterator[None]:
        """Count a try and wait for the turn to hash its password, or refuse."""
        who = _who(address, name)
        if wait := self._by_address.take(network(address)) or self._by_name.take(who):
            raise too_many(wait, "tries to log in")
        async with self._queues[is_loopback(address) or who in self._known].turn():
            yield

    def succeeded(self, address: str, name: str) -> None:
        """Do not count a try that was right, and remember where it came from."""
        who = _who(address, name)
        self._by_address.give_back(network(address))
        self._by_name.give_back(who)
        self._known[who] = None
        self._known.move_to_end(who)
        if len(self._known) > _KNOWN:
            self._known.popitem(last=False)


class _Queue:
    def __init__(self) -> None:
        self._inside = 0
        self._hashing = asyncio.Semaphore(1)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        if self._inside > _WAITING:
            raise Refusal(503, "Busy", "Too many people log in just now: try again.", {"Retry-After": "1"})
        self._inside += 1
        try:
            async with self._hashing:
                yield
        finally:
            self._inside -= 1


def network(address: str) -> str:
    """Tell whose address it is, as far as limits go: IPv6 gives everybody a network of addresses (RFC 6177)."""
    try:
        number = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(number, ipaddress.IPv4Address):
        return str(number)
    if number.ipv4_mapped is not None:  # IPv4, on a socket that takes both
        return str(number.ipv4_mapped)
    return str(ipaddress.ip_network((number, 64), strict=False))


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine, and can be reached from nowhere else."""
    host = host.strip().strip("[]").lower()
    if host == "localhost":
        return True
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = number.ipv4_mapped if isinstance(number, ipaddress.IPv6Address) else None
    return (mapped or number).is_loopback


def _who(address: str, name: str) -> str:
    return f"{network(address)} {name.casefold()}"


def too_many(wait: float, what: str = "requests") -> Refusal:
    """Make the refusal for a rate that is too high."""
    seconds = max(1, math.ceil(wait))
    return Refusal(429, "TooMany", f"Too many {what}: try again in {seconds} s.", {"Retry-After": str(seconds)})
