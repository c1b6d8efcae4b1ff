"""The labelling page. Its process never loads torch."""

from __future__ import annotations

import re
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepbass.cli.output import INTERRUPTED, Folder, Json, errors, print_json, say
from deepbass.cli.whose import annotator_name
from deepbass.cli.words import from_words
from deepbass.core.errors import ConfigError

if TYPE_CHECKING:
    from deepbass.web.serve import Ready


def label(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="What to label: a folder or table of images, arrays, digits, mnist or fashion-mnist; or a project's "
            "directory, to go on with it.",
        ),
    ],
    classes: Annotated[
        str | None,
        typer.Option(help="Their names, as in --classes cat,dog. [default: the subfolders; more on the page]"),
    ] = None,
    project: Annotated[
        Path | None, typer.Option(help="The project's directory. [default: labels/NAME, after the source]")
    ] = None,
    moved: Annotated[
        str | None, typer.Option("--source", help="Where the images of a project are now, if they have moved.")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="[default: the first free one from 8484]")] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
    target_error: Annotated[
        str | None, typer.Option(help="The error that is good enough, as in 2%, or none. [default: 2%]")
    ] = None,
    audit: Annotated[
        str | None, typer.Option(help="Share of questions drawn at random, to measure the error. [default: 10%]")
    ] = None,
    twice: Annotated[
        str | None, typer.Option(help="Share of images that a second person is asked about. [default: 0%]")
    ] = None,
    annotator: Annotated[
        str | None, typer.Option(help="Whose answers they are, where nobody logs in. [default: your login name]")
    ] = None,
    start_with: Annotated[
        int | None, typer.Option(help="Labels of every class before training starts. [default: 3]")
    ] = None,
    lease: Annotated[
        float | None, typer.Option(help="Seconds that an image stays with whom it was handed out to. [default: 600]")
    ] = None,
    acquire: Annotated[
        str | None, typer.Option(help="What the model asks for, as in deepbass run. [default: max-entropy]")
    ] = None,
    admit: Annotated[
        str | None, typer.Option(help="Which pseudo-labels it trains on, as in deepbass run. [default: all-data]")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Every random draw derives from it. [default: 0]")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Any other setting of the training, as in --set batch_size=32.")
    ] = None,
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
    """Open a page on which people label images by keyboard while a model learns from them."""
    with errors(as_json):
        need_web()
        settings = _given(
            audit=_share("--audit", audit),
            twice=_share("--twice", twice),
            start_with=start_with,
            lease_seconds=lease,
            acquire=acquire,
            admit=admit,
            seed=seed,
            config=from_words(set_ or []) or None,
        )
        if target_error is not None:
            none = target_error.strip().lower() == "none"
            settings["target_error"] = None if none else _share("--target-error", target_error)
        from deepbass.web.door import Door, check_door, listen

        door = Door(host, port, certfile, keyfile, insecure_http, tuple(name or ()))
        check_door(door)
        try:
            with listen(door) as listening:  # before all that takes time: a port in use is said at once
                from deepbass.web.opening import open_project
                from deepbass.web.serve import serve

                _log(verbose)
                found, items = open_project(source, project, _names(classes), settings, moved=moved, data=folder)
                for note in items.notes:
                    say(f"Note: {note}", style="yellow")

                def on_ready(ready: Ready) -> None:
                    _tell(ready, as_json)

                who = annotator_name(annotator)
                serve(
                    found,
                    items,
                    listening,
                    door,
                    annotator=who,
                    browser=not no_browser,
                    data=folder,
                    on_ready=on_ready,
                )
        except KeyboardInterrupt:  # before there was a server to end
            raise typer.Exit(INTERRUPTED) from None
        again = shlex.quote(str(found.path))
        say(f"Stopped. Every answer is saved; go on with: deepbass label {again}")


def need_web() -> None:
    """Say how to get what the page needs, where it is missing."""
    missing = [name for name in ("starlette", "uvicorn", "PIL") if find_spec(name) is None]
    if missing:
        raise ConfigError(f"The page needs {' and '.join(missing)}: pip install 'deepbass[web]'")


def _tell(ready: Ready, as_json: bool) -> None:
    if as_json:
        print_json({"url": ready.url, "project": str(ready.project)})
        sys.stdout.flush()
    if ready.labels_brought:
        say(f"{ready.labels_brought:,} labels came with the images.")
    if ready.left_out:
        say(f"Labels of the images that are none of the classes: {', '.join(ready.left_out)}", style="yellow")
    say(f"Project: {ready.project}")
    say(f"Page: {ready.url}", style="bold green")
    say("Ctrl-C ends it.")


def _log(verbose: bool) -> None:
    import logging

    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(message)s", level=logging.WARNING)
    if verbose:
        logging.getLogger("deepbass.web.access").setLevel(logging.INFO)


def _given(**settings: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _names(classes: str | None) -> list[str]:
    return [name.strip() for name in (classes or "").split(",") if name.strip()]


def _share(option: str, word: str | None) -> float | None:
    """Read a share, as in 2% or 0.02."""
    if word is None:
        return None
    number = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*", word)
    if number is None:
        raise ConfigError(f"{option} {word!r} is not a share: write 2% or 0.02.")
    return float(number[1]) / (100 if number[2] else 1)
