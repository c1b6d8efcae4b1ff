"""Labels that leave a project, and labels that come into it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deepbass.cli.annotator import annotator_name
from deepbass.cli.output import Folder, Json, errors, print_json, say
from deepbass.cli.shares import share

ProjectDir = Annotated[Path, typer.Argument(help="The project's directory.", metavar="DIR")]

_ENDINGS = {
    "csv": ".csv",
    "jsonl": ".jsonl",
    "label-studio": "-label-studio.json",
    "imagefolder": "-images",
    "textfolder": "-texts",
    "textfiles": "-by-class",
    "model": "-model",
}


def export(
    path: ProjectDir,
    format_: Annotated[
        str, typer.Option("--format", help="csv, jsonl, imagefolder, textfolder, textfiles, label-studio or model.")
    ] = "csv",
    out: Annotated[Path | None, typer.Option(help="The file or folder. (default: named after the project)")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier export.")] = False,
    guesses: Annotated[
        str | None,
        typer.Option(help="How sure the model must be for its guess to count as a label, or none. (default: 0.95)"),
    ] = None,
    no_pseudo: Annotated[bool, typer.Option("--no-pseudo", hidden=True)] = False,  # as --guesses none
    link: Annotated[bool, typer.Option("--link", help="Image folders: hard links instead of copies.")] = False,
    url_prefix: Annotated[
        str | None, typer.Option(help="Label Studio: what the addresses of images begin with.")
    ] = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Take the labels or the model elsewhere; the page may stay open."""
    with errors(as_json):
        from deepbass.core.config import one_of
        from deepbass.exchange.exports import FORMATS
        from deepbass.exchange.exports import export as write
        from deepbass.label.project import Project

        one_of("format", format_, FORMATS)
        project = Project.open(path)
        target = out or Path(f"{project.path.name}{_ENDINGS[format_]}")
        made = write(
            project,
            format_,
            target,
            force=force,
            guesses=None if no_pseudo else _threshold(guesses),
            link=link,
            url_prefix=url_prefix,
            folder=folder,
        )
        for note in made.notes:
            say(f"Note: {note}", style="yellow")
        what = "model" if format_ == "model" else f"{made.labels:,} labels by people, {made.guesses:,} by the model"
        say(f"Written: {made.path} ({what})", style="bold green")
        if as_json:
            print_json(
                {
                    "path": str(made.path),
                    "format": format_,
                    "labels": made.labels,
                    "guesses": made.guesses,
                    "notes": list(made.notes),
                }
            )


def import_(
    path: ProjectDir,
    file: Annotated[Path, typer.Argument(help="CSV, JSON Lines of ours, or Label Studio's JSON.", metavar="FILE")],
    annotator: Annotated[
        str | None, typer.Option(help="Whose labels they are, where the file does not say. (default: your login name)")
    ] = None,
    add_classes: Annotated[
        bool, typer.Option("--add-classes", help="Add classes that the project does not have yet.")
    ] = False,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Leave out items that the project does not have.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Bring labels in from elsewhere: all of a file, or nothing. The page must be closed."""
    with errors(as_json):
        from deepbass.exchange.imports import import_labels
        from deepbass.label.project import Project

        project = Project.open(path)
        done = import_labels(
            project, file, annotator_name(annotator), add_classes=add_classes, skip_unknown=skip_unknown
        )
        there = f", {done.there:,} were there already" if done.there else ""
        say(f"{done.added:,} labels added{there}.", style="bold green")
        if done.replaced:
            say(f"{done.replaced:,} of them take the place of other answers by the same people.")
        if done.new_classes:
            say(f"New classes: {', '.join(done.new_classes)}")
        if done.unknown:
            say(
                f"{len(done.unknown):,} rows are of no {project.kind} of this project and were left out.",
                style="yellow",
            )
        if done.skipped:
            counts = ", ".join(f"{count:,} {kind}" for kind, count in done.skipped.items())
            say(f"Left out, being no labels by people: {counts}")
        if as_json:
            print_json(
                {
                    "added": done.added,
                    "there": done.there,
                    "replaced": done.replaced,
                    "new_classes": list(done.new_classes),
                    "unknown": list(done.unknown),
                    "skipped": done.skipped,
                }
            )


def _threshold(word: str | None) -> float | None:
    """Read how sure the model must be; None: its guesses do not count."""
    from deepbass.label.guesses import THRESHOLD

    if word is None:
        return THRESHOLD
    return None if word.strip().lower() == "none" else share("--guesses", word)
