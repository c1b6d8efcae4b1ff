"""The trainer as a process: it ends when it is asked to, and says what stopped it with a code that tells."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from deepbass.core.errors import DeepBassError
from deepbass.store.rundir import RunDir
from tests.runs.warm import warm, warm_call
from tests.trainer.labelling import QUICK, World, trainer_process, trainer_words, wait_for, world


def test_it_ends_at_once_when_its_standard_input_does(here: World) -> None:
    with trainer_process(here.project) as process:
        wait_for(process, lambda what: what.get("doing") == "waiting")
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(10) == 0
    here.begin()
    with trainer_process(here.project) as process:
        wait_for(process, lambda what: "committed" in what)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(10) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_asked_to_end_it_finishes_the_write(here: World, number: signal.Signals) -> None:
    here.begin()
    with warm(trainer_words(here.project.path)) as process:
        assert any(json.loads(line).get("committed", -1) >= 2 for line in process.lines())
        process.send_signal(number)
        done = process.done()
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert here.newest().iteration >= 2


def ended(here: World, *options: str) -> tuple[int, list[dict[str, Any]], str]:
    """Let a trainer run to an end that it finds by itself."""
    done = warm_call(trainer_words(here.project.path, *options))
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_a_source_that_cannot_be_read_is_said_and_ends_with_code_2(here: World) -> None:
    here.begin()
    for picture in Path(here.project.source).iterdir():
        picture.unlink()
    code, said, stderr = ended(here)
    assert code == 2
    assert here.project.source in said[-1]["error"]
    assert stderr == ""


def test_training_that_diverged_is_said_and_never_saved(tmp_path: Path) -> None:
    with world(tmp_path, config={**QUICK, "learning_rate": 1e38}) as here:
        here.begin()
        with pytest.raises(DeepBassError, match="diverged"):
            here.train(lambda iteration: True)
        with RunDir.open(here.model(), lock=False) as run_dir:
            assert run_dir.events.steps() == []


def test_no_project_is_said_and_ends_with_code_2(tmp_path: Path) -> None:
    done = warm_call(trainer_words(tmp_path / "nothing"))
    assert done.returncode == 2
    assert "nothing" in json.loads(done.stdout)["error"]


def test_an_error_that_nobody_thought_of_keeps_its_traceback_and_ends_with_code_1(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text("def make(shape, classes):\n    raise RuntimeError('oh no')\n")
    with world(tmp_path, config={**QUICK, "model": f"{own}:make"}) as here:
        here.begin()
        code, said, stderr = ended(here, "--model", f"{own}:make")
    assert code == 1
    assert said[-1] == {"error": "RuntimeError: oh no"}
    assert "Traceback" in stderr


BIG_AND_LIMITED = """
import math, resource
from torch import nn

def make(shape, classes):
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
    wide = 2_000_000 // math.prod(shape)
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), wide), nn.Dropout(), nn.Linear(wide, classes))
"""


def test_a_disk_that_does_not_take_the_model_is_said_with_what_to_do(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(BIG_AND_LIMITED)
    with world(tmp_path, config={**QUICK, "model": f"{own}:make"}) as here:
        here.begin()
        code, said, stderr = ended(here, "--model", f"{own}:make")
    assert code == 2
    assert re.match(r"Cannot write checkpoint 0 in .*0001: File too large \(.* MB free\)", said[-1]["error"])
    assert said[-1]["error"].endswith("(ulimit -f), and training goes on by itself.")
    assert stderr == ""
