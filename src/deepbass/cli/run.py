"""Run, and go on with a run."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deepbass.cli.output import INTERRUPTED, Folder, Json, console, errors, print_json, say
from deepbass.cli.words import from_words
from deepbass.core.errors import ConfigError, DeepBassError

if TYPE_CHECKING:
    from deepbass.session.session import Result, Watch


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
    with errors(as_json):
        from deepbass.session.settings import configure, from_toml

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


def resume(
    path: Annotated[Path, typer.Argument(help="The run's directory.", metavar="DIR")],
    source: Annotated[str | None, typer.Option(help="Where the data is now, if it has moved.")] = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Go on with a run that was stopped or killed, to the same end as if it never had been."""
    with errors(as_json):
        from deepbass.session.api import resume as go_on
        from deepbass.store.rundir import RunDir

        with RunDir.open(path, lock=False) as run_dir:
            iterations = run_dir.about["config"]["iterations"]
        with _watched(iterations, path) as watch:
            result = go_on(path, source, folder=folder, watch=watch)
        _finish(result, as_json)


@contextmanager
def _watched(iterations: int, path: Path) -> Iterator[Watch]:
    """Show the run's progress, and say on Ctrl-C how to go on."""
    from deepbass.cli.display import Display
    from deepbass.learn.memory import keep_freed_memory
    from deepbass.session.interrupt import term_like_ctrl_c
    from deepbass.session.session import Watch

    keep_freed_memory()
    try:
        with term_like_ctrl_c(), Display(console(), iterations) as display:
            yield Watch(display.on_progress, display.on_metrics, display.on_note, bars=sys.stderr.isatty())
    except KeyboardInterrupt:
        if (path / "run.json").exists():
            say(f"Stopped. Every finished iteration is saved; go on with: deepbass resume {shlex.quote(str(path))}")
        raise typer.Exit(INTERRUPTED) from None


def _finish(result: Result, as_json: bool) -> None:
    from deepbass.report import write_report

    final = result.history[-1]
    page: Path | None = None
    try:
        page = write_report(result.path)
    except DeepBassError as error:  # the run is done and safe; only the page is missing
        say(str(error), style="yellow")
    say(
        f"Validation accuracy {result.accuracy:.2%} with {final['known']:,} labels ({result.ended}).",
        style="bold green",
    )
    say(f"Run: {result.path}")
    if page:
        say(f"Report: {page}")
    if as_json:
        print_json(
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
