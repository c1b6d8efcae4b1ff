"""Commands that start in no time: real processes, forked from one that has loaded torch and the like already.

Most of a short command is the loading of libraries. What is killed, interrupted or shut out here is a process of its
own as ever; that a command starts from nothing is what other tests are for.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CHILD = Path(__file__).with_name("warm_child.py")
_CONTEXT = multiprocessing.get_context("forkserver")
_OURS = ("cli", "api", "data.load", "report.page", "report.figures", "trainer.trainer", "paper.results_page")
_OTHERS = ("torch._dynamo", "sklearn.datasets", "matplotlib.backends.backend_svg", "PIL.PngImagePlugin")
_CONTEXT.set_forkserver_preload([*(f"deepbass.{name}" for name in _OURS), *_OTHERS])


class WarmProcess:
    """A command under way, spelled as small_runs.command spells it."""

    def __init__(self, words: list[str], folder: Path, largest: int | None) -> None:
        self._words, self._out, self._err = words, folder / "out", folder / "err"
        self._process = _CONTEXT.Process(
            # by path: the child cannot import tests
            target=runpy.run_path,
            args=(str(_CHILD), {"ORDER": (words[2:], dict(os.environ), str(self._out), str(self._err), largest)}),
            daemon=True,
        )
        self._process.start()

    @property
    def pid(self) -> int:
        """Its number."""
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """Tell how it ended, None if it has not; minus the signal, if one ended it."""
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End it with signal 9."""
        self._process.kill()

    def wait(self) -> int:
        """Wait for its end, and tell how it ended."""
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode

    def lines(self) -> Iterator[str]:
        """Read what it says on standard output, until it has ended."""
        while not self._out.exists() and self.poll() is None:
            time.sleep(0.005)
        with self._out.open(encoding="utf-8") as said:
            line = ""
            while True:
                ended = self.poll() is not None
                line += said.readline()
                if line.endswith("\n"):
                    yield line
                    line = ""
                elif ended:
                    return
                else:
                    time.sleep(0.005)

    def done(self) -> subprocess.CompletedProcess[str]:
        """Wait for its end, and collect what it said."""
        code = self.wait()
        out, err = (file.read_text(encoding="utf-8") if file.exists() else "" for file in (self._out, self._err))
        return subprocess.CompletedProcess(self._words, code, out, err)


@contextmanager
def warm(words: list[str], largest: int | None = None) -> Iterator[WarmProcess]:
    """Start a command, which ends with the block at the latest; ``largest`` limits the bytes of a file."""
    with tempfile.TemporaryDirectory() as folder:
        process = WarmProcess(words, Path(folder), largest)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def warm_call(words: list[str], largest: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    with warm(words, largest) as process:
        return process.done()
