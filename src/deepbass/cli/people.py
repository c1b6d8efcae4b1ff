"""Who may log in to a project's page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deepbass.cli.exchange import ProjectDir
from deepbass.cli.output import Json, errors, print_json, say
from deepbass.core.errors import ConfigError

if TYPE_CHECKING:
    from deepbass.label.project import Project

people_app = typer.Typer(help="Who may log in to a project's page: add, remove, list.", no_args_is_help=True)
Person = Annotated[str, typer.Argument(metavar="NAME", help="The name to log in with.")]


@people_app.command("add")
def people_add(
    path: ProjectDir,
    name: Person,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input, one line.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Let somebody log in, or change their password. The page must be closed."""
    with errors(as_json):
        from deepbass.label.clean_names import clean_name
        from deepbass.label.passwords import hash_password
        from deepbass.label.project import SOURCE

        project = _open(path)
        name = clean_name(name, "a person")
        if name == SOURCE:
            raise ConfigError(f"Nobody can be called {name!r}: it stands for labels that the images bring along.")
        hashed = hash_password(_password(password_stdin))
        _set_person(project, name, hashed)
        say(f"{name} can log in, from the next start of deepbass label on.")
        if as_json:
            print_json({"name": name})


@people_app.command("remove")
def people_remove(path: ProjectDir, name: Person, as_json: Json = False) -> None:
    """Let somebody log in no more; their answers stay. The page must be closed."""
    with errors(as_json):
        from deepbass.label.clean_names import clean_name

        project = _open(path)
        name = clean_name(name, "a person")
        if name not in _people(project):
            raise ConfigError(f"Nobody called {name!r} can log in to {path}: see deepbass people list.")
        _set_person(project, name, "")  # a hash that no password has
        say(f"{name} can log in no more. Their answers stay.")
        if as_json:
            print_json({"name": name})


@people_app.command("list")
def people_list(path: ProjectDir, as_json: Json = False) -> None:
    """List who may log in."""
    with errors(as_json):
        names = sorted(_people(_open(path)))
        if as_json:
            print_json({"people": names})
        else:
            for name in names:
                typer.echo(name)


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
