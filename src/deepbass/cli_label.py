"""The commands with people in them: label, export, import, people. Nothing heavy is imported before a call."""

from __future__ import annotations

import re
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepbass.core.errors import ConfigError

if TYPE_CHECKING:
    from deepbass.label.project import Project
    from deepbass.web.serve import Ready

people_app = typer.Typer(help="Who may log in to a project's page: add, remove, list.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print one machine-readable object on standard output.")]
Folder = Annotated[
    Path | None, typer.Option("--data", help="A folder that may hold MNIST's files already. Also: DEEPBASS_DATA.")
]
ProjectDir = Annotated[Path, typer.Argument(help="The project's directory.", metavar="DIR")]

_ENDINGS = {
    "csv": ".csv",
    "jsonl": ".jsonl",
    "label-studio": "-label-studio.json",
    "imagefolder": "-images",
    "model": "-model",
}
_INTERRUPTED = 130


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(label)
    app.command()(export)
    app.command("import")(import_)
    app.add_typer(people_app, name="people")


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
    from deepbass.cli import _errors, _say

    with _errors(as_json):
        need_web()
        settings = _given(
            audit=_share("--audit", audit),
            twice=_share("--twice", twice),
            start_with=start_with,
            lease_seconds=lease,
            acquire=acquire,
            admit=admit,
            seed=seed,
            config=_words(set_),
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
                    _say(f"Note: {note}", style="yellow")

                def on_ready(ready: Ready) -> None:
                    _tell(ready, as_json)

                who = _annotator(annotator)
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
            raise typer.Exit(_INTERRUPTED) from None
        again = shlex.quote(str(found.path))
        _say(f"Stopped. Every answer is saved; go on with: deepbass label {again}")


def export(
    path: ProjectDir,
    format_: Annotated[str, typer.Option("--format", help="csv, jsonl, imagefolder, label-studio or model.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="The file or folder. [default: named after the project]")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier export.")] = False,
    no_pseudo: Annotated[
        bool, typer.Option("--no-pseudo", help="Leave out labels that the model gave itself.")
    ] = False,
    link: Annotated[bool, typer.Option("--link", help="Image folders: hard links instead of copies.")] = False,
    url_prefix: Annotated[
        str | None, typer.Option(help="Label Studio: what the addresses of images begin with.")
    ] = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Take the labels or the model elsewhere; the page may stay open."""
    from deepbass.cli import _errors, _print_json, _say

    with _errors(as_json):
        from deepbass.core.config import one_of
        from deepbass.label.exports import FORMATS
        from deepbass.label.exports import export as write

        one_of("format", format_, FORMATS)
        project = _open(path)
        target = out or Path(f"{project.path.name}{_ENDINGS[format_]}")
        made = write(
            project,
            format_,
            target,
            force=force,
            pseudo=not no_pseudo,
            link=link,
            url_prefix=url_prefix,
            folder=folder,
        )
        for note in made.notes:
            _say(f"Note: {note}", style="yellow")
        what = "model" if format_ == "model" else f"{made.labels:,} labels by people, {made.pseudo:,} by the model"
        _say(f"Written: {made.path} ({what})", style="bold green")
        if as_json:
            _print_json({"path": str(made.path), "format": format_, "labels": made.labels, "pseudo": made.pseudo})


def import_(
    path: ProjectDir,
    file: Annotated[Path, typer.Argument(help="CSV, JSON Lines of ours, or Label Studio's JSON.", metavar="FILE")],
    annotator: Annotated[
        str | None, typer.Option(help="Whose labels they are, where the file does not say. [default: your login name]")
    ] = None,
    add_classes: Annotated[
        bool, typer.Option("--add-classes", help="Add classes that the project does not have yet.")
    ] = False,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Leave out images that the project does not have.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Bring labels in from elsewhere: all of a file, or nothing. The page must be closed."""
    from deepbass.cli import _errors, _print_json, _say

    with _errors(as_json):
        from deepbass.label.imports import import_labels

        project = _open(path)
        done = import_labels(project, file, _annotator(annotator), add_classes=add_classes, skip_unknown=skip_unknown)
        there = f", {done.there:,} were there already" if done.there else ""
        _say(f"{done.added:,} labels added{there}.", style="bold green")
        if done.new_classes:
            _say(f"New classes: {', '.join(done.new_classes)}")
        if done.unknown:
            _say(f"{len(done.unknown):,} rows are of no image of this project and were left out.", style="yellow")
        if done.skipped:
            counts = ", ".join(f"{count:,} {kind}" for kind, count in done.skipped.items())
            _say(f"Left out, being no labels by people: {counts}")
        if as_json:
            _print_json(
                {
                    "added": done.added,
                    "there": done.there,
                    "new_classes": list(done.new_classes),
                    "unknown": list(done.unknown),
                    "skipped": done.skipped,
                }
            )


@people_app.command("add")
def people_add(
    path: ProjectDir,
    name: Annotated[str, typer.Argument(metavar="NAME")],
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input, one line.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Let somebody log in, or change their password. The page must be closed."""
    from deepbass.cli import _errors, _print_json, _say

    with _errors(as_json):
        from deepbass.label.names import clean_name
        from deepbass.label.passwords import hash_password
        from deepbass.label.project import SOURCE

        project = _open(path)
        name = clean_name(name, "a person")
        if name == SOURCE:
            raise ConfigError(f"Nobody can be called {name!r}: it stands for labels that the images bring along.")
        hashed = hash_password(_password(password_stdin))
        _set_person(project, name, hashed)
        _say(f"{name} can log in, from the next start of deepbass label on.")
        if as_json:
            _print_json({"name": name})


@people_app.command("remove")
def people_remove(
    path: ProjectDir, name: Annotated[str, typer.Argument(metavar="NAME")], as_json: Json = False
) -> None:
    """Let somebody log in no more; their answers stay. The page must be closed."""
    from deepbass.cli import _errors, _print_json, _say

    with _errors(as_json):
        from deepbass.label.names import clean_name

        project = _open(path)
        name = clean_name(name, "a person")
        if name not in _people(project):
            raise ConfigError(f"Nobody called {name!r} can log in to {path}: see deepbass people list.")
        _set_person(project, name, "")  # a hash that no password has
        _say(f"{name} can log in no more. Their answers stay.")
        if as_json:
            _print_json({"name": name})


@people_app.command("list")
def people_list(path: ProjectDir, as_json: Json = False) -> None:
    """List who may log in."""
    from deepbass.cli import _errors, _print_json

    with _errors(as_json):
        names = sorted(_people(_open(path)))
        if as_json:
            _print_json({"people": names})
        else:
            for name in names:
                typer.echo(name)


def need_web() -> None:
    """Say how to get what the page needs, where it is missing."""
    missing = [name for name in ("starlette", "uvicorn", "PIL") if find_spec(name) is None]
    if missing:
        raise ConfigError(f"The page needs {' and '.join(missing)}: pip install 'deepbass[web]'")


def _open(path: Path) -> Project:
    from deepbass.label.project import Project

    return Project.open(path)


def _people(project: Project) -> dict[str, str]:
    from deepbass.label.journal import Journal

    with Journal.open(project.labels_db, "ro") as journal:
        return {name: hashed for name, hashed in journal.people().items() if hashed}


def _set_person(project: Project, name: str, hashed: str) -> None:
    from deepbass.label.journal import Journal

    with project.lock(), Journal.open(project.labels_db) as journal:
        journal.set_person(name, hashed)


def _password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    password: str = typer.prompt("Password", hide_input=True, confirmation_prompt="The same again", err=True)
    return password


def _tell(ready: Ready, as_json: bool) -> None:
    from deepbass.cli import _print_json, _say

    if as_json:
        _print_json({"url": ready.url, "project": str(ready.project)})
        sys.stdout.flush()
    if ready.labels_brought:
        _say(f"{ready.labels_brought:,} labels came with the images.")
    if ready.left_out:
        _say(f"Labels of the images that are none of the classes: {', '.join(ready.left_out)}", style="yellow")
    _say(f"Project: {ready.project}")
    _say(f"Page: {ready.url}", style="bold green")
    _say("Ctrl-C ends it.")


def _log(verbose: bool) -> None:
    import logging

    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(message)s", level=logging.WARNING)
    if verbose:
        logging.getLogger("deepbass.web.access").setLevel(logging.INFO)


def _annotator(given: str | None) -> str:
    import getpass

    from deepbass.label.names import clean_name
    from deepbass.label.project import SOURCE

    if given is not None:
        name = clean_name(given, "a person")
        if name == SOURCE:
            raise ConfigError(f"--annotator {given!r}: this name stands for labels that the images bring along.")
        return name
    try:
        name = clean_name(getpass.getuser(), "a person")
    except Exception:  # no name, no entry for the user's number, no such table on this system
        return "me"
    return "me" if name == SOURCE else name


def _given(**settings: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _names(classes: str | None) -> list[str]:
    return [name.strip() for name in (classes or "").split(",") if name.strip()]


def _words(words: list[str] | None) -> dict[str, Any] | None:
    """Read settings as deepbass run does, but without torch, which the page's process never loads."""
    import tomllib

    settings: dict[str, Any] = {}
    for word in words or []:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"--set {word!r} must be written as name=value, as in --set learning_rate=0.0005.")
        try:
            settings[name.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            settings[name.strip()] = value.strip()
    return settings or None


def _share(option: str, word: str | None) -> float | None:
    """Read a share, as in 2% or 0.02."""
    if word is None:
        return None
    number = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*", word)
    if number is None:
        raise ConfigError(f"{option} {word!r} is not a share: write 2% or 0.02.")
    return float(number[1]) / (100 if number[2] else 1)
