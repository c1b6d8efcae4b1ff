"""A run of the tests without a browser does not look like one with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
IN_A_BROWSER = "tests/browser/test_login.py"


def run_without_chromium(nothing: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run some tests in a browser where none can be found."""
    nowhere = {"PATH": str(nothing), "PLAYWRIGHT_BROWSERS_PATH": str(nothing)}
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", IN_A_BROWSER]
    inherited = {name: value for name, value in os.environ.items() if name != "CI"}
    return subprocess.run(
        words, cwd=ROOT, env={**inherited, **nowhere, **environment}, capture_output=True, text=True, check=False
    )


def test_the_last_line_says_that_tests_in_a_browser_did_not_run(tmp_path: Path) -> None:
    done = run_without_chromium(tmp_path)
    assert done.returncode == 0, done.stdout
    *_, counted, last = done.stdout.splitlines()
    assert "skipped" in counted
    number = int(last.split()[0])
    assert number > 1
    assert f"{number} skipped" in counted
    assert "tests in a browser did NOT run" in last
    assert "apt install chromium" in last


def test_in_continuous_integration_a_missing_browser_is_a_failure(tmp_path: Path) -> None:
    done = run_without_chromium(tmp_path, CI="true")
    assert done.returncode == 1, done.stdout
    assert "no Chromium on this machine: apt install chromium" in done.stdout
