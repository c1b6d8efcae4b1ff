"""What the command shows while a matrix of cells is run: one live block in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import typer
from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from deepbass.bench.cells import Cell, CellResult
from deepbass.bench.progress import Going, MatrixProgress
from deepbass.cli.display import clock, stacked
from deepbass.cli.output import print_json, say

_LINE_SECONDS = 60.0  # between two lines where there is no terminal


class MatrixDisplay:
    """Shows how many cells are done, which ones are running, and the time left for all of them."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress: MatrixProgress | None = None
        self._last_line = time.monotonic()
        self._live = (
            Live(get_renderable=self._block, console=console, refresh_per_second=2) if console.is_terminal else None
        )

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def on_progress(self, progress: MatrixProgress) -> None:
        """Take up how far everything is."""
        self._progress = progress
        if not self._live and time.monotonic() - self._last_line > _LINE_SECONDS:
            self._last_line = time.monotonic()
            going = [f"{g.cell.key} {_how_far(g)}" for g in progress.going.values()]
            self._console.print(Text(" · ".join([_summary(progress), *going])), soft_wrap=True)

    def on_end(self, cell: Cell, record: CellResult) -> None:
        """Say how a cell ended; the line stays."""
        if record.finished and record.accuracy is not None:
            self._console.print(Text(f"{cell.key}: {100 * record.accuracy:.2f} %"), soft_wrap=True)
        else:
            self._console.print(Text(f"{cell.key} failed: {record.error}", style="red"), soft_wrap=True)

    def on_note(self, note: str) -> None:
        """Say something that stays on the screen."""
        self._console.print(Text(note, style="yellow"), soft_wrap=True)

    def _block(self) -> RenderableType:
        progress = self._progress
        if progress is None:
            return Text("starting")
        table = Table.grid(padding=(0, 2))
        for going in progress.going.values():
            table.add_row(Text(going.cell.key, no_wrap=True), Text(_how_far(going), style="dim", no_wrap=True))
        return stacked(
            Text(_summary(progress), style="bold"), ProgressBar(1.0, completed=progress.share, width=50), table
        )


def finish_matrix(
    progress: MatrixProgress, path: Path, page: Path, table: Path, as_json: bool, more: Mapping[str, Any] | None = None
) -> None:
    """Say what came of a matrix and where its pages are; end with an error if a cell failed."""
    done = progress.finished + progress.finished_before
    failed = f", {progress.failed} failed: the same command tries them again" if progress.failed else ""
    say(f"{done} of {progress.cells} cells finished{failed}.", style="bold red" if failed else "bold green")
    say(f"Report: {page}")
    say(f"Tables: {table}")
    if as_json:
        print_json(
            {
                "path": str(path),
                "report": str(page),
                "tables": str(table),
                "cells": progress.cells,
                "finished": done,
                "failed": progress.failed,
                **(more or {}),
            }
        )
    if progress.failed:
        raise typer.Exit(1)


def _summary(progress: MatrixProgress) -> str:
    done = progress.finished_before + progress.finished
    failed = f" · {progress.failed} failed" if progress.failed else ""
    left = progress.seconds_left
    return f"{done} of {progress.cells} cells{failed} · time left {'…' if left is None else clock(left)}"


def _how_far(going: Going) -> str:
    accuracy = "" if going.accuracy is None else f" · {100 * going.accuracy:.2f} %"
    if going.iteration < 0:
        return f"initial training {going.share:.0%}" if going.share else "starting"
    of = "" if going.of is None else f"/{going.of}"
    return f"iteration {going.iteration}{of}{accuracy}"
