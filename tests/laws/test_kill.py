"""A run that is killed at any moment and resumed ends as the run that never stopped, bit for bit."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from deepbass.store.names import CHECKPOINTS_FOLDER, LEARNER_FILE, MODEL_FILE, RUN_FILE
from tests.runs.small_runs import command, everything, run_words
from tests.runs.warm import warm, warm_call

SEEDS = int(os.environ.get("DEEPBASS_SEEDS", "1"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the run to compare with; tests may copy it."""
    out = tmp_path_factory.mktemp("unbroken") / "run"
    done = warm_call(run_words("digits", out))
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def unbroken(whole: Path) -> dict[str, object]:
    """Read what a run ends as that was never stopped."""
    return everything(whole)


def newest(out: Path) -> int:
    """Tell the iteration of the newest checkpoint, -1 if there is none."""
    return max((int(place.name) for place in (out / CHECKPOINTS_FOLDER).glob("[0-9]*")), default=-1)


def kill_when(words: list[str], reached: Callable[[], bool], delay: float) -> int:
    """Start a command, wait until it is so far and a little longer, and end it with signal 9."""
    with warm(words) as process:
        while not reached() and process.poll() is None:
            time.sleep(0.005)
        time.sleep(delay)
        process.kill()
        return process.wait()


@pytest.mark.parametrize("seed", range(1, 1 + SEEDS))
def test_stop_and_resume_equals_not_stopping(seed: int, unbroken: dict[str, object], tmp_path: Path) -> None:
    """Killed about the initial training, ended by Ctrl-C, and killed twice more, each time at a random moment."""
    out, rng = tmp_path / "run", random.Random(seed)
    started = run_words("digits", out)
    assert kill_when(started, (out / RUN_FILE).exists, rng.uniform(0, 0.3)) == -signal.SIGKILL
    check_ctrl_c(out)
    for _ in range(2):
        # not beyond iteration 7 of 8: the report, written at the end, keeps the process alive until it is killed
        goal = min(newest(out) + rng.randint(1, 2), 7)
        reached = partial(lambda goal: newest(out) >= goal, goal)
        assert kill_when(command("resume", out), reached, rng.uniform(0, 0.1)) == -signal.SIGKILL
    done = warm_call(command("resume", out))
    assert done.returncode == 0, done.stderr
    assert everything(out) == unbroken


def check_ctrl_c(out: Path) -> None:
    """Go on with a run, press Ctrl-C after an iteration: it finishes the write and says how to resume."""
    before = newest(out)
    with warm(command("resume", out)) as process:
        while newest(out) == before:  # in the midst of it
            time.sleep(0.01)
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        ended = process.done()
    assert ended.returncode == 130
    assert f"deepbass resume {out}" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_damaged_newest_checkpoint_gives_way_to_the_one_before_and_it_is_said(
    whole: Path, unbroken: dict[str, object], tmp_path: Path
) -> None:
    out = shutil.copytree(whole, tmp_path / "run")
    newest = max((out / CHECKPOINTS_FOLDER).iterdir())
    learner = newest / LEARNER_FILE
    learner.write_bytes(learner.read_bytes()[:-10])
    (out / MODEL_FILE).unlink()
    done = warm_call(command("resume", out))
    assert done.returncode == 0, done.stderr
    assert "damaged" in done.stderr
    assert "Going on from iteration 7" in done.stderr
    assert everything(out) == unbroken
