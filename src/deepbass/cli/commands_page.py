"""docs/commands.md, every command with its arguments and options, from the command itself.

python -m deepbass.cli.commands_page docs/commands.md     writes it anew
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from deepbass.cli import app

_HEAD = """# The command

Every command, argument and option, as `--help` has them (this page is written by `python -m deepbass.cli.commands_page
docs/commands.md`). Options that set a setting are explained further with [the settings](configuration.md).

The exit code is 0 when all went well, 1 when a part of it did not, 2 for a wrong call or bad input, 130 after
Ctrl-C. With `--json` standard output is one object for other programs. `deepbass --version` tells the version.
"""


def page() -> str:
    """Write the page."""
    return "\n".join([_HEAD, *(_section(words, command) for words, command in commands())])


def commands() -> Iterator[tuple[str, Any]]:
    """Go through all commands, with the words that they are called by."""
    for name, command in _members(typer.main.get_command(app)).items():
        if inner := _members(command):
            yield from ((f"deepbass {name} {verb}", each) for verb, each in inner.items())
        else:
            yield f"deepbass {name}", command


def parameters(command: Any) -> list[Any]:
    """List the arguments and options of a command that its help shows, but for the help itself."""
    return [each for each in command.params if not getattr(each, "hidden", False) and each.name != "help"]


def _members(command: Any) -> dict[str, Any]:
    return getattr(command, "commands", {})


def _section(words: str, command: Any) -> str:
    arguments = [each for each in parameters(command) if each.param_type_name == "argument"]
    options = [each for each in parameters(command) if each.param_type_name == "option"]
    usage = " ".join([words, "[OPTIONS]", *(_written(each) for each in arguments)])
    parts = [f"## {words}\n\n{command.help}\n\n```text\n{usage}\n```\n"]
    if arguments:
        parts.append(_table("argument", [(_argument(each), _meaning(each)) for each in arguments]))
    groups: dict[str | None, list[Any]] = {}
    for each in options:
        groups.setdefault(each.rich_help_panel, []).append(each)
    for group, members in groups.items():
        title = f"**{group}**\n\n" if group else ""
        parts.append(title + _table("option", [(_option(each), _meaning(each)) for each in members]))
    return "\n".join(parts)


def _table(kind: str, rows: list[tuple[str, str]]) -> str:
    lines = [f"| {name} | {meaning} |" for name, meaning in rows]
    return "\n".join([f"| {kind} | |", "|---|---|", *lines, ""])


def _written(argument: Any) -> str:
    shown = f"{_argument_name(argument)}{'' if argument.nargs == 1 else '...'}"
    return shown if argument.required else f"[{shown}]"


def _argument_name(argument: Any) -> str:
    return str(argument.metavar or argument.name).strip("[]{}").upper()


def _argument(argument: Any) -> str:
    return f"`{_argument_name(argument)}`"


def _option(option: Any) -> str:
    return ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))


def _meaning(parameter: Any) -> str:
    text = re.sub(r"(?<!\S)--[a-z-]+", r"`\g<0>`", str(parameter.help or "")).replace("|", "\\|")
    default = parameter.default
    if parameter.show_default and default not in (None, False, [], ()) and "(default" not in text:
        text += f" (default: {default})"
    return text


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
