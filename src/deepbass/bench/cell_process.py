"""A process that runs some cells of a matrix, one after the other: what is to know of it, and one of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, Self

from deepbass.bench.cells import Cell
from deepbass.bench.results import Results
from deepbass.store import child

# a worker that was asked to end: by its own hand, or before it could see to it, in the midst of its imports
ASKED_TO_END = frozenset({child.INTERRUPTED, -signal.SIGINT, -signal.SIGTERM})
TAIL = 2_000  # characters of a dead worker's last words that are kept
_LONG_ENOUGH = 30.0  # seconds a worker has to end politely


class CellProcess(Protocol):
    """A process that has been started with some cells."""

    def messages(self) -> Iterator[dict[str, Any]]:
        """Listen to it until its end."""

    def end(self) -> tuple[int | None, str]:
        """Tell how it ended: its exit code, None if its machine or what kept it there died; and its last words."""

    def stop(self) -> None:
        """Ask it to end."""

    def wait_or_kill(self) -> None:
        """See to it that it has ended."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


class LocalProcess(CellProcess):
    """A child of this process."""

    def __init__(
        self, cells: list[Cell], results: Results, folder: Path | None, worker: str, side_by_side: int
    ) -> None:
        place = results.work(cells[0])
        place.parent.mkdir(parents=True, exist_ok=True)
        self._log = place.with_name(f"{place.name}.log").open("w+b")
        command = [sys.executable, "-m", worker]
        self._process = child.start(command, stderr=self._log, environment=threads(side_by_side))
        self._job = cell_job(cells, results, folder)

    def messages(self) -> Iterator[dict[str, Any]]:
        """Tell it what to do, and listen to it until its end."""
        child.send(self._process, self._job)
        return child.messages(self._process)

    def end(self) -> tuple[int | None, str]:
        """Tell how it ended."""
        code = self._process.wait()
        self._log.seek(0)
        return code, self._log.read().decode(errors="replace")[-TAIL:]

    def stop(self) -> None:
        """Ask it to end as Ctrl-C does: the iteration's write is finished first."""
        self._process.terminate()

    def wait_or_kill(self) -> None:
        """See to it that it has ended."""
        try:
            self._process.wait(_LONG_ENOUGH)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def __exit__(self, *_: object) -> None:
        with self._process, self._log:
            pass


def cell_job(cells: list[Cell], results: Results, folder: Path | None) -> dict[str, Any]:
    """Write down what a worker is to do."""
    return {
        "cells": [cell.as_dict() for cell in cells],
        "out": str(results.folder),
        "folder": str(folder) if folder else None,
    }


def threads(side_by_side: int) -> dict[str, str]:
    """Share the cores between workers: with more threads than cores they would only wait for one another."""
    if side_by_side == 1:
        return {}
    return {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // side_by_side))}
