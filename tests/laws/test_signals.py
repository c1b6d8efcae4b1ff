"""Ctrl-C is heard by whom it is meant for, also where SIGINT is ignored: in a background job of a script."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.background import in_the_background
from tests.runs.small_runs import run_words
from tests.web.served import small_project

ROOT = Path(__file__).parents[2]
CHILD = """
import os, sys, time
from deepbass.store import child
child.begin()
try:
    child.say({"pid": os.getpid()})
    time.sleep(600)
except KeyboardInterrupt:
    sys.exit(child.INTERRUPTED)
"""
SERVER = ROOT / "tests" / "web" / "server_process.py"


def test_a_run_in_the_background_goes_on_after_ctrl_c_and_ends_in_order_when_asked_to(tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = in_the_background(*run_words("toy", out, iterations=500)[1:])
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        for number in (signal.SIGINT, signal.SIGTERM):
            before = newest(out)
            while newest(out) == before:  # it goes on
                time.sleep(0.01)
                assert process.poll() is None
            process.send_signal(number)
        said = process.communicate()[1]
    assert process.returncode == 130
    assert "deepbass resume" in said
    assert "Traceback" not in said


def newest(out: Path) -> str:
    """Name the newest checkpoint."""
    return max((place.name for place in (out / "checkpoints").glob("0*")), default="")


def test_a_server_in_the_background_goes_on_after_ctrl_c_and_ends_in_order_when_asked_to(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with subprocess.Popen(
        in_the_background(SERVER, project.path, 0), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        server.send_signal(signal.SIGINT)
        for _ in range(2):  # its loop has gone round once more
            assert httpx.get(url, trust_env=False).status_code in (200, 303)
        server.send_signal(signal.SIGTERM)
        assert "Traceback" not in server.communicate()[1]
    assert server.returncode == 0
    assert not project.labels_db.with_name("labels.db-wal").exists()  # closed, not left lying


PARENT = f"""
import subprocess, sys
from deepbass.store import child
process = child.start([sys.executable, "-c", {CHILD!r}], stderr=subprocess.DEVNULL)
for message in child.messages(process):
    print(message["pid"], flush=True)
print(process.wait())
"""


@pytest.mark.parametrize("ignored", [False, True])
def test_ctrl_c_reaches_a_child_with_its_parent_unless_the_parent_ignores_it(ignored: bool) -> None:
    """A terminal sends Ctrl-C to a whole group, and a matrix in the background of a script must keep its workers."""
    words = in_the_background("-c", PARENT) if ignored else [sys.executable, "-c", PARENT]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as parent:
        try:
            assert parent.stdout is not None
            started = int(parent.stdout.readline())
            assert (os.getpgid(started) == os.getpgid(parent.pid)) is not ignored
            os.kill(started, signal.SIGINT)  # its own signals are the default ones
            assert parent.communicate()[0] == "130\n"
        finally:
            parent.kill()
