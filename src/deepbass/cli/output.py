"""What all commands share: how they speak, how they fail, and two options."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepbass.core.errors import DeepBassError

if TYPE_CHECKING:
    from rich.console import Console

INTERRUPTED = 130  # the exit code that a shell expects after Ctrl-C

Json = Annotated[bool, typer.Option("--json", help="Print one machine-readable object on standard output.")]
Folder = Annotated[
    Path | None, typer.Option("--data", help="A folder that may hold MNIST's files already. Also: DEEPBASS_DATA.")
]


@contextmanager
def errors(as_json: bool) -> Iterator[None]:
    """Turn an error on purpose into a message and exit code 2; anything else is a bug and keeps its traceback."""
    try:
        yield
    except DeepBassError as error:
        if as_json:
            print_json({"error": str(error), "kind": type(error).__name__})
        say(f"Error: {error}", style="bold red")
        raise typer.Exit(2) from error


def console() -> Console:
    """Return where people read: standard error, so that standard output is for programs."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say(text: str, style: str = "") -> None:
    """Say something to people."""
    console().print(text, style=style, soft_wrap=True, markup=False)


def print_json(value: dict[str, Any]) -> None:
    """Say something to programs."""
    typer.echo(json.dumps(value))
