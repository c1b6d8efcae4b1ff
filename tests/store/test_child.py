"""Child processes: they hear Ctrl-C whatever their parent does, and never outlive it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deepbass.core.errors import InUseError
from deepbass.store import child
from deepbass.store.lock import patiently, take_lock

_CHILD = "from deepbass.store import child; import time; job = child.receive(); child.begin(); child.say({'got': job})"


def test_a_child_gets_its_job_and_says_what_it_does_among_what_libraries_print() -> None:
    script = f"print('a library prints')\n{_CHILD}\nprint('[1, 2]')\nchild.say({{'done': 1}})"
    process = child.start([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
    with process:
        child.send(process, {"number": 7})
        assert list(child.messages(process)) == [{"got": {"number": 7}}, {"done": 1}]
        child.end(process, grace=10)
    assert process.returncode == 0


def test_a_child_ends_when_its_input_does() -> None:
    process = child.start([sys.executable, "-c", f"{_CHILD}\ntime.sleep(600)"], stderr=subprocess.DEVNULL)
    with process:
        child.send(process, {})
        assert next(child.messages(process)) == {"got": {}}
        child.end(process, grace=30)
    assert process.returncode == 0  # by itself, not by a signal


def test_a_child_of_a_parent_that_ignores_ctrl_c_hears_it() -> None:
    script = f"try:\n    {_CHILD}; time.sleep(600)\nexcept KeyboardInterrupt:\n    child.say({{'heard': True}})"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = child.start([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        child.send(process, {})
        said = child.messages(process)
        assert next(said) == {"got": {}}
        os.kill(process.pid, signal.SIGINT)
        assert next(said) == {"heard": True}
        child.end(process, grace=10)


def test_what_is_in_use_is_waited_for_and_then_said(tmp_path: Path) -> None:
    held = take_lock(tmp_path)
    tries = []

    def take() -> None:
        tries.append(time.monotonic())
        if len(tries) == 3:
            held.release()
        take_lock(tmp_path).release()

    patiently(take)
    assert len(tries) == 3
    with take_lock(tmp_path), pytest.raises(InUseError, match=f"process {os.getpid()}"):
        patiently(lambda: take_lock(tmp_path), seconds=0.3)
