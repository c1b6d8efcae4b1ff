"""Run a matrix: cell after cell, each in a process of its own, several side by side when asked."""

from __future__ import annotations

import itertools
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from deepbass.bench.cells import FAILED, Cell, CellResult
from deepbass.bench.cost import Cost, cost
from deepbass.bench.progress import MatrixProgress
from deepbass.bench.results import Results
from deepbass.core.errors import ConfigError
from deepbass.store import child
from deepbass.store.lock import take_lock
from deepbass.store.write_errors import now

# a worker that was asked to end: by its own hand, or before it could see to it, in the midst of its imports
_ASKED_TO_END = frozenset({child.INTERRUPTED, -signal.SIGINT, -signal.SIGTERM})
LOOP_WORKER = "deepbass.bench.worker"
_TAIL = 2_000  # characters of a dead worker's last words that are kept
_LONG_ENOUGH = 30.0  # seconds a worker has to end politely


@dataclass
class Audience:
    """Who looks on while a matrix is run."""

    on_progress: Callable[[MatrixProgress], None] = lambda progress: None
    on_end: Callable[[Cell, CellResult], None] = lambda cell, record: None
    on_note: Callable[[str], None] = lambda note: None


def run_matrix(
    cells: list[Cell],
    results: Results,
    *,
    workers: int = 1,
    folder: Path | None = None,
    audience: Audience | None = None,
    worker: str = LOOP_WORKER,
    cost: Cost = cost,
    together: Callable[[Cell], Hashable] | None = None,
) -> MatrixProgress:
    """Run every cell that is not finished. May be killed at any time: the next call goes on where this one was.

    ``worker`` is the module whose process runs a cell, ``cost`` says roughly how much work each is. Cells in a row that
    are the same to ``together`` are run by one process: for small ones, beside which its start would take long.
    """
    if workers < 1:
        raise ConfigError(f"--workers {workers} is too few: it must be 1 or more.")
    audience = audience or Audience()
    lock = take_lock(results.folder)
    try:
        open_cells = [cell for cell in cells if not ((record := results.read(cell)) and record.finished)]
        before = len(cells) - len(open_cells)
        groups = [list(some) for _, some in itertools.groupby(open_cells, together or (lambda cell: cell.key))]
        crew = _Crew(open_cells, groups, results, workers, folder, audience, before, worker, cost)
        return crew.run()
    finally:
        lock.release()


@dataclass
class _Crew:
    cells: list[Cell]
    groups: list[list[Cell]]
    results: Results
    workers: int
    folder: Path | None
    audience: Audience
    finished_before: int
    worker: str
    cost: Cost
    _events: queue.Queue[Callable[[], None]] = field(default_factory=queue.Queue)
    _processes: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _stopping: bool = False

    def run(self) -> MatrixProgress:
        """Hand cells to workers until none is left; what they report is taken up in this thread alone."""
        self.progress = MatrixProgress.of(self.cells, self.finished_before, self.cost)
        self._waiting = list(reversed(self.groups))
        crew = min(self.workers, len(self.groups))
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(crew)]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads) or not self._events.empty():
                with suppress(queue.Empty):
                    self._events.get(timeout=0.2)()
                self.audience.on_progress(self.progress)
        finally:
            self._stop()
            for thread in threads:
                thread.join()
        return self.progress

    def _stop(self) -> None:
        with self._guard:
            self._stopping = True
            for process in self._processes:
                process.terminate()  # like Ctrl-C: the iteration's write is finished, then it ends
        for process in list(self._processes):
            try:
                process.wait(_LONG_ENOUGH)
            except subprocess.TimeoutExpired:
                process.kill()

    def _work(self) -> None:
        while (begun := self._begin()) is not None:
            cells, process, log = begun
            with process, log:
                for message in child.messages(process):
                    if cells and message.get("done") == cells[0].key:
                        self._events.put(partial(self._ended, cells.pop(0), 0, ""))
                        self._announce(cells)
                    elif cells:
                        self._events.put(partial(self._heard, cells[0], message))
                code = process.wait()
                log.seek(0)
                last_words = log.read().decode(errors="replace")[-_TAIL:]
            with self._guard:
                self._processes.discard(process)
                if cells and not self._stopping:  # else it was our wish that it ended
                    self._events.put(partial(self._ended, cells.pop(0), code, last_words))
                    if cells:  # another process has to take these up
                        self._waiting.append(cells)

    def _announce(self, cells: list[Cell]) -> None:
        if cells:
            self._events.put(partial(self.progress.start, cells[0]))

    def _begin(self) -> tuple[list[Cell], subprocess.Popen[bytes], BinaryIO] | None:
        """Start a process for the next cells; None when there are none, or when all is to end."""
        with self._guard:
            if self._stopping or not self._waiting:
                return None
            cells = self._waiting.pop()
            self._announce(cells)
            place = self.results.work(cells[0])
            place.parent.mkdir(parents=True, exist_ok=True)
            log = place.with_name(f"{place.name}.log").open("w+b")
            command = [sys.executable, "-m", self.worker]
            process = child.start(command, stderr=log, environment=self._environment())
            self._processes.add(process)
        folder = self.folder and str(self.folder)
        child.send(
            process, {"cells": [cell.as_dict() for cell in cells], "out": str(self.results.folder), "folder": folder}
        )
        return cells, process, log

    def _environment(self) -> dict[str, str]:
        """Share the cores between workers: with more threads than cores they would only wait for one another."""
        if self.workers == 1:
            return {}
        return {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // self.workers))}

    def _heard(self, cell: Cell, event: dict[str, Any]) -> None:
        if "note" in event:
            self.audience.on_note(f"{cell.key}: {event['note']}")
        elif "iteration" in event:
            share = event.get("share", 0.0) if event.get("doing") == "training" else 0.0
            self.progress.report(cell, event["iteration"], share, event.get("accuracy"), event.get("of"))

    def _ended(self, cell: Cell, code: int, last_words: str) -> None:
        record = self.results.read(cell)
        if record is None or not record.finished:
            record = self._failed(cell, record, code, last_words)
            if (
                code not in _ASKED_TO_END
            ):  # Ctrl-C reaches workers first: such a cell is only begun, and will be gone on with
                self.results.write(record)
        self.progress.end(cell, record.finished)
        self.audience.on_end(cell, record)

    def _failed(self, cell: Cell, record: CellResult | None, code: int, last_words: str) -> CellResult:
        """Say how a worker failed: in its own words, if it had the time to write them down."""
        error = record.error if record and record.status == FAILED else None
        how = f"the worker ended with code {code}" if code >= 0 else f"the worker was killed by signal {-code}"
        how = "the worker was interrupted" if code in _ASKED_TO_END else how
        error = error or f"{how}. {last_words}".strip()
        return CellResult(
            cell, FAILED, record.started_at if record else now(), now(), cell.config.as_dict(), error=error
        )
