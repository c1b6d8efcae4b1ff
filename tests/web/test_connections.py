"""Connections: nobody's silence, and no number of them, keeps others from being answered."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from deepbass.web import connections, server
from deepbass.web.connections import ConnectionLimits
from deepbass.web.server import Address
from tests.web.served import Served, add_person, label, served, small_project

HERE, OTHER, THIRD = "127.0.0.1", "127.0.0.2", "127.0.0.3"
needs_addresses = pytest.mark.skipif(sys.platform != "linux", reason="needs a machine with many addresses of its own")


def port_of(page: Served) -> int:
    return int(page.origin.rpartition(":")[2])


@contextmanager
def connected(page: Served, source: str = HERE, count: int = 1) -> Iterator[list[socket.socket]]:
    with ExitStack() as opened:
        yield [
            opened.enter_context(socket.create_connection((HERE, port_of(page)), 60, (source, 0))) for _ in range(count)
        ]


def is_closed(connection: socket.socket) -> bool:
    """Wait for the other side to close."""
    try:
        return connection.recv(1000) == b""
    except ConnectionResetError:
        return True


def browser_at(source: str, page: Served) -> httpx.Client:
    return httpx.Client(
        base_url=page.origin, transport=httpx.HTTPTransport(local_address=source), timeout=60, trust_env=False
    )


def status_of(client: httpx.Client, path: str) -> int:
    """Ask until the server has noticed which connections are closed."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return client.get(path).status_code
        except httpx.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def wait_for_heads(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", seconds)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    wait_for_heads(monkeypatch, 1.0)


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Served]:
    with served(small_project(tmp_path)) as here:
        yield here


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HT",
        b"GET / HTTP/1.1\r\nHost: x\r\nX-",
        # answered before its body, of which there is no end
        b"POST /logout HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{",
    ],
)
def test_who_does_not_send_a_request_is_not_waited_for(page: Served, sent: bytes) -> None:
    with connected(page) as [silent]:
        silent.sendall(sent)
        if b"Content-Length" in sent:
            assert silent.recv(20).startswith(b"HTTP/1.1 403")
            silent.sendall(b"x")
            while silent.recv(1000):
                pass
        else:
            assert is_closed(silent)


@pytest.mark.usefixtures("hurried")
def test_a_deadline_cuts_nobody_off_who_is_being_answered(page: Served) -> None:
    for _ in range(3):  # over one connection
        assert page.act(label(0))["saved"]
    with page.client.stream("GET", "/api/live") as stream:
        lines = stream.iter_lines()
        next(lines)
        with connected(page) as [silent]:
            assert is_closed(silent)  # later than the stream began
        page.act(label(1))
        assert any('"labels":2' in line for line in lines)


@needs_addresses
def test_one_address_cannot_take_the_room_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_for_heads(monkeypatch, 3600.0)
    monkeypatch.setattr(connections, "is_loopback", lambda address: address == HERE)
    monkeypatch.setattr(server, "limits_for_this_process", lambda: ConnectionLimits(40))
    with served(small_project(tmp_path)) as here, connected(here, OTHER, 30) as many:
        assert sum(is_closed(one) for one in many[5:]) == 25  # an eighth of all is open
        with browser_at(THIRD, here) as third:
            assert third.get("/").status_code == 403
        assert here.act(label(0))["saved"]
        for one in many:
            one.close()
        with browser_at(OTHER, here) as again:  # what is closed is free
            assert status_of(again, "/") == 403


def test_this_machine_has_room_however_many_others_there_are() -> None:
    limits = ConnectionLimits(40)
    taken = [f"192.0.2.{number}" for number in range(100) if limits.take(f"192.0.2.{number}")]
    assert len(taken) == 36
    assert not limits.take("2001:db8::1")
    assert [limits.take(HERE) for _ in range(5)] == [True] * 4 + [False]
    for address in taken:
        limits.give_back(address)
    assert limits.take("2001:db8::1")
    assert limits.take("::1")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
@pytest.mark.parametrize("seconds", [1.0, 3600.0])
def test_who_does_not_finish_a_handshake_is_counted_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    wait_for_heads(monkeypatch, seconds)
    monkeypatch.setattr(server, "limits_for_this_process", lambda: ConnectionLimits(10))
    pem, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([*make.split(), "-keyout", str(key), "-out", str(pem)], check=True, capture_output=True)
    project = small_project(tmp_path)
    add_person(project, "anna", "correct horse")
    trusting = ssl.create_default_context(cafile=str(pem))
    with served(project, address=Address(port=0, certfile=pem, keyfile=key)) as here:
        with connected(here, count=30) as many:
            late = many[10:] if seconds > 60 else many
            assert all(is_closed(one) for one in late)
        with httpx.Client(base_url=here.origin, verify=trusting, trust_env=False) as anna:
            assert status_of(anna, "/login") == 200


def test_a_thousand_silent_connections_leave_room_for_files(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: asked.append(limits))
    for limits, in_all in (((256, 256), 128), ((256, 1000), 700), ((1024, 4096), 1000), ((9999, 9999), 1000)):
        monkeypatch.setattr(resource, "getrlimit", lambda which, limits=limits: limits)
        assert connections.limits_for_this_process().in_all == in_all
    assert asked == [(256, 256), (1000, 1000), (1300, 4096)]
