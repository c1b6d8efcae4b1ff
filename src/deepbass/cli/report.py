"""Pages and figures of what was run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deepbass.cli.output import Json, errors, print_json, say


def report(
    path: Annotated[Path, typer.Argument(help="The directory of a run, or of deepbass reproduce.", metavar="DIR")],
    figures: Annotated[
        Path | None, typer.Option(help="Also write the figures as PNG and SVG into this folder.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the report of a run or of a reproduction, finished or not: one HTML page that needs nothing else."""
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
    from deepbass.paper.paper_figures import write_figures
    from deepbass.paper.results_page import write_matrix_report

    page, table = write_matrix_report(path)
    files = [str(file) for file in write_figures(path, figures)] if figures else []
    say(f"Report: {page}")
    say(f"Tables: {table}")
    if as_json:
        print_json({"report": str(page), "tables": str(table), "figures": files})
