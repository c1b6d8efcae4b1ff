"""The labelling page. Its process never loads torch."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepbass.cli.annotator import annotator_name
from deepbass.cli.output import INTERRUPTED, Folder, Json, errors, print_json, say
from deepbass.cli.ray_option import Ray, Workers, check_cluster
from deepbass.cli.set_option import from_words
from deepbass.cli.shares import share
from deepbass.core.errors import ConfigError
from deepbass.core.own_model import is_code

if TYPE_CHECKING:
    from deepbass.label.project import Project
    from deepbass.web.server import Ready


def label(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="What to label: a folder or table of images or texts, a table of rows, arrays, digits, mnist or "
            "fashion-mnist; or a project's directory, to go on with it.",
        ),
    ],
    classes: Annotated[
        str | None,
        typer.Option(help="Their names, as in --classes cat,dog. (default: the subfolders; more on the page)"),
    ] = None,
    text: Annotated[
        str | None, typer.Option(help="The column that holds the texts, of a table (CSV, JSON Lines, Parquet).")
    ] = None,
    target: Annotated[str | None, typer.Option(help="The column that holds labels, where some are known.")] = None,
    id_: Annotated[
        str | None,
        typer.Option("--id", help="The column that names the rows, each once. (default: their place, as in row 12)"),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(help="Columns to see beside a text, or of a row, as in --show title,date. (default: none; all)"),
    ] = None,
    project: Annotated[
        Path | None, typer.Option(help="The project's directory. (default: labels/NAME, after the source)")
    ] = None,
    moved: Annotated[
        str | None, typer.Option("--source", help="Where the data of a project is now, if it has moved.")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="(default: the first free one from 8484)")] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
    target_error: Annotated[
        str | None, typer.Option(help="The error that is good enough, as in 2%, or none. (default: 2%)")
    ] = None,
    audit: Annotated[
        str | None, typer.Option(help="Share of questions drawn at random, to measure the error. (default: 10%)")
    ] = None,
    twice: Annotated[
        str | None, typer.Option(help="Share of items that a second person is asked about. (default: 0%)")
    ] = None,
    annotator: Annotated[
        str | None, typer.Option(help="Whose answers they are, where nobody logs in. (default: your login name)")
    ] = None,
    start_with: Annotated[
        int | None, typer.Option(help="Labels of every class before training starts. (default: 3)")
    ] = None,
    lease: Annotated[
        float | None, typer.Option(help="Seconds that an item stays with whom it was handed out to. (default: 600)")
    ] = None,
    ahead: Annotated[
        int | None,
        typer.Option(
            help="Items that a page holds ahead, to go on without a connection. (default: 6; more on the page)"
        ),
    ] = None,
    acquire: Annotated[
        str | None,
        typer.Option(
            help="Which items it asks about first: max-entropy (least certain), margin, random... (default: what suits)"
        ),
    ] = None,
    admit: Annotated[
        str | None,
        typer.Option(
            help="Which of its guesses it learns from: all-data, step-wise (sure ones) or none. (default: what suits)"
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Every random draw derives from it. (default: drawn when the project is made)")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="The network: auto, cnn, mlp, or your own as file.py:function, named at every start."),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            help="What the network sees: auto, pixels, imagenet, imagenet-depths, sentences, words, sentences-words, "
            "table, series, or your own as file.py:function, named at every start. (default: auto)"
        ),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Any other setting of the training, as in --set batch_size=32.")
    ] = None,
    ray: Ray = None,
    workers: Workers = None,
    certfile: Annotated[Path | None, typer.Option(help="A TLS certificate, for other machines (PEM).")] = None,
    keyfile: Annotated[Path | None, typer.Option(help="The certificate's key (PEM).")] = None,
    insecure_http: Annotated[
        bool, typer.Option("--insecure-http", help="Let other machines in without TLS: passwords can be read.")
    ] = False,
    name: Annotated[
        list[str] | None, typer.Option("--name", help="Another name by which people reach this machine.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Tell of every request.")] = False,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Open a page on which people label images, texts or rows by keyboard while a model learns from them."""
    with errors(as_json):
        need_web()
        check_cluster(ray, workers)
        config = {**_config(set_ or [], model, features), **_given(text=text, target=target, id=id_)}
        settings = _given(
            audit=share("--audit", audit),
            twice=share("--twice", twice),
            start_with=start_with,
            lease_seconds=lease,
            ahead=ahead,
            acquire=acquire,
            admit=admit,
            seed=seed,
            show=_names(show) if show is not None else None,
            config=config or None,
        )
        if target_error is not None:
            none = target_error.strip().lower() == "none"
            settings["target_error"] = None if none else share("--target-error", target_error)
        from deepbass.web.server import Address, check_address, listen, serve

        address = Address(host, port, certfile, keyfile, insecure_http, tuple(name or ()))
        check_address(address)
        try:
            with listen(address) as listening:  # before all that takes time: a port in use is said at once
                from deepbass.label.opening import open_project

                _log(verbose)
                who = annotator_name(annotator)

                with open_project(source, project, _names(classes), settings, moved=moved, data=folder) as opened:

                    def on_ready(ready: Ready) -> None:
                        _tell(ready, opened.project.kind, as_json)

                    for note in opened.items.notes:
                        say(f"Note: {note}", style="yellow")
                    _tell_target(opened.project)
                    serve(
                        opened.project,
                        opened.items,
                        listening,
                        address,
                        annotator=who,
                        lock=opened.lock,
                        browser=not no_browser,
                        data=folder,
                        named_model=config.get("model"),
                        named_features=config.get("features"),
                        ray=ray,
                        workers=workers,
                        on_ready=on_ready,
                    )
        except KeyboardInterrupt:  # before there was a server to end
            raise typer.Exit(INTERRUPTED) from None
        again = shlex.quote(str(opened.project.path))
        for code in ("model", "features"):
            if is_code(config.get(code)):
                again += f" --{code} {shlex.quote(config[code])}"
        say(f"Stopped. Every answer is saved; go on with: deepbass label {again}")


def _config(words: list[str], model: str | None, features: str | None) -> dict[str, Any]:
    """Collect the settings of the training; files of code are named by their whole path, for the next start."""
    from deepbass.runs.configure import whole_reference

    config = {**from_words(words), **_given(model=model, features=features)}
    for code in ("model", "features"):
        if isinstance(config.get(code), str):
            config[code] = whole_reference(config[code])
    return config


def need_web() -> None:
    """Say how to get what the page needs, where it is missing."""
    missing = [name for name in ("itsdangerous", "starlette", "uvicorn", "PIL") if find_spec(name) is None]
    if missing:
        raise ConfigError(f"The page needs {' and '.join(missing)}: pip install 'deepbass[web]'")


def _tell(ready: Ready, kind: str, as_json: bool) -> None:
    from deepbass.label.phrases import listed, number_of

    if as_json:
        print_json({"url": ready.url, "project": str(ready.project)})
        sys.stdout.flush()
    if ready.labels_brought:
        say(f"{ready.labels_brought:,} labels came with the {kind}s.")
    if ready.left_out:
        say(f"Labels of the {kind}s that are none of the classes: {', '.join(ready.left_out)}", style="yellow")
    if ready.replaced:
        say(
            f"{number_of(len(ready.replaced), kind)} with a label changed since the project was last opened, and "
            f"{'its label stays' if len(ready.replaced) == 1 else 'their labels stay'}: {listed(ready.replaced, 5)}. "
            "Look at them again under Answers.",
            style="yellow",
        )
    say(f"Project: {ready.project}")
    say(f"Page: {ready.url}", style="bold green")
    say("Ctrl-C ends it.")


def _tell_target(project: Project) -> None:
    """Say what the target takes before anybody begins to work for it."""
    from deepbass.label.worth import way_to_target

    if any(project.models.iterdir()):
        return  # the page says how far it is
    way = way_to_target(
        [], None, project.settings, reserve=len(project.audit_reserve()), seconds=None, kind=project.kind
    )
    if way:
        say(way)


def _log(verbose: bool) -> None:
    import logging

    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(message)s", level=logging.WARNING)
    if verbose:
        logging.getLogger("deepbass.web.access").setLevel(logging.INFO)


def _given(**settings: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _names(words: str | None) -> list[str]:
    return [name.strip() for name in (words or "").split(",") if name.strip()]
