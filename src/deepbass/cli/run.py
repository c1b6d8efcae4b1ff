"""Run, and go on with a run."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepbass.cli.output import INTERRUPTED, Folder, Json, console, errors, print_json, say
from deepbass.cli.ray_option import Ray, Workers
from deepbass.cli.set_option import from_words
from deepbass.cli.setting_options import with_parts, with_settings
from deepbass.cluster.address import check_workers
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError, DeepBassError
from deepbass.core.own_parts import options_again
from deepbass.core.presets import AUTO

if TYPE_CHECKING:
    from deepbass.runs.lifecycle import Result, Watch
    from deepbass.runs.measure import Metrics


@with_settings
def run(
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="toy, digits, mnist, fashion-mnist, or a path to your own data."),
    ] = None,
    *,
    preset: Annotated[str | None, typer.Option(help="auto: what suits the data. paper: its setting.")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings from a TOML file; options given here win.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A setting as name=value, as in --set learning_rate=0.0005.")
    ] = None,
    folder: Folder = None,
    out: Annotated[Path | None, typer.Option(help="The run's directory, if not runs/DATA-1, -2, ...")] = None,
    ray: Ray = None,
    workers: Workers = None,
    as_json: Json = False,
    **settings: Any,
) -> None:
    """Train with few labels: guess what is sure, ask for what is not, repeat."""
    with errors(as_json):
        from deepbass.runs.configure import configure, from_toml

        filed = from_toml(config) if config else {}
        source = data or filed.pop("data", None)
        chosen = preset or filed.pop("preset", AUTO)
        filed = {name: value for name, value in filed.items() if name not in ("data", "preset")}
        if not isinstance(source, str):
            raise ConfigError(
                "Say what to learn from: deepbass run DATA, with toy, digits, mnist, fashion-mnist or a path."
            )
        options = {name: value for name, value in settings.items() if value is not None}
        layers = {**_plain(filed), **_plain(from_words(set_ or [])), **options}
        configured = configure(source, chosen, layers)

        from deepbass.api import free_directory
        from deepbass.api import run as go
        from deepbass.data.catalogue import NAMED
        from deepbass.data.source import name_of

        where = out or free_directory(source if source in NAMED else name_of(Path(source).expanduser()))
        with _watched(configured, where) as watch:
            result = go(source, preset=chosen, out=where, folder=folder, watch=watch, **_where(ray, workers), **layers)
        _finish(result, as_json)


@with_parts
def resume(
    path: Annotated[Path, typer.Argument(help="The run's directory.", metavar="DIR")],
    source: Annotated[str | None, typer.Option(help="Where the data is now, if it has moved.")] = None,
    folder: Folder = None,
    ray: Ray = None,
    workers: Workers = None,
    as_json: Json = False,
    **parts: Any,
) -> None:
    """Go on with a run that was stopped or killed, to the same end as if it never had been."""
    with errors(as_json):
        from deepbass.api import resume as go_on
        from deepbass.store.rundir import RunDir

        with RunDir.open(path, lock=False) as run_dir:
            configured = Config.of(run_dir.about["config"])
        with _watched(configured, path) as watch:
            result = go_on(path, source, folder=folder, watch=watch, **_where(ray, workers), **parts)
        _finish(result, as_json)


def _where(ray: str | None, workers: int | None) -> dict[str, Any]:
    """Say in Python's words which machines compute."""
    check_workers(ray, workers)
    return {} if ray is None else {"engine": "ray", "address": ray, "workers": workers}


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Name settings as the configuration does, so that a later layer finds what it overrides."""
    return {name.replace("-", "_"): value for name, value in settings.items()}


@contextmanager
def _watched(configured: Config, path: Path) -> Iterator[Watch]:
    """Show the run's progress, and say on Ctrl-C how to go on."""
    from deepbass.cli.display import Display
    from deepbass.learn.memory import keep_freed_memory
    from deepbass.runs.interrupt import term_like_ctrl_c
    from deepbass.runs.lifecycle import Watch
    from deepbass.store.names import RUN_FILE

    keep_freed_memory()
    try:
        with term_like_ctrl_c(), Display(console(), configured.iterations) as display:
            on = display
            seen = (on.on_progress, on.on_metrics, on.on_note, on.on_config, on.on_workers)
            yield Watch(*seen, bars=sys.stderr.isatty())
    except KeyboardInterrupt:
        if (path / RUN_FILE).exists():
            again = shlex.quote(str(path)) + options_again(configured.as_dict())
            say(f"Stopped. Every finished iteration is saved; go on with: deepbass resume {again}")
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
    for line in [*_beside(final, len(result.classes)), *result.worth]:
        say(line)
    say(f"Run: {result.path}")
    if page:
        say(f"Report: {page}")
    if as_json:
        print_json(
            {
                "path": str(result.path),
                "report": str(page) if page else None,
                "accuracy": result.accuracy,
                **{name: final.get(name) for name in ("commonest", "balanced_accuracy", "macro_f1", "plain_accuracy")},
                "worth": result.worth,
                "initial_accuracy": result.history[0]["validation_accuracy"],
                "labels": final["known"],
                "iterations": len(result.history) - 1,
                "ended": result.ended,
                "final": final,
            }
        )


def _beside(final: Metrics, classes: int) -> list[str]:
    """Say what always guessing the commonest class would reach, and how the classes fare where it is most of them."""
    from deepbass.core.quality import is_uneven

    # runs of earlier versions measured less
    commonest, balanced, macro_f1 = final.get("commonest"), final.get("balanced_accuracy"), final.get("macro_f1")
    if commonest is None:
        return []
    lines = [f"Always guessing the commonest class: {commonest:.2%}."]
    if is_uneven(commonest, classes) and balanced is not None and macro_f1 is not None:
        lines.append(f"The classes are uneven: balanced accuracy {balanced:.2%}, macro F1 {macro_f1:.3f}.")
    return lines
