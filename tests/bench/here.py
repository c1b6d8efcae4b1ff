"""Commands that run a matrix of cells in this process, cells included: for what they plan, say and write.

That cells are run by processes, and what happens when these end, is what test_runner.py is for.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from deepbass.bench import runner
from deepbass.bench.cell_process import CellProcess
from deepbass.bench.cells import Cell
from deepbass.bench.results import Results
from deepbass.bench.worker import finish_loop, run_cell
from deepbass.cli import app
from deepbass.compare.compare_worker import finish_method
from deepbass.core.errors import DeepBassError
from tests.runs.warm import warm_call


class Here(CellProcess):
    """What does the work of a process, and ends as it would."""

    def __init__(
        self, cells: list[Cell], results: Results, folder: Path | None, worker: str, side_by_side: int
    ) -> None:
        self._cells, self._results, self._folder = list(cells), results, folder
        self._finish = {"deepbass.bench.worker": finish_loop, "deepbass.compare.compare_worker": finish_method}[worker]
        self._end: tuple[int, str] = (0, "")

    def messages(self) -> Iterator[dict[str, Any]]:
        """Run the cells one after the other."""
        for cell in self._cells:
            try:
                run_cell(cell, self._results, folder=self._folder, finish=self._finish)
            except DeepBassError as error:
                self._end = 1, str(error)
                return
            yield {"done": cell.key}

    def end(self) -> tuple[int | None, str]:
        """Tell how it ended."""
        return self._end

    def stop(self) -> None:
        """Have nothing to stop."""

    def wait_or_kill(self) -> None:
        """Have nothing to wait for."""


def call_here(words: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command, spelled as small_runs.command spells it, to its end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "LocalProcess", Here)
        done = CliRunner().invoke(app, words[3:])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)


WAYS = [pytest.param(call_here, id="here"), pytest.param(warm_call, id="processes", marks=pytest.mark.slow)]
