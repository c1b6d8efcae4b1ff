"""What tests start hears Ctrl-C, however the tests were started."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tests.background import in_the_background

ROOT = Path(__file__).parents[1]
WAITING = """
import time
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("heard")
"""


def test_what_a_test_starts_hears_ctrl_c() -> None:
    with subprocess.Popen([sys.executable, "-c", WAITING], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=30)[0] == "heard\n"


def test_so_it_does_where_the_tests_are_a_background_job_of_a_script() -> None:
    this = f"{Path(__file__).relative_to(ROOT)}::{test_what_a_test_starts_hears_ctrl_c.__name__}"
    words = in_the_background("-m", "pytest", "-p", "no:cacheprovider", this)
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
