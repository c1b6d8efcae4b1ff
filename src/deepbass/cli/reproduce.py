"""The paper's experiments, run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deepbass.cli.output import INTERRUPTED, Folder, Json, console, errors, say
from deepbass.cli.ray_option import Ray, SideBySide, cluster_or_none
from deepbass.core.errors import ConfigError


def reproduce(
    experiment: Annotated[
        str, typer.Argument(metavar="EXPERIMENT", help="toy, mnist, augmentation, no-mc or all: what to run again.")
    ],
    rows: Annotated[
        list[str] | None,
        typer.Option("--rows", help="Only some rows of its tables, as in --rows labels-100,labels-300."),
    ] = None,
    runs: Annotated[int | None, typer.Option(help="Runs of each row. (default: 10 in full, 5 in quick)")] = None,
    tier: Annotated[
        str, typer.Option(help="full: the paper's protocol. quick: a reduction, hours instead of days.")
    ] = "quick",
    workers: SideBySide = None,
    ray: Ray = None,
    folder: Folder = None,
    out: Annotated[Path, typer.Option(help="The folder of results; what it holds is not run again.")] = Path(
        "reproduction"
    ),
    as_json: Json = False,
) -> None:
    """Run the paper's experiments again and set the results beside the paper's. Goes on where it was stopped."""
    with errors(as_json):
        from deepbass.cluster.address import check_workers
        from deepbass.core.config import one_of
        from deepbass.paper.rows import RUNS, TIERS, choose, plan

        one_of("tier", tier, TIERS)
        names = [name for words in rows or [] for name in words.replace(" ", ",").split(",") if name]
        chosen = choose(experiment, names)
        count = RUNS[tier] if runs is None else runs
        if count < 1:
            raise ConfigError(f"--runs {runs} is too few: it must be 1 or more.")
        check_workers(ray, workers, alone=True)

        from deepbass.bench.results import Results
        from deepbass.bench.runner import Audience, run_matrix
        from deepbass.cli.display_matrix import MatrixDisplay, finish_matrix
        from deepbass.paper.results_page import write_matrix_report
        from deepbass.runs.interrupt import term_like_ctrl_c

        results = Results.make(out)
        try:
            with (
                term_like_ctrl_c(),
                cluster_or_none(ray, workers, alone=True) as cluster,
                MatrixDisplay(console()) as display,
            ):
                audience = Audience(display.on_progress, display.on_end, display.on_note)
                cells = plan(chosen, tier, count)
                crew = cluster.workers if cluster else workers or 1
                progress = run_matrix(cells, results, workers=crew, folder=folder, audience=audience, cluster=cluster)
        except KeyboardInterrupt:
            say("Stopped. Every finished iteration is saved; the same command goes on from there.")
            raise typer.Exit(INTERRUPTED) from None
        page, table = write_matrix_report(out)
        finish_matrix(progress, out, page, table, as_json)
