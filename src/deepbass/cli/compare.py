"""The default against plain methods, on anybody's data."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepbass.cli.output import INTERRUPTED, Folder, Json, console, errors, say
from deepbass.cli.ray_option import Ray, SideBySide, cluster_or_none
from deepbass.cli.set_option import from_words
from deepbass.core.errors import ConfigError

if TYPE_CHECKING:
    from deepbass.bench.cells import Cell, CellResult
    from deepbass.bench.progress import MatrixProgress
    from deepbass.bench.results import Results
    from deepbass.cluster.connection import Cluster
    from deepbass.compare.plan import Comparison, DataFacts
    from deepbass.compare.standing import Outcome


def compare(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="toy, digits, mnist, fashion-mnist, or a path to your own data.")
    ],
    labels: Annotated[
        str, typer.Option(help="Numbers of labels to compare with, every one counted, as in --labels 50,100,300.")
    ] = "50,100,300",
    methods: Annotated[
        list[str] | None,
        typer.Option(help="Only some methods, as in --methods logistic-regression,supervised,deepbass."),
    ] = None,
    runs: Annotated[int, typer.Option(help="Runs of each method, every one with a seed of its own.")] = 5,
    workers: SideBySide = None,
    ray: Ray = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder of results, if not compare-DATA; what it holds is not run again.")
    ] = None,
    redo: Annotated[
        list[str] | None, typer.Option(help="Methods to run again although they are finished, as in --redo deepbass.")
    ] = None,
    features: Annotated[
        str | None, typer.Option(help="What all methods see of a sample: as in deepbass run.", show_default=False)
    ] = None,
    pool: Annotated[int | None, typer.Option(help="Use only so many training samples, drawn by seed.")] = None,
    validation: Annotated[
        str | None, typer.Option(help="Share held out where the data brings no validation part, as in 20%.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Column of a table that holds the texts to learn from.")] = None,
    target: Annotated[str | None, typer.Option(help="Column of a table that holds the labels.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the first run; the next has the next.")] = 0,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the default method as name=value, as in run --set.")
    ] = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Is it worth it on your data? Hold the default against plain methods. Goes on where it was stopped."""
    with errors(as_json):
        from deepbass.cluster.address import check_workers
        from deepbass.compare.methods import check_method

        given = {"features": features, "pool": pool, "validation": validation, "text": text, "target": target}
        named = {name: value for name, value in given.items() if value is not None}
        wanted, again = _names(methods), _names(redo)
        for name in wanted + again:
            check_method(name)
        if runs < 1:
            raise ConfigError(f"--runs {runs} is too few: it must be 1 or more.")
        check_workers(ray, workers, alone=True)
        if seed < 0:
            raise ConfigError(f"--seed {seed} must be 0 or more.")

        from deepbass.bench.results import COMPARE, Results
        from deepbass.compare.compare_page import write_comparison
        from deepbass.compare.methods import choose_methods
        from deepbass.compare.plan import file_name, make_plan, read_budgets, read_settings, with_methods
        from deepbass.compare.standing import read_outcome
        from deepbass.data.catalogue import NAMED
        from deepbass.data.source import name_of

        budgets = read_budgets(labels)
        settings = read_settings({**from_words(set_ or []), **named})
        name = data if data in NAMED else name_of(Path(data).expanduser())
        where = out or Path(f"compare-{file_name(name)}")
        with _stoppable(), cluster_or_none(ray, workers, alone=True) as cluster, _features_on(cluster):
            if cluster and data not in NAMED:
                cluster.can_see([data])
            facts = _look(data, settings, seed, folder)
            chosen = choose_methods(wanted, facts.pool)
            plan = make_plan(data, facts, budgets, chosen, runs, seed, settings)
            for note in plan.notes:
                say(note, style="yellow")
            if not wanted and len(chosen) < _all_methods():
                say("The paper's preset would take hours on this pool: name it in --methods to have it compared.")
            results = Results.make(where, COMPARE)
            results.keep_plan(with_methods(plan, results.about.get("plan")).as_dict())
            _forget(plan, results, again)
            _compute_features(plan, results, folder)
            progress = _run(plan, results, cluster.workers if cluster else workers or 1, folder, cluster)
        outcome = read_outcome(results)
        page, table = write_comparison(where, outcome)
        _finish(progress, outcome, where, page, table, as_json)


@contextmanager
def _features_on(cluster: Cluster | None) -> Iterator[None]:
    """Let features be computed on the cluster, if there is one."""
    if cluster is None:
        yield
        return
    from deepbass.cluster.feature_tasks import features_on

    with features_on(cluster):
        yield


def _names(words: list[str] | None) -> list[str]:
    return [name for word in words or [] for name in word.replace(" ", ",").split(",") if name]


def _all_methods() -> int:
    from deepbass.compare.methods import METHODS

    return len(METHODS)


@contextmanager
def _stoppable() -> Iterator[None]:
    """Say on Ctrl-C how to go on."""
    from deepbass.runs.interrupt import term_like_ctrl_c

    try:
        with term_like_ctrl_c():
            yield
    except KeyboardInterrupt:
        say("Stopped. Every finished cell is saved; the same command goes on from there.")
        raise typer.Exit(INTERRUPTED) from None


def _look(data: str, settings: dict[str, Any], seed: int, folder: Path | None) -> DataFacts:
    """Load the data once, with a word on what takes long."""
    from deepbass.compare.plan import look_at_data

    told = -1.0

    def on_progress(what: str, share: float) -> None:
        nonlocal told
        if share - told >= 0.1:
            told = share
            say(f"{what}: {share:.0%}", style="dim")

    bars = sys.stderr.isatty()
    return look_at_data(data, settings, seed, folder=folder, progress=bars, on_progress=on_progress)


def _compute_features(plan: Comparison, results: Results, folder: Path | None) -> None:
    """Compute what later runs will see of a pool drawn by seed, here and with all cores, not in every cell."""
    if plan.features == "pixels" or "pool" not in plan.settings:
        return  # there is nothing to compute, or the first run sees all there is
    done = {cell.run for cell in plan.cells() if (record := results.read(cell)) is not None and record.finished}
    for run in range(1, plan.runs):
        if run not in done:
            _look(plan.source, dict(plan.settings), plan.seed + run, folder)


def _forget(plan: Comparison, results: Results, again: list[str]) -> None:
    """Take back what is to be run again."""
    for cell in plan.cells():
        if cell.row in again:
            results.file(cell).unlink(missing_ok=True)


def _run(
    plan: Comparison, results: Results, workers: int, folder: Path | None, cluster: Cluster | None
) -> MatrixProgress:
    from shutil import rmtree

    from deepbass.bench.runner import Audience, run_matrix
    from deepbass.cli.display_matrix import MatrixDisplay
    from deepbass.compare.plan import cost_of, same_process

    with MatrixDisplay(console()) as display:

        def on_end(cell: Cell, record: CellResult) -> None:
            if record.finished:  # its result is on the disk, so the run is not needed any more
                rmtree(results.work(cell), ignore_errors=True)
            display.on_end(cell, record)

        return run_matrix(
            plan.cells(),
            results,
            workers=workers,
            folder=folder,
            audience=Audience(display.on_progress, on_end, display.on_note),
            worker="deepbass.compare.compare_worker",
            cost=cost_of,
            together=same_process,
            cluster=cluster,
        )


def _finish(progress: MatrixProgress, outcome: Outcome, where: Path, page: Path, table: Path, as_json: bool) -> None:
    from deepbass.bench.text_table import plain_text
    from deepbass.cli.display_matrix import finish_matrix
    from deepbass.compare.compare_tables import as_plain_values, headline, worth

    for each in worth(outcome):
        say(plain_text(each))
    say(f"{headline(outcome)}.", style="bold")
    finish_matrix(progress, where, page, table, as_json, as_plain_values(outcome))
