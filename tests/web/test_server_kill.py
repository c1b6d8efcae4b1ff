"""Signal 9 to the server under load, again and again: every acknowledged answer is there, none is there twice.

DEEPBASS_KILLS=400 makes it last longer.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from deepbass.label.journal import Journal
from deepbass.label.project import Project
from deepbass.web.auth import Sessions
from tests.web.served import CHANGE, small_project

KILLS = int(os.environ.get("DEEPBASS_KILLS", "6"))
PEOPLE = 4
ITEMS = 1000
SERVER = Path(__file__).with_name("server_process.py")


class Annotator(threading.Thread):
    """Answers without a pause, sends everything until it is acknowledged, and remembers what was."""

    def __init__(self, number: int, port: int, sessions: Sessions, over: threading.Event) -> None:
        super().__init__(name=f"annotator {number}")
        self._rng = random.Random(number)
        self._number = number
        self._origin = f"http://127.0.0.1:{port}"
        self._cookie = f"{sessions.cookie}={sessions.issue(f'p{number}')}"
        self._over = over
        self.sent: Counter[str] = Counter()  # attempts by uid
        self.acknowledged: dict[str, tuple[str, int]] = {}  # kind and item
        self.unexpected: list[str] = []

    def run(self) -> None:
        count = 0
        pending: list[dict[str, object]] = []
        headers = {**CHANGE, "Cookie": self._cookie}
        client = httpx.Client(timeout=10, trust_env=False, headers=headers)
        try:
            while not self._over.is_set():
                if not pending:
                    for _ in range(self._rng.choice((1, 1, 1, 5))):
                        pending.append(self._answer(count))
                        count += 1
                    if self._rng.random() < 0.2:
                        last = pending[-1]
                        undo = {"uid": f"{last['uid']}-undo", "kind": "undo"}
                        pending.append({**undo, "item": last["item"], "undoes": last["uid"]})
                for act in pending:
                    self.sent[str(act["uid"])] += 1
                try:
                    got = client.post(f"{self._origin}/api/acts", json={"acts": pending, "want": 1, "holding": []})
                except httpx.TransportError:
                    time.sleep(0.02)  # killed just now: the page keeps what it has, and tries again
                    continue
                if got.status_code in (429, 503):
                    time.sleep(0.02)
                    continue
                if got.status_code != 200 or got.json()["refused"]:
                    self.unexpected.append(got.text)
                    return
                saved = set(got.json()["saved"])
                for act in pending:
                    if act["uid"] in saved:
                        self.acknowledged[str(act["uid"])] = str(act["kind"]), int(str(act["item"]))
                pending = [act for act in pending if act["uid"] not in saved]
                time.sleep(self._rng.uniform(0, 0.02))
        finally:
            client.close()

    def _answer(self, count: int) -> dict[str, object]:
        item = (self._number * 250 + count) % ITEMS
        return {"uid": f"p{self._number}-{count}", "item": item, "kind": "label", "class": count % 2, "seconds": 0.5}


def start(project: Project, port: int) -> subprocess.Popen[str]:
    """Start the server, and wait until it answers."""
    server = subprocess.Popen(
        [sys.executable, str(SERVER), str(project.path), str(port)], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    line = server.stdout.readline()
    assert line, "the server did not start"
    assert urlsplit(json.loads(line)["url"]).port == port
    return server


def quiet_port() -> int:
    """Find a port that the system gives to nobody else by itself while the server is down."""
    for port in random.sample(range(20_000, 30_000), 100):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


def test_every_acknowledged_answer_is_there_once_however_often_the_server_is_killed(tmp_path: Path) -> None:
    project = small_project(tmp_path, ITEMS)
    port = quiet_port()
    rng = random.Random(7)
    over = threading.Event()
    sessions = Sessions(project.path, None, port)
    people = [Annotator(number, port, sessions, over) for number in range(PEOPLE)]
    server = start(project, port)
    for each in people:
        each.start()
    try:
        for _ in range(KILLS):
            before = sum(len(each.acknowledged) for each in people)
            deadline = time.monotonic() + 60
            while sum(len(each.acknowledged) for each in people) < before + rng.randrange(2, 40):
                assert all(each.is_alive() for each in people), [each.unexpected for each in people]
                assert time.monotonic() < deadline
                time.sleep(0.005)
            time.sleep(rng.uniform(0, 0.05))
            server.send_signal(signal.SIGKILL)
            server.wait()
            assert server.stdout is not None
            server.stdout.close()
            server = start(project, port)
    finally:
        over.set()
        for each in people:
            each.join()
        server.terminate()
        assert server.stdout is not None
        server.stdout.close()
    assert server.wait(60) == 0
    assert [each.unexpected for each in people] == [[]] * PEOPLE

    with Journal.open(project.labels_db, "ro") as journal:
        acts = journal.acts()
    written = Counter(act.uid for act in acts)
    assert max(written.values()) == 1
    there = {act.uid: (act.kind, act.item, act.annotator) for act in acts}
    for each in people:
        for uid, (kind, item) in each.acknowledged.items():
            assert there[uid] == (kind, item, uid.partition("-")[0])
    sent = Counter[str]()
    for each in people:
        sent.update(each.sent)
    assert set(written) <= set(sent)
    assert max(sent.values()) > 1  # some were sent again, which is what it is about
