"""Pages and figures of what was run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from deepbass.cli.output import Json, errors, print_json, say

WritePage = Callable[[Path], tuple[Path, Path]]
WriteFigures = Callable[[Path, Path], list[Path]]


def report(
    path: Annotated[
        Path, typer.Argument(help="The directory of a run, of deepbass reproduce or compare.", metavar="DIR")
    ],
    figures: Annotated[
        Path | None, typer.Option(help="Also write the figures as PNG and SVG into this folder.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the report of a run, a reproduction or a comparison, finished or not: a page that needs nothing else."""
    with errors(as_json):
        from deepbass.bench.results import is_results
        from deepbass.report import write_figures, write_report

        if is_results(path):
            _report_matrix(path, figures, as_json)
            return
        page = write_report(path)
        files = [str(file) for file in write_figures(path, figures)] if figures else []
        say(f"Report: {page}")
        if as_json:
            print_json({"report": str(page), "figures": files})


def _report_matrix(path: Path, figures: Path | None, as_json: bool) -> None:
    from deepbass.bench.results import COMPARE, Results

    write_page, write_figures = _comparison() if Results.open(path).made_by == COMPARE else _reproduction()
    page, table = write_page(path)
    files = [str(file) for file in write_figures(path, figures)] if figures else []
    say(f"Report: {page}")
    say(f"Tables: {table}")
    if as_json:
        print_json({"report": str(page), "tables": str(table), "figures": files})


def _comparison() -> tuple[WritePage, WriteFigures]:
    from deepbass.compare.compare_page import write_comparison, write_comparison_figures

    return write_comparison, write_comparison_figures


def _reproduction() -> tuple[WritePage, WriteFigures]:
    from deepbass.paper.paper_figures import write_figures
    from deepbass.paper.results_page import write_matrix_report

    return write_matrix_report, write_figures
