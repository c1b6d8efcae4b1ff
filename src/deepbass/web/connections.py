"""Connections: how many an address may hold, and how long each may keep us waiting.

uvicorn takes every connection that the system gives it, for as long as it lasts, and a thousand of them that say
nothing use up the files that a process may have open. So they are counted where they are accepted, before any TLS
handshake, and have a deadline for what comes before a request is under way.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from deepbass.web.rate_limits import is_loopback, network

HEAD_SECONDS = 10.0  # for a TLS handshake, and for all of a request before its body
IN_ALL = 1000
_PER_ADDRESS = 8  # an eighth of all: a browser opens six, and a whole office may have one address
_KEPT_FREE = 10  # a tenth of all, for this machine: whoever sits at it gets in
_OTHER_FILES = 300  # that the server needs open beside connections


class ConnectionLimits:
    """Counts open connections by address. No address can take the room of all others; this machine always has some."""

    def __init__(self, in_all: int = IN_ALL) -> None:
        self.in_all = in_all
        self.per_address = in_all // _PER_ADDRESS
        self.from_elsewhere = in_all - in_all // _KEPT_FREE
        self._open: Counter[str] = Counter()

    def take(self, address: str) -> bool:
        """Take a place for a connection from an address, if there is one."""
        if not self._has_room(address):
            return False
        self._open[network(address)] += 1
        return True

    def give_back(self, address: str) -> None:
        """Free the place of a connection that is closed."""
        key = network(address)
        self._open[key] -= 1
        if not self._open[key]:
            del self._open[key]

    def _has_room(self, address: str) -> bool:
        if is_loopback(address):
            return self._open.total() < self.in_all
        return self._open.total() < self.from_elsewhere and self._open[network(address)] < self.per_address


class ListeningSocket(socket.socket):
    """A socket that closes at once what is one connection too many.

    Windows' event loop accepts connections past it; there, uvicorn's own limit in all is what holds.
    """

    limits: ConnectionLimits

    def accept(self) -> tuple[socket.socket, Any]:
        """Take the next connection, and count it until it is closed."""
        taken, address = super().accept()
        if not self.limits.take(address[0]):
            taken.close()
            raise ConnectionAbortedError(f"too many connections from {address[0]}")  # which the event loop passes over
        counted = _CountedSocket(taken.family, taken.type, taken.proto, fileno=taken.detach())
        counted.on_close = lambda: self.limits.give_back(address[0])
        return counted, address


class _CountedSocket(socket.socket):
    on_close: Callable[[], None] | None = None

    def close(self) -> None:
        super().close()
        on_close, self.on_close = self.on_close, None
        if on_close is not None:
            on_close()


class HttpConnection(H11Protocol):
    """uvicorn's connection over h11, with a deadline wherever it waits for a client without a request under way.

    While a request is answered, whoever reads its body has a deadline of its own; between two requests that a
    client says nothing, uvicorn's timeout for keep-alive counts.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for a request."""
        super().connection_made(cast(asyncio.Transport, transport))
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take in a part of a request."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._unwatch()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, unless an answer is under way already: then all that can be done is to close."""
        if self.conn.our_state is h11.SEND_RESPONSE:  # the body went wrong: whoever wants to answer finds nobody there
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def _watch(self) -> None:
        answering = self.conn.our_state in (h11.SEND_RESPONSE, h11.SEND_BODY)
        if answering or self.transport.is_closing():
            self._unwatch()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _unwatch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def limits_for_this_process() -> ConnectionLimits:
    """Ask the system for as many open files as connections need, and make do with what it gives."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return ConnectionLimits()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return ConnectionLimits()
    wanted = IN_ALL + _OTHER_FILES
    if soft < wanted:
        with suppress(ValueError, OSError):
            more = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
            soft = more
    return ConnectionLimits(min(IN_ALL, max(soft - _OTHER_FILES, soft // 2)))
