"""Signal 9 at any moment: what was committed is there and whole, and nothing else counts."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

from deepbass.store import RunDir

KILLS = int(os.environ.get("DEEPBASS_KILLS", "12"))
WRITER = Path(__file__).with_name("crash_writer.py")


def kill_at_a_random_moment(run: Path, rng: random.Random) -> list[int]:
    """Let a writer go on with the run, kill it, and return the iterations it said were committed."""
    with subprocess.Popen([sys.executable, WRITER, run], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        said = [int(writer.stdout.readline()) for _ in range(rng.randrange(1, 6))]
        time.sleep(rng.uniform(0, 0.015))  # an iteration takes some milliseconds
        writer.kill()
        rest = writer.stdout.read().splitlines(keepends=True)
    return said + [int(line) for line in rest if line.endswith("\n")]


def test_nothing_committed_is_ever_lost_to_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "run"
    RunDir.create(path, config={}, data={}, versions={}).close()
    rng = random.Random(0)
    last_said = -1
    for _ in range(KILLS):
        said = kill_at_a_random_moment(path, rng)
        assert said[0] in (last_said + 1, last_said + 2)  # the last kill may have come between commit and word
        last_said = said[-1]

        with RunDir.open(path, lock=False) as run:
            steps = run.events.steps()
            done = [row.iteration for row in steps]
            assert done == list(range(len(done)))
            assert last_said <= done[-1] <= last_said + 1
            assert [row.metrics for row in steps] == [{"done": iteration} for iteration in done]
            samples = list(range(2 * len(done)))
            assert [row.sample for row in run.events.questions()] == samples
            assert run.events.labels_now() == {sample: sample % 2 for sample in samples}

            newest, damaged = run.checkpoints.newest(done)
            assert newest.iteration == done[-1]
            assert newest.files["state"] == str(done[-1]).encode()
            assert not damaged
