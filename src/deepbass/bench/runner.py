"""Run a matrix: cell after cell, each in a process of its own, several side by side, here or on a cluster."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepbass.bench.cell_process import ASKED_TO_END, CellProcess, LocalProcess
from deepbass.bench.cells import FAILED, Cell, CellResult
from deepbass.bench.cost import Cost, cost
from deepbass.bench.progress import MatrixProgress
from deepbass.bench.results import Results
from deepbass.core.errors import ConfigError
from deepbass.store.lock import take_lock
from deepbass.store.write_errors import now

if TYPE_CHECKING:
    from deepbass.cluster.connection import Cluster

LOOP_WORKER = "deepbass.bench.worker"
_TIMES = 4  # that a cell is begun on a cluster whose machines die under it


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
    cluster: Cluster | None = None,
) -> MatrixProgress:
    """Run every cell that is not finished. May be killed at any time: the next call goes on where this one was.

    ``worker`` is the module whose process runs a cell, ``cost`` says roughly how much work each is. Cells in a row that
    are the same to ``together`` are run by one process: for small ones, beside which its start would take long. On a
    ``cluster`` the processes are on its nodes, all of which see the folder of results; where one dies, another goes on.
    """
    if workers < 1:
        raise ConfigError(f"--workers {workers} is too few: it must be 1 or more.")
    audience = audience or Audience()
    lock = take_lock(results.folder)
    try:
        open_cells = [cell for cell in cells if not ((record := results.read(cell)) and record.finished)]
        before = len(cells) - len(open_cells)
        groups = [list(some) for _, some in itertools.groupby(open_cells, together or (lambda cell: cell.key))]
        start = _starter(results, workers, folder, worker, cluster)
        crew = _Crew(open_cells, groups, results, workers, audience, before, cost, start)
        return crew.run()
    finally:
        lock.release()


def _starter(
    results: Results, workers: int, folder: Path | None, worker: str, cluster: Cluster | None
) -> Callable[[list[Cell]], CellProcess]:
    """Make what starts a process for some cells."""
    if cluster is None:
        return lambda cells: LocalProcess(cells, results, folder, worker, workers)
    from deepbass.bench.cluster_process import ClusterProcess

    cluster.can_share(results.folder)
    cluster.can_see([folder] if folder else [])
    return lambda cells: ClusterProcess(cells, results, folder, worker)


@dataclass
class _Crew:
    cells: list[Cell]
    groups: list[list[Cell]]
    results: Results
    workers: int
    audience: Audience
    finished_before: int
    cost: Cost
    start: Callable[[list[Cell]], CellProcess]
    _events: queue.Queue[Callable[[], None]] = field(default_factory=queue.Queue)
    _processes: set[CellProcess] = field(default_factory=set)
    _lost: dict[str, int] = field(default_factory=dict)  # how often a cell's machine has died
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
                process.stop()
        for process in list(self._processes):
            process.wait_or_kill()

    def _work(self) -> None:
        while (begun := self._begin()) is not None:
            cells, process = begun
            with process:
                for message in process.messages():
                    if cells and message.get("done") == cells[0].key:
                        self._events.put(partial(self._ended, cells.pop(0), 0, ""))
                        self._announce(cells)
                    elif cells:
                        self._events.put(partial(self._heard, cells[0], message))
                code, last_words = process.end()
            with self._guard:
                self._processes.discard(process)
                if cells and not self._stopping:  # else it was our wish that it ended
                    self._take_up(cells, code, last_words)

    def _take_up(self, cells: list[Cell], code: int | None, last_words: str) -> None:
        """Hand on what a process left: all of it if its machine died, else what comes after the cell that failed."""
        if code is None:
            times = self._lost[cells[0].key] = self._lost.get(cells[0].key, 0) + 1
            if times < _TIMES:
                self._events.put(partial(self._heard, cells[0], {"note": f"begun again: {last_words}"}))
                self._waiting.append(cells)
                return
        self._events.put(partial(self._ended, cells.pop(0), code, last_words))
        if cells:  # another process has to take these up
            self._waiting.append(cells)

    def _announce(self, cells: list[Cell]) -> None:
        if cells:
            self._events.put(partial(self.progress.start, cells[0]))

    def _begin(self) -> tuple[list[Cell], CellProcess] | None:
        """Start a process for the next cells; None when there are none, or when all is to end."""
        with self._guard:
            if self._stopping or not self._waiting:
                return None
            cells = self._waiting.pop()
            self._announce(cells)
            process = self.start(cells)
            self._processes.add(process)
        return cells, process

    def _heard(self, cell: Cell, event: dict[str, Any]) -> None:
        if "note" in event:
            self.audience.on_note(f"{cell.key}: {event['note']}")
        elif "iteration" in event:
            share = event.get("share", 0.0) if event.get("doing") == "training" else 0.0
            self.progress.report(cell, event["iteration"], share, event.get("accuracy"), event.get("of"))

    def _ended(self, cell: Cell, code: int | None, last_words: str) -> None:
        record = self.results.read(cell)
        if record is None or not record.finished:
            record = self._failed(cell, record, code, last_words)
            # Ctrl-C reaches workers first: such a cell is only begun, and will be gone on with
            if code not in ASKED_TO_END:
                self.results.write(record)
        self.progress.end(cell, record.finished)
        self.audience.on_end(cell, record)

    def _failed(self, cell: Cell, record: CellResult | None, code: int | None, last_words: str) -> CellResult:
        """Say how a worker failed: in its own words, if it had the time to write them down."""
        error = record.error if record and record.status == FAILED else None
        error = error or f"{_how(code)}. {last_words}".strip()
        return CellResult(
            cell, FAILED, record.started_at if record else now(), now(), cell.config.as_dict(), error=error
        )


def _how(code: int | None) -> str:
    if code is None:
        return f"{_TIMES} workers died of it"
    if code in ASKED_TO_END:
        return "the worker was interrupted"
    return f"the worker ended with code {code}" if code >= 0 else f"the worker was killed by signal {-code}"
