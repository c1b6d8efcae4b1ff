"""Thousands of malformed requests against the real server: no 500, no hang, no traceback, and no good answer lost.

DEEPBASS_MALFORMED=20000 makes it last longer.
"""

from __future__ import annotations

import json
import os
import queue
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from deepbass.label.journal import Journal
from deepbass.label.project import Project
from deepbass.web.auth import Sessions
from tests.web.malformed import Case, Maker
from tests.web.served import add_person, small_project

COUNT = int(os.environ.get("DEEPBASS_MALFORMED", "1000"))
CLIENTS = 8
SECONDS = 2.0  # that the server waits for the rest of a request
PATIENCE = 60.0  # after which a connection without a word counts as hung
SERVER = Path(__file__).with_name("server_process.py")
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


class Client(threading.Thread):
    """Sends its share of the cases, and a good answer after every few."""

    def __init__(self, number: int, port: int, cases: queue.SimpleQueue[Case | None], sessions: Sessions) -> None:
        super().__init__(name=f"client {number}")
        self._number = number
        self._port = port
        self._cases = cases
        self._sessions = sessions
        self._connections = 0
        self.statuses: Counter[int] = Counter()
        self.wrong: list[str] = []
        self.saved: list[str] = []

    def run(self) -> None:
        count = 0
        while not self.wrong and (case := self._cases.get()) is not None:
            try:
                answered = self._send(case)
            except TimeoutError:
                self.wrong.append(f"no answer and no end: {case}"[:2000])
                return
            statuses = [int(found) for found in STATUS.findall(answered)]
            self.statuses.update(statuses)
            if 500 in statuses:
                self.wrong.append(f"500: {case}"[:2000])
            count += 1
            if count % 5 == 0:
                self._answer(count)

    def _send(self, case: Case) -> bytes:
        with self._connect() as connection:
            try:
                connection.sendall(case.sent)
                match case.after:
                    case "vanish":
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        return b""
                    case "half-close":
                        connection.shutdown(socket.SHUT_WR)
                    case "look":
                        return connection.recv(100)
                answered = b""
                while part := connection.recv(65536):
                    answered += part
                return answered
            except ConnectionError:  # closed: it need not read all that is sent
                return b""

    def _answer(self, count: int) -> None:
        uid = f"good-{self._number}-{count}"
        act = {"uid": uid, "item": count % 20, "kind": "label", "class": count % 2}
        body = json.dumps({"acts": [act], "want": 0, "holding": []}).encode()
        head = (
            f"POST /api/acts HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nConnection: close\r\nX-Deepbass: 1\r\n"
            f"Cookie: {cookie(self._sessions)}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        answered = b""
        for _ in range(5):  # as the page does, until it is acknowledged
            answered = self._send(Case(head.encode() + body, "read"))
            if STATUS.match(answered) and b'"saved":["' + uid.encode() in answered:
                self.saved.append(uid)
                return
        self.wrong.append(f"a good answer was not taken: {answered[:1000]!r}")

    def _connect(self) -> socket.socket:
        # another address every time, so that no limit on rates hides anything
        self._connections += 1
        source = f"127.0.{self._number + 1}.{self._connections % 250 + 1}" if sys.platform == "linux" else ""
        return socket.create_connection(("127.0.0.1", self._port), PATIENCE, (source, 0))


def cookie(sessions: Sessions) -> str:
    return f"{sessions.cookie}={sessions.issue('ann')}"


def start(project: Project) -> tuple[subprocess.Popen[str], int]:
    server = subprocess.Popen(
        [sys.executable, str(SERVER), str(project.path), "0", str(SECONDS)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
    )  # fmt: skip
    assert server.stdout is not None
    line = server.stdout.readline()
    assert line, "the server did not start"
    port = urlsplit(json.loads(line)["url"]).port
    assert port is not None
    return server, port


@pytest.mark.parametrize("people", [False, True], ids=["token", "log-in"])
@pytest.mark.timeout(300 + COUNT / 10)
def test_no_request_breaks_the_server_or_loses_an_answer(tmp_path: Path, people: bool) -> None:
    project = small_project(tmp_path, 20)
    if people:
        add_person(project, "ann", "correct horse")
    with Journal.open(project.labels_db, "ro") as journal:
        known = {name: hashed for name, hashed in journal.people().items() if hashed}
    server, port = start(project)
    assert server.stderr is not None
    log: list[str] = []
    drain = threading.Thread(target=lambda: log.extend(server.stderr or ()), daemon=True)
    drain.start()
    sessions = Sessions(project.path, known or None, port)
    maker = Maker(random.Random(f"malformed {people}"), f"127.0.0.1:{port}", lambda: cookie(sessions))
    cases: queue.SimpleQueue[Case | None] = queue.SimpleQueue()
    clients = [Client(number, port, cases, sessions) for number in range(CLIENTS)]
    try:
        for each in clients:
            each.start()
        for _ in range(COUNT // 2):
            cases.put(maker.case())
        for _ in clients:
            cases.put(None)
        for each in clients:
            each.join()
        assert [each.wrong for each in clients] == [[]] * CLIENTS
        last = Client(CLIENTS, port, cases, sessions)
        last._answer(0)  # it still works
        assert last.wrong == []
    finally:
        server.send_signal(signal.SIGTERM)
        ended = server.wait(60)
        drain.join(10)
        for stream in (server.stdout, server.stderr):
            if stream is not None:
                stream.close()
    assert ended == 0
    told = "".join(log)
    for bad in ("Traceback", "Fatal error", "never retrieved", "was never awaited"):
        assert bad not in told, told[-5000:]

    with Journal.open(project.labels_db, "ro") as journal:
        written = Counter(act.uid for act in journal.acts())
    saved = [uid for each in (*clients, last) for uid in each.saved]
    assert len(saved) > COUNT / 2 / 5 - CLIENTS
    assert {uid: written[uid] for uid in saved} == dict.fromkeys(saved, 1)
    assert max(written.values()) == 1
    statuses = sum((each.statuses for each in clients), Counter[int]())
    assert {200, 400, 403, 404, 405, 413} <= set(statuses)  # else the cases are not what they are meant to be
