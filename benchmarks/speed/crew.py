"""The parent's end: workers that are asked one at a time, so that no two of them compute at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np

from deepbass.core.belief import Floats
from deepbass.core.labels import Ids
from speed.task import Task
from speed.timed import Timed

_QUIET = {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"}


class Worker:
    """One side in its own process. While it waits for an order it sleeps on its pipe and takes no processor time."""

    def __init__(self, side: str, task: Task, start: Path, **settings: Any) -> None:
        self.name = side
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (lives as long as the process)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "speed.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=Path(__file__).parents[1],
            env={**os.environ, **_QUIET},
        )
        wanted = {"side": side, "task": asdict(task), "start": str(start), "settings": settings}
        ready = self._ask(wanted)
        self.about: dict[str, Any] = ready["about"]
        self.pieces: list[str] = ready["pieces"]

    def do(self, piece: str) -> Timed:
        """Let it do a piece by the clock."""
        return Timed(**self._ask({"piece": piece}))

    def answers(self, what: str, ids: Ids, passes: int) -> Floats:
        """Ask for mean class probabilities."""
        mean: Floats = np.asarray(self._ask({"answers": what, "ids": ids.tolist(), "passes": passes})["mean"])
        return mean

    def processor_seconds(self) -> float:
        """Read how much processor time it has used, all threads together; 0 where that cannot be told."""
        stat = Path(f"/proc/{self._process.pid}/stat")
        if not stat.exists():
            return 0.0
        words = stat.read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """Close its pipe, upon which it ends."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._errors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, order: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self._process.wait()
            self._errors.seek(0)
            raise RuntimeError(f"{self.name} ended while it was asked for {order}:\n{self._errors.read()[-4000:]}")
        found: dict[str, Any] = json.loads(answer)
        return found
