"""Where the server listens, and what must hold before it does so beyond this machine."""

from __future__ import annotations

import errno
import os
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

from deepbass.core.errors import ConfigError
from deepbass.web.guard import Place, in_address, is_loopback

PORT = 8484
_TRIES = 100  # ports to try from the first on


@dataclass(frozen=True)
class Door:
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

    def place(self, port: int) -> Place:
        """Return the names to be known by."""
        everywhere = self.host.strip("[]") in ("0.0.0.0", "::")
        own = (socket.gethostname(),) if everywhere else ()
        return Place.at(self.host, port, tls=self.tls, names=(*own, *self.names))

    def address(self, port: int) -> str:
        """Return the address to open."""
        host = self.names[0] if self.names else self.host
        if host.strip("[]") in ("0.0.0.0", "::"):
            host = socket.gethostname()
        return f"{'https' if self.tls else 'http'}://{in_address(host)}:{port}/"


def check_door(door: Door) -> None:
    """Refuse files that are no certificate, and to send passwords in the clear unless that is said."""
    if (door.certfile is None) != (door.keyfile is None):
        raise ConfigError("--certfile and --keyfile go together: give both, or neither.")
    if door.certfile is not None and door.keyfile is not None:
        _check_certificate(door.certfile, door.keyfile)
    if not is_loopback(door.host) and not door.tls and not door.insecure_http:
        raise ConfigError(
            f"--host {door.host} can be reached by other machines: give --certfile and --keyfile, so that passwords "
            "and labels are not sent in the clear. --insecure-http does without; only on a network you trust wholly."
        )


def check_people(door: Door, people: int, add: str) -> None:
    """Refuse to open to other machines where nobody has a password; ``add`` is the command that adds a person."""
    if not people and not is_loopback(door.host):
        raise ConfigError(f"--host {door.host} can be reached by other machines, and nobody has a password yet: {add}")


def listen(door: Door) -> socket.socket:
    """Take the port, or the next free one where none was asked for."""
    if door.port is not None:
        return _bind(door.host, door.port)
    for port in range(PORT, PORT + _TRIES):
        try:
            return _bind(door.host, port)
        except _TakenError:
            continue
    return _bind(door.host, 0)


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
    server = socket.socket(family, kind, protocol)
    try:
        if os.name != "nt":  # where it means: although connections of an earlier server are not quite gone
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(where)
        server.listen(1024)  # so that a port in use is found out now
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
