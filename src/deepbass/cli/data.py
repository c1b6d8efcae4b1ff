"""Data sets that are known by name."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from deepbass.cli.output import Folder, Json, errors, print_json

data_app = typer.Typer(help="Data sets known by name: list them, fetch them, find them.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="NAME", help="A data set, as deepbass data list tells them.")]


@data_app.command("list")
def data_list(as_json: Json = False) -> None:
    """List the data sets known by name."""
    with errors(as_json):
        from deepbass.data import NAMED

        if as_json:
            print_json({name: entry.description for name, entry in NAMED.items()})
        else:
            width = max(map(len, NAMED))
            for name, entry in NAMED.items():
                typer.echo(f"{name:<{width}}  {entry.description}")


@data_app.command("fetch")
def data_fetch(name: Name, folder: Folder = None, as_json: Json = False) -> None:
    """Get the files of a data set and check them against their known digests."""
    with errors(as_json):
        from deepbass.data import fetch

        files = [str(file) for file in fetch(name, folder=folder, progress=sys.stderr.isatty())]
        if as_json:
            print_json({"name": name, "files": files})
        else:
            for file in files:
                typer.echo(file)


@data_app.command("where")
def data_where(name: Name, folder: Folder = None, as_json: Json = False) -> None:
    """Tell where the files of a data set are, or would come from."""
    with errors(as_json):
        from deepbass.data import where

        place = where(name, folder)
        files = {found.file.name: str(found.path) if found.path else None for found in place.files}
        if as_json:
            print_json({"name": name, "source": place.source, "cache": str(place.cache), "files": files})
            return
        typer.echo(f"source  {place.source}")
        if files:
            typer.echo(f"cache   {place.cache}")
        for found in place.files:
            typer.echo(f"{'sound ' if found.path else 'absent'}  {found.path or found.file.name}")
            for reason in found.refused:
                typer.echo(f"refused {reason}")
