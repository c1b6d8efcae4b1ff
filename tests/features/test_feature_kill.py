"""Killed at any moment, features go on from what was finished; two processes do the work of one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
COUNT = 400


def start(folder: Path, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.features.fill", str(folder), str(COUNT), str(seconds)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> int:
    """Tell how many samples a process computed until the end."""
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return int(output.split()[-1])


def test_killed_at_any_moment_it_goes_on_from_what_was_finished(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    done = 0
    for _ in range(4):
        process = start(tmp_path, 0.001)
        assert process.stdout is not None
        first = int(process.stdout.readline())
        assert first >= done  # nothing that was finished is lost
        for _ in range(int(rng.integers(1, 20))):
            done = int(process.stdout.readline())
        process.kill()
        process.communicate()
    assert 0 < done < COUNT
    left = finish(start(tmp_path, 0))
    assert left <= COUNT - done
    assert finish(start(tmp_path, 0)) == 0


def test_two_processes_compute_nothing_twice(tmp_path: Path) -> None:
    both = [start(tmp_path, 0.003), start(tmp_path, 0.003)]
    assert sum(finish(process) for process in both) == COUNT
