"""The loop that serves: uvicorn, with an end in order."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from deepbass.web.door import Door

_LAST_ANSWERS = 5  # seconds for requests under way
_HEADERS = 32 * 1024  # bytes of a request before its body
_CONNECTIONS = 1000
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Server(uvicorn.Server):
    """A server that tells when it is up and when it is about to end, and leaves what comes after to its caller."""

    def __init__(self, config: uvicorn.Config, on_up: Callable[[], None], on_end: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_up = on_up
        self._on_end = on_end

    def stop(self) -> None:
        """End soon, as after Ctrl-C; from any thread."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        self._on_up()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End streams first: uvicorn waits for all answers to be complete."""
        self._on_end()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take Ctrl-C and a polite kill as the wish to end; uvicorn would raise them again before all is closed."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def make_server(app: ASGIApp, door: Door, on_up: Callable[[], None], on_end: Callable[[], None]) -> Server:
    """Set up uvicorn: no proxies to believe, no WebSockets, no log of addresses, bounded headers and connections."""
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=_HEADERS,
        limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_LAST_ANSWERS,
        ssl_certfile=door.certfile,
        ssl_keyfile=door.keyfile,
    )
    return Server(config, on_up, on_end)


def run(server: Server, listening: socket.socket) -> None:
    """Serve until the process is asked to end."""
    sys.setswitchinterval(0.001)  # threads that draw pictures give way to the loop five times sooner than usual
    asyncio.run(server.serve([listening]))
