"""A process for some cells on a node of a cluster: the same as on this machine, kept by a task of Ray's.

The task starts the worker as its child and hands on what it says. The child ends when its input does, so it never
outlives the task, and that never outlives the command. What the worker writes it writes to the folder of results, on
storage that all nodes see: where a node dies, another one goes on with its cells from their last commit.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from socket import gethostname
from typing import Any

from deepbass.bench.cell_process import TAIL, CellProcess, cell_job
from deepbass.bench.cells import Cell
from deepbass.bench.results import Results
from deepbass.store import child

_ENDED = "ended"
_GRACE = 5.0  # seconds for a worker whose task is over


class ClusterProcess(CellProcess):
    """A worker on some node, with one of its processors."""

    def __init__(self, cells: list[Cell], results: Results, folder: Path | None, worker: str) -> None:
        import ray

        there = Results(results.folder.absolute(), results.about)
        job = cell_job(cells, there, folder and folder.absolute())
        task = ray.remote(num_cpus=1, max_retries=0, num_returns="streaming", scheduling_strategy="SPREAD")(_serve)
        ours = {name: value for name, value in os.environ.items() if name.startswith("DEEPBASS_")}
        self._said: Any = task.remote(worker, job, str(Path.cwd()), ours)
        self._code: int | None = None
        self._last_words = ""

    def messages(self) -> Iterator[dict[str, Any]]:
        """Listen to it until its end, or that of its node."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        try:
            for said in self._said:
                message: dict[str, Any] = ray.get(said)
                if _ENDED in message:
                    self._code, self._last_words = message[_ENDED], message["last_words"]
                else:
                    yield message
        except RayTaskError as error:  # it could not even start its child
            self._code, self._last_words = 1, str(error).strip().splitlines()[-1]
        except RayError as error:
            self._last_words = _in_words(error)

    def end(self) -> tuple[int | None, str]:
        """Tell how it ended."""
        return self._code, self._last_words

    def stop(self) -> None:
        """End it at once: what counts is on the disk already."""
        import ray

        with suppress(Exception):  # it has ended by itself
            if ray.is_initialized():
                ray.cancel(self._said, force=True)

    def wait_or_kill(self) -> None:
        """See to it that it has ended: it is killed already."""

    def __exit__(self, *_: object) -> None:
        pass


def _in_words(error: Exception) -> str:
    """Say in a line what became of a task whose worker or node died."""
    kinds = {
        "OutOfMemoryError": "its node ran out of memory",
        "NodeDiedError": "its node died",
        "WorkerCrashedError": "its worker died",
    }
    kind = type(error).__name__
    return kinds.get(kind) or f"{kind}: {str(error).strip().splitlines()[0]}"


def _serve(worker: str, job: dict[str, Any], folder: str, environment: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Run the worker on this node, in the folder where the command was started, if it is there; hand on its words."""
    with tempfile.TemporaryFile() as log:
        here = folder if Path(folder).is_dir() else None
        process = child.start([sys.executable, "-m", worker], stderr=log, folder=here, environment=environment)
        try:
            child.send(process, job)
            yield from child.messages(process)
            code = process.wait()
            log.seek(0)
            said = log.read().decode(errors="replace")[-TAIL:]
            yield {_ENDED: code, "last_words": f"{said} (on {gethostname()})" if said else ""}
        finally:
            child.end(process, _GRACE)
