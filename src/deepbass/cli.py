"""The command. Thin: torch and the rooms are imported inside the commands, so that --help is instant."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepbass import __version__, cli_label
from deepbass.core.errors import ConfigError, DeepBassError

if TYPE_CHECKING:
    from rich.console import Console

    from deepbass.session.session import Result, Watch

app = typer.Typer(
    help="Label a few hundred samples and get the model that labelling everything would have given.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
data_app = typer.Typer(help="Data sets known by name: list them, fetch them, find them.", no_args_is_help=True)
app.add_typer(data_app, name="data")

_INTERRUPTED = 130  # what a shell expects after Ctrl-C

Json = Annotated[bool, typer.Option("--json", help="Print one machine-readable object last, on standard output.")]
Folder = Annotated[
    Path | None, typer.Option("--data", help="A folder that may hold MNIST's files already. Also: DEEPBASS_DATA.")
]


@app.command()
def run(
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="toy, digits, mnist, fashion-mnist, or a path to your own data."),
    ] = None,
    preset: Annotated[str | None, typer.Option(help="paper: its setting. quick: minutes instead of hours.")] = None,
    seed: Annotated[int | None, typer.Option(help="Every random draw derives from it.")] = None,
    iterations: Annotated[int | None, typer.Option(help="Iterations of Algorithm 1.")] = None,
    initial: Annotated[int | None, typer.Option(help="Labels known at the start, balanced over the classes.")] = None,
    ask_count: Annotated[int | None, typer.Option(help="Labels asked for at a time.")] = None,
    ask_every: Annotated[int | None, typer.Option(help="Iterations from one asking to the next.")] = None,
    budget: Annotated[int | None, typer.Option(help="Labels in all, after which none are asked for.")] = None,
    acquire: Annotated[
        str | None,
        typer.Option(
            help="What to ask for: max-entropy, above-average, above-quantile, bald, variation-ratios, "
            "least-confidence, margin, random or none."
        ),
    ] = None,
    admit: Annotated[
        str | None, typer.Option(help="Which pseudo-labels to train on: all-data, step-wise or none.")
    ] = None,
    passes_pool: Annotated[int | None, typer.Option(help="Dropout passes over the pool (T').")] = None,
    passes_known: Annotated[int | None, typer.Option(help="Dropout passes over the known labels (T).")] = None,
    model: Annotated[str | None, typer.Option(help="auto, cnn, mlp, or your own as file.py:function.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda or mps.")] = None,
    validation: Annotated[
        str | None, typer.Option(help="Share to hold out where the data has no validation part, as in 20%.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse unreadable images instead of skipping them.")
    ] = False,
    config: Annotated[Path | None, typer.Option(help="Settings from a TOML file; options given here win.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Any other setting, as in --set learning_rate=0.0005.")
    ] = None,
    folder: Folder = None,
    out: Annotated[Path | None, typer.Option(help="The run's directory. [default: runs/DATA-1, -2, ...]")] = None,
    as_json: Json = False,
) -> None:
    """Train with few labels: guess what is sure, ask for what is not, repeat."""
    given = {
        "seed": seed,
        "iterations": iterations,
        "initial": initial,
        "ask_count": ask_count,
        "ask_every": ask_every,
        "budget": budget,
        "acquire": acquire,
        "admit": admit,
        "passes_pool": passes_pool,
        "passes_known": passes_known,
        "model": model,
        "device": device,
        "validation": validation,
        "strict": strict or None,
    }
    with _errors(as_json):
        from deepbass.session.settings import configure, from_toml, from_words

        filed = from_toml(config) if config else {}
        source = data or filed.pop("data", None)
        chosen = preset or filed.pop("preset", "paper")
        filed = {name: value for name, value in filed.items() if name not in ("data", "preset")}
        if not isinstance(source, str):
            raise ConfigError(
                "Say what to learn from: deepbass run DATA, with toy, digits, mnist, fashion-mnist or a path."
            )
        options = {name: value for name, value in given.items() if value is not None}
        layers = (filed, from_words(set_ or []), options)
        settings = configure(source, chosen, *layers)

        from deepbass.session.api import free_directory, start

        where = out or free_directory(Path(source).expanduser().resolve().stem if os.sep in source else source)
        with _watched(settings.iterations, where) as watch:
            result = start(source, settings, out=where, folder=folder, watch=watch)
        _finish(result, as_json)


@app.command()
def resume(
    path: Annotated[Path, typer.Argument(help="The run's directory.", metavar="DIR")],
    source: Annotated[str | None, typer.Option(help="Where the data is now, if it has moved.")] = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Go on with a run that was stopped or killed, to the same end as if it never had been."""
    with _errors(as_json):
        from deepbass.session.api import resume as go_on
        from deepbass.store.rundir import RunDir

        with RunDir.open(path, lock=False) as run_dir:
            iterations = run_dir.about["config"]["iterations"]
        with _watched(iterations, path) as watch:
            result = go_on(path, source, folder=folder, watch=watch)
        _finish(result, as_json)


@app.command()
def reproduce(
    experiment: Annotated[
        str, typer.Argument(metavar="EXPERIMENT", help="toy, mnist, augmentation, no-mc or all: what to run again.")
    ],
    rows: Annotated[
        list[str] | None,
        typer.Option("--rows", help="Only some rows of its tables, as in --rows labels-100,labels-300."),
    ] = None,
    runs: Annotated[int | None, typer.Option(help="Runs of each row. [default: 10 in full, 5 in quick]")] = None,
    tier: Annotated[
        str, typer.Option(help="full: the paper's protocol. quick: a reduction, hours instead of days.")
    ] = "quick",
    workers: Annotated[int, typer.Option(help="Cells to run side by side, sharing the cores.")] = 1,
    folder: Folder = None,
    out: Annotated[Path, typer.Option(help="The folder of results; what it holds is not run again.")] = Path(
        "reproduction"
    ),
    as_json: Json = False,
) -> None:
    """Run the paper's experiments again and set the results beside the paper's. Goes on where it was stopped."""
    with _errors(as_json):
        from deepbass.core.config import one_of
        from deepbass.paper.rows import RUNS, TIERS, choose, plan

        one_of("tier", tier, TIERS)
        names = [name for words in rows or [] for name in words.replace(" ", ",").split(",") if name]
        chosen = choose(experiment, names)
        count = RUNS[tier] if runs is None else runs
        if count < 1:
            raise ConfigError(f"--runs {runs} is too few: it must be 1 or more.")

        from deepbass.display_matrix import MatrixDisplay
        from deepbass.paper.page import write_matrix_report
        from deepbass.paper.results import Results
        from deepbass.paper.runner import Audience, run_matrix
        from deepbass.session.interrupt import term_like_ctrl_c

        results = Results.make(out)
        try:
            with term_like_ctrl_c(), MatrixDisplay(_console()) as display:
                audience = Audience(display.on_progress, display.on_end, display.on_note)
                cells = plan(chosen, tier, count)
                progress = run_matrix(cells, results, workers=workers, folder=folder, audience=audience)
        except KeyboardInterrupt:
            _say("Stopped. Every finished iteration is saved; the same command goes on from there.")
            raise typer.Exit(_INTERRUPTED) from None
        page, table = write_matrix_report(out)
        done = progress.finished + progress.finished_before
        failed = f", {progress.failed} failed: the same command tries them again" if progress.failed else ""
        _say(f"{done} of {progress.cells} cells finished{failed}.", style="bold red" if failed else "bold green")
        _say(f"Report: {page}")
        _say(f"Tables: {table}")
        if as_json:
            _print_json(
                {
                    "path": str(out),
                    "report": str(page),
                    "tables": str(table),
                    "cells": progress.cells,
                    "finished": done,
                    "failed": progress.failed,
                }
            )
        if progress.failed:
            raise typer.Exit(1)


@app.command()
def report(
    path: Annotated[Path, typer.Argument(help="The directory of a run, or of deepbass reproduce.", metavar="DIR")],
    figures: Annotated[
        Path | None, typer.Option(help="Also write the figures as PNG and SVG into this folder.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the report of a run or of a reproduction, finished or not: one HTML page that needs nothing else."""
    with _errors(as_json):
        from deepbass.paper.results import is_results
        from deepbass.report import write_figures, write_report

        if is_results(path):
            _report_matrix(path, figures, as_json)
            return
        page = write_report(path)
        files = [str(file) for file in write_figures(path, figures)] if figures else []
        _say(f"Report: {page}")
        if as_json:
            _print_json({"report": str(page), "figures": files})


@data_app.command("list")
def data_list(as_json: Json = False) -> None:
    """List the data sets known by name."""
    with _errors(as_json):
        from deepbass.data import NAMED

        if as_json:
            _print_json({name: entry.description for name, entry in NAMED.items()})
        else:
            width = max(map(len, NAMED))
            for name, entry in NAMED.items():
                typer.echo(f"{name:<{width}}  {entry.description}")


@data_app.command("fetch")
def data_fetch(name: str, folder: Folder = None, as_json: Json = False) -> None:
    """Get the files of a data set and check them against their known digests."""
    with _errors(as_json):
        from deepbass.data import fetch

        files = [str(file) for file in fetch(name, folder=folder, progress=sys.stderr.isatty())]
        if as_json:
            _print_json({"name": name, "files": files})
        else:
            for file in files:
                typer.echo(file)


@data_app.command("where")
def data_where(name: str, folder: Folder = None, as_json: Json = False) -> None:
    """Tell where the files of a data set are, or would come from."""
    with _errors(as_json):
        from deepbass.data import where

        place = where(name, folder)
        files = {found.file.name: str(found.path) if found.path else None for found in place.files}
        if as_json:
            _print_json({"name": name, "source": place.source, "cache": str(place.cache), "files": files})
            return
        typer.echo(f"source  {place.source}")
        if files:
            typer.echo(f"cache   {place.cache}")
        for found in place.files:
            typer.echo(f"{'sound ' if found.path else 'absent'}  {found.path or found.file.name}")
            for reason in found.refused:
                typer.echo(f"refused {reason}")


cli_label.register(app)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"deepbass {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command."""
    app()


def _report_matrix(path: Path, figures: Path | None, as_json: bool) -> None:
    from deepbass.paper.figures import write_figures
    from deepbass.paper.page import write_matrix_report

    page, table = write_matrix_report(path)
    files = [str(file) for file in write_figures(path, figures)] if figures else []
    _say(f"Report: {page}")
    _say(f"Tables: {table}")
    if as_json:
        _print_json({"report": str(page), "tables": str(table), "figures": files})


@contextmanager
def _errors(as_json: bool) -> Iterator[None]:
    """Turn an error on purpose into a message and exit code 2; anything else is a bug and keeps its traceback."""
    try:
        yield
    except DeepBassError as error:
        if as_json:
            _print_json({"error": str(error), "kind": type(error).__name__})
        _say(f"Error: {error}", style="bold red")
        raise typer.Exit(2) from error


@contextmanager
def _watched(iterations: int, path: Path) -> Iterator[Watch]:
    """Show the run's progress, and say on Ctrl-C how to go on."""
    from deepbass.display import Display
    from deepbass.learn.memory import keep_freed_memory
    from deepbass.session.interrupt import term_like_ctrl_c
    from deepbass.session.session import Watch

    keep_freed_memory()
    try:
        with term_like_ctrl_c(), Display(_console(), iterations) as display:
            yield Watch(display.on_progress, display.on_metrics, display.on_note, bars=sys.stderr.isatty())
    except KeyboardInterrupt:
        if (path / "run.json").exists():
            _say(f"Stopped. Every finished iteration is saved; go on with: deepbass resume {shlex.quote(str(path))}")
        raise typer.Exit(_INTERRUPTED) from None


def _finish(result: Result, as_json: bool) -> None:
    from deepbass.report import write_report

    final = result.history[-1]
    page: Path | None = None
    try:
        page = write_report(result.path)
    except DeepBassError as error:  # the run is done and safe; only the page is missing
        _say(str(error), style="yellow")
    _say(
        f"Validation accuracy {result.accuracy:.2%} with {final['known']:,} labels ({result.ended}).",
        style="bold green",
    )
    _say(f"Run: {result.path}")
    if page:
        _say(f"Report: {page}")
    if as_json:
        _print_json(
            {
                "path": str(result.path),
                "report": str(page) if page else None,
                "accuracy": result.accuracy,
                "initial_accuracy": result.history[0]["validation_accuracy"],
                "labels": final["known"],
                "iterations": len(result.history) - 1,
                "ended": result.ended,
                "final": final,
            }
        )


def _console() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def _say(text: str, style: str = "") -> None:
    _console().print(text, style=style, soft_wrap=True, markup=False)


def _print_json(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(value))
