"""Where the server listens, and how it starts and ends in order: project, trainer, uvicorn, browser."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import shlex
import signal
import socket
import ssl
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from deepbass.core.errors import ConfigError
from deepbass.label.items import Items
from deepbass.label.project import Project
from deepbass.store.lock import HeldLock
from deepbass.web import connections
from deepbass.web.app import App
from deepbass.web.auth import Sessions, Tokens
from deepbass.web.connections import IN_ALL, HttpConnection, ListeningSocket, limits_for_this_process
from deepbass.web.middleware import AllowedHosts, in_url
from deepbass.web.rate_limits import is_loopback
from deepbass.web.service import LabelService
from deepbass.web.trainer_process import TrainerProcess, trainer_command

LOG = logging.getLogger("deepbass.web")

PORT = 8484
_TRIES = 100  # ports to try from the first on
_LAST_ANSWERS = 5  # seconds for requests under way
_HEADERS = 32 * 1024  # bytes of a request before its body
_BACKLOG = 1024  # connections that wait to be accepted
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True)
class Address:
    """How the server is to be reached, as given on the command line."""

    host: str = "127.0.0.1"
    port: int | None = None  # None: the first free one
    certfile: Path | None = None
    keyfile: Path | None = None
    insecure_http: bool = False
    names: tuple[str, ...] = ()  # others that people use for this host

    @property
    def tls(self) -> bool:
        """Tell whether what is said is encrypted."""
        return self.certfile is not None

    def hosts(self, port: int) -> AllowedHosts:
        """Return the names that may stand in the Host header."""
        everywhere = self.host.strip("[]") in ("0.0.0.0", "::")
        own = (socket.gethostname(),) if everywhere else ()
        return AllowedHosts.at(self.host, port, tls=self.tls, names=(*own, *self.names))

    def url(self, port: int) -> str:
        """Return what to open in a browser."""
        host = self.names[0] if self.names else self.host
        if host.strip("[]") in ("0.0.0.0", "::"):
            host = socket.gethostname()
        return f"{'https' if self.tls else 'http'}://{in_url(host)}:{port}/"


def check_address(address: Address) -> None:
    """Refuse files that are no certificate, and to send passwords in the clear unless that is said."""
    if (address.certfile is None) != (address.keyfile is None):
        raise ConfigError("--certfile and --keyfile go together: give both, or neither.")
    if address.certfile is not None and address.keyfile is not None:
        _check_certificate(address.certfile, address.keyfile)
    if not is_loopback(address.host) and not address.tls and not address.insecure_http:
        raise ConfigError(
            f"--host {address.host} can be reached by other machines: give --certfile and --keyfile, so that passwords "
            "and labels are not sent in the clear. --insecure-http does without; only on a network you trust wholly."
        )


def check_people(address: Address, people: int, add: str) -> None:
    """Refuse to open to other machines where nobody has a password; ``add`` is the command that adds a person."""
    if not people and not is_loopback(address.host):
        raise ConfigError(
            f"--host {address.host} can be reached by other machines, and nobody has a password yet: {add}"
        )


def listen(address: Address) -> socket.socket:
    """Take the port, or the next free one where none was asked for."""
    if address.port is not None:
        return _bind(address.host, address.port)
    for port in range(PORT, PORT + _TRIES):
        try:
            return _bind(address.host, port)
        except _TakenError:
            continue
    return _bind(address.host, 0)


class _TakenError(ConfigError):
    pass


def _bind(host: str, port: int) -> socket.socket:
    bare = host.strip().strip("[]")
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            bare, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"--host {host!r} is not a name or address of this machine: {error}.") from None
    server = ListeningSocket(family, kind, protocol)
    server.limits = limits_for_this_process()
    try:
        if os.name != "nt":  # where it means: although connections of an earlier server are not quite gone
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(where)
        server.listen(_BACKLOG)  # so that a port in use is found out now
    except OSError as error:
        server.close()
        if error.errno == errno.EADDRINUSE:
            message = f"Port {port} on {host} is in use: choose another --port, or none to get a free one."
            raise _TakenError(message) from None
        raise ConfigError(f"Cannot listen on {host}, port {port}: {error.strerror}. Choose another one.") from error
    server.set_inheritable(False)  # the trainer has no business with it
    return server


def _check_certificate(certfile: Path, keyfile: Path) -> None:
    for file in (certfile, keyfile):
        if not file.is_file():
            raise ConfigError(f"There is no file {file}: --certfile and --keyfile are PEM files.")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certfile, keyfile, password=lambda: "")
    except (ssl.SSLError, OSError) as error:
        raise ConfigError(f"{certfile} and {keyfile} are no certificate and its key: {error}.") from None


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
        await super().startup([])
        tls = self.config.ssl
        make = partial(HttpConnection, self.config, self.server_state, {})
        for one in sockets or []:  # here, because uvicorn cannot be told how long a TLS handshake may take
            self.servers.append(
                await asyncio.get_running_loop().create_server(
                    make,
                    sock=one,
                    backlog=_BACKLOG,
                    ssl=tls,
                    ssl_handshake_timeout=connections.HEAD_SECONDS if tls else None,
                )
            )
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
        # in the background of a script SIGINT is ignored: Ctrl-C there is not meant for this process
        heard = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
        before = {number: signal.signal(number, self.handle_exit) for number in heard}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def make_server(app: ASGIApp, address: Address, on_up: Callable[[], None], on_end: Callable[[], None]) -> Server:
    """Set up uvicorn: no proxies to believe, no WebSockets, no log of addresses, bounded headers and connections."""
    config = uvicorn.Config(
        app,
        http=HttpConnection,
        ws="none",
        loop="asyncio",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=_HEADERS,
        limit_concurrency=IN_ALL + 1,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_LAST_ANSWERS,
        ssl_certfile=address.certfile,
        ssl_keyfile=address.keyfile,
    )
    return Server(config, on_up, on_end)


def run(server: Server, listening: socket.socket) -> None:
    """Serve until the process is asked to end."""
    sys.setswitchinterval(0.001)  # threads that draw pictures give way to the loop five times sooner than usual
    asyncio.run(server.serve([listening]))


@dataclass(frozen=True)
class Ready:
    """What to tell whoever started the server."""

    url: str  # with the token, where there is one
    project: Path
    labels_brought: int
    left_out: list[str]  # labels of the source that are none of the classes
    replaced: list[str]  # images with a label whose file is another one by now
    stop: Callable[[], None]  # ends the server, from any thread


def serve(
    project: Project,
    items: Items,
    listening: socket.socket,
    address: Address,
    *,
    annotator: str,
    lock: HeldLock | None = None,
    browser: bool = False,
    data: Path | None = None,
    named_model: str | None = None,
    named_features: str | None = None,
    ray: str | None = None,
    workers: int | None = None,
    trainer: Sequence[str] | None = None,
    on_ready: Callable[[Ready], None] = lambda ready: None,
) -> None:
    """Serve a project until the process is asked to end.

    ``lock`` is the project's, if it is held already; ``named_model`` and ``named_features`` are the user's own, if
    there are any; ``ray`` and ``workers`` say on which cluster the trainer computes, if on one; ``trainer`` is its
    command line, if not the usual one.
    """
    with ExitStack() as closing:
        closing.callback(listening.close)
        service = LabelService(project, items, lock=lock)
        closing.callback(service.close)
        check_people(address, len(service.people), f"deepbass people add {shlex.quote(str(project.path))} NAME")
        port: int = listening.getsockname()[1]
        tokens = None if service.people else Tokens()
        sessions = Sessions(project.path, service.people or None, port)
        closing.callback(sessions.close)
        command = trainer or trainer_command(project.path, data, named_model, named_features, ray, workers)
        process = TrainerProcess(command, on_commit=service.look_for_model)
        app = App(
            service,
            sessions,
            address.hosts(port),
            annotator=annotator,
            tokens=tokens,
            trainer=lambda: process.state,
            data=data,
        )
        closing.callback(app.close)
        process.on_change = app.trainer_changed
        closing.callback(process.stop)  # first of all: it may still bring news for the others
        url = address.url(port)

        def on_up() -> None:
            app.start()
            process.start()
            service.spread_out()
            word = f"?token={tokens.token}" if tokens else ""
            taken = service.taken_up
            on_ready(Ready(url + word, project.path, taken.labels, taken.left_out, taken.replaced, server.stop))
            if browser:
                _open_browser(url + (f"?token={tokens.once()}" if tokens else ""))

        server = make_server(app.asgi, address, on_up, app.end)
        run(server, listening)


def _open_browser(url: str) -> None:
    """Open the page, in a thread: some browsers return only when they are closed."""

    def work() -> None:
        try:
            webbrowser.open(url)
        except (OSError, webbrowser.Error) as error:
            LOG.warning("No browser could be opened (%s): open the address yourself.", error)

    threading.Thread(target=work, name="browser", daemon=True).start()
