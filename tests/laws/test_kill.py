"""A run that is killed at any moment and resumed ends as the run that never stopped, bit for bit."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.session.runs import call, command, everything, run_words


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Make the run to compare with."""
    out = tmp_path_factory.mktemp("unbroken") / "run"
    done = call(run_words("digits", out))
    assert done.returncode == 0, done.stderr
    return everything(out)


def kill_at(words: list[str], moment: Path, delay: float) -> int:
    """Start a command, wait until a file is there and a little longer, and end it with signal 9."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not moment.exists() and process.poll() is None:
            time.sleep(0.001)
        time.sleep(delay)
        process.kill()
        return process.wait()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_stop_and_resume_equals_not_stopping(seed: int, unbroken: dict[str, object], tmp_path: Path) -> None:
    """Killed in the initial training, then in three iterations, each time at a random moment of it."""
    out, rng = tmp_path / "run", random.Random(seed)
    assert kill_at(run_words("digits", out), out / "run.json", rng.uniform(0, 0.3)) == -signal.SIGKILL
    for iteration in sorted(rng.sample(range(7), 3)):
        moment = out / "checkpoints" / f"{iteration:06d}"
        assert kill_at(command("resume", out), moment, rng.uniform(0, 0.15)) == -signal.SIGKILL
    done = call(command("resume", out))
    assert done.returncode == 0, done.stderr
    assert everything(out) == unbroken


def test_ctrl_c_finishes_the_write_and_says_how_to_resume(unbroken: dict[str, object], tmp_path: Path) -> None:
    out = tmp_path / "run"
    with subprocess.Popen(run_words("digits", out), stderr=subprocess.PIPE, text=True) as process:
        while not list((out / "checkpoints").glob("0*")):  # in the midst of it
            time.sleep(0.01)
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        said = process.stderr.read()
    assert process.returncode == 130
    assert f"deepbass resume {out}" in said
    assert "Traceback" not in said
    done = call(command("resume", out))
    assert done.returncode == 0, done.stderr
    assert everything(out) == unbroken


def test_a_damaged_newest_checkpoint_gives_way_to_the_one_before_and_it_is_said(
    unbroken: dict[str, object], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    assert call(run_words("digits", out)).returncode == 0
    newest = max((out / "checkpoints").iterdir())
    learner = newest / "learner.safetensors"
    learner.write_bytes(learner.read_bytes()[:-10])
    (out / "model.safetensors").unlink()
    done = call(command("resume", out))
    assert done.returncode == 0, done.stderr
    assert "damaged" in done.stderr
    assert "Going on from iteration 7" in done.stderr
    assert everything(out) == unbroken
