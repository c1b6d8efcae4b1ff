"""The trainer's process, with small programs in the trainer's place."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from deepbass.web.trainer_process import TrainerProcess, TrainerState, trainer_command

WELL_BEHAVED = """
import json, sys
def say(**message): print(json.dumps(message), flush=True)
say(doing="loading", share=0.5)
print("a library's greeting", flush=True)
say(committed=3, model="0001", known=12, members=40, seconds=0.1)
say(doing="training", share=0.25, iteration=4)
sys.stdin.read()
"""


class Heard:
    """Keeps what is said of the trainer."""

    def __init__(self) -> None:
        self.states: list[TrainerState] = []
        self.commits = 0
        self._news = threading.Condition()

    def change(self, state: TrainerState) -> None:
        with self._news:
            self.states.append(state)
            self._news.notify_all()

    def commit(self) -> None:
        with self._news:
            self.commits += 1
            self._news.notify_all()

    def wait(self, until: Callable[[], bool], seconds: float = 60.0) -> None:
        with self._news:
            assert self._news.wait_for(until, seconds), self.states


@contextmanager
def kept(
    program: str, *, pauses: tuple[float, ...] = (0.01,), grace: float = 10.0
) -> Iterator[tuple[TrainerProcess, Heard]]:
    heard = Heard()
    trainer = TrainerProcess([sys.executable, "-c", program], heard.change, heard.commit, pauses, grace)
    trainer.start()
    try:
        yield trainer, heard
    finally:
        trainer.stop()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_what_the_trainer_says_is_told_and_a_commit_is_noticed() -> None:
    with kept(WELL_BEHAVED) as (trainer, heard):
        heard.wait(lambda: trainer.state.doing == "training")
        assert heard.commits == 1
        assert [state.doing for state in heard.states][:2] == ["loading", "loading"]
        assert trainer.state.as_json() == {
            "doing": "training", "share": 0.25, "restarts": 0, "error": None, "note": None, "background": None,
        }  # fmt: skip
        assert trainer.state.iteration == 4


def test_it_ends_politely_when_its_input_closes(tmp_path: Path) -> None:
    program = WELL_BEHAVED + f"open({str(tmp_path / 'ended')!r}, 'w').close()"
    with kept(program) as (trainer, heard):
        heard.wait(lambda: trainer.state.doing == "training")
        pid = trainer.pid
    assert (tmp_path / "ended").exists()
    assert pid is not None
    assert not alive(pid)
    assert trainer.pid is None
    assert trainer.state.restarts == 0


def test_it_is_started_again_when_killed_and_says_so() -> None:
    with kept(WELL_BEHAVED) as (trainer, heard):
        for times in range(1, 4):
            heard.wait(lambda times=times: heard.commits == times and trainer.state.doing == "training")  # type: ignore[misc]
            assert trainer.pid is not None
            os.kill(trainer.pid, signal.SIGKILL)
            heard.wait(lambda times=times: trainer.state.restarts == times)  # type: ignore[misc]
        died = [state for state in heard.states if state.doing == "restarting"]
        assert [state.restarts for state in died] == [1, 2, 3]
        assert died[0].error == "It was killed by signal 9."
        heard.wait(lambda: heard.commits == 4)
        assert trainer.state.error is None  # it works again; the count stays
        assert trainer.state.restarts == 3


def test_its_own_words_are_the_error_and_else_the_last_line_it_printed() -> None:
    with kept('import sys; print(\'{"error": "No class has labels."}\', flush=True); sys.exit(2)') as (trainer, heard):
        heard.wait(lambda: trainer.state.restarts > 1)
        assert trainer.state.error == "No class has labels."
    with kept("raise MemoryError('17 GB')") as (trainer, heard):
        heard.wait(lambda: trainer.state.restarts > 1)
        assert trainer.state.error == "It ended with code 1: MemoryError: 17 GB."


def test_the_pauses_grow_while_nothing_is_committed() -> None:
    with kept("import sys; sys.exit(1)", pauses=(0.0, 0.0, 30.0)) as (trainer, heard):
        heard.wait(lambda: trainer.state.restarts == 3)
        before = time.monotonic()
    assert time.monotonic() - before < 10  # a pause does not hold up the end
    assert trainer.state.restarts == 3


def test_one_that_does_not_listen_is_ended_all_the_same(tmp_path: Path) -> None:
    deaf = (
        "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        "print('{\"doing\": \"' + str(child.pid) + '\"}', flush=True); time.sleep(600)"
    )
    with kept(deaf, grace=0.1) as (trainer, heard):
        heard.wait(lambda: trainer.state.doing not in ("starting", "restarting"))
        pids = [trainer.pid, int(trainer.state.doing)]
    deadline = time.monotonic() + 10
    while any(_running(pid) for pid in pids if pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_running(pid) for pid in pids if pid)


def test_rubbish_and_flood_do_not_stop_the_keeper() -> None:
    flood = (
        "import sys\nsys.stdout.buffer.write(b'\\xff' * 200_000 + b'\\n')\nprint('[' * 5000)\nprint('[1]')\n"
        "sys.stderr.write('x' * 300_000)\n"
        'print(\'{"doing": ["odd"], "share": "half", "iteration": null}\')\n'
        'print(\'{"committed": "odd"}\', flush=True)\n'
        "sys.stdin.read()"
    )
    with kept(flood) as (trainer, heard):
        heard.wait(lambda: heard.commits == 1)
        assert trainer.state.doing == "['odd']"
        assert trainer.state.share is None


def test_a_command_that_does_not_exist_is_an_error_on_the_panel() -> None:
    heard = Heard()
    trainer = TrainerProcess(["/no/such/python"], heard.change, heard.commit, (0.01,))
    trainer.start()
    heard.wait(lambda: trainer.state.restarts > 1)
    trainer.stop()
    assert "could not be started" in str(trainer.state.error)


def test_it_dies_with_the_server_however_that_dies() -> None:
    code = (
        "import sys, time\nfrom deepbass.web.trainer_process import TrainerProcess\n"
        f"trainer = TrainerProcess([sys.executable, '-c', {WELL_BEHAVED!r}])\ntrainer.start()\n"
        "while trainer.state.doing != 'training': time.sleep(0.01)\n"
        "print(trainer.pid, flush=True)\ntime.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        trainer = int(server.stdout.readline())
        server.kill()
    deadline = time.monotonic() + 30
    while alive(trainer) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _running(trainer)


def _running(pid: int) -> bool:
    """Tell whether a process does anything: one whose parent is gone may be left as a zombie where nobody reaps."""
    status = Path(f"/proc/{pid}/stat")
    if not status.exists():
        return alive(pid) if sys.platform != "linux" else False
    return status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_the_command_is_the_trainer_of_this_project() -> None:
    assert trainer_command(Path("labels/x"))[1:] == ["-P", "-m", "deepbass.trainer", "labels/x"]
    assert trainer_command(Path("x"), Path("y"))[-2:] == ["--data", "y"]
    assert trainer_command(Path("x"), None, "net.py:build")[-3:] == ["x", "--model", "net.py:build"]
