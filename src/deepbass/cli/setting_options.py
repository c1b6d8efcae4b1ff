"""The settings of a run as options of the command, made from what the configuration says of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import Field
from inspect import Parameter
from typing import Annotated, Any

import typer

from deepbass.core.config import Config
from deepbass.core.setting import Setting, settings_of


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for every setting of a run, in place of its ``**settings``."""
    return _with(command, _options())


def with_parts(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for every setting that may name code, in place of its ``**parts``."""
    return _with(command, _code_options())


def _with(command: Callable[..., None], options: list[Parameter]) -> Callable[..., None]:
    signature = inspect.signature(command, eval_str=True)
    own = [each for each in signature.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
    vars(command)["__signature__"] = signature.replace(parameters=[*own, *options])  # which is what typer reads
    return command


def _code_options() -> list[Parameter]:
    options = []
    for name, (each, _) in settings_of(Config).items():
        if each.code:
            said = f"The run's own {name} again, as file.py:function: no code is run because a folder names it."
            annotation: Any = Annotated[str | None, typer.Option(help=said)]
            options.append(Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
    return options


def _options() -> list[Parameter]:
    options, group = [], None
    for name, (each, declared) in settings_of(Config).items():
        group = each.group or group
        if len(each.choices) != 1 or each.code:  # else there is nothing to choose
            word = "<share>" if each.share else None
            option = typer.Option(help=_help(each), metavar=word, rich_help_panel=group, show_default=False)
            annotation: Any = Annotated[_kind(each, declared) | None, option]
            options.append(Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
    return options


def _kind(each: Setting, declared: Field[Any]) -> type:
    """Tell what is read from the command line; a share comes as text, for it may be 20%."""
    kinds = {"int": int, "float": float, "str": str, "bool": bool}
    return str if each.share else kinds[str(declared.type).split("|")[0].strip()]


def _help(each: Setting) -> str:
    """Say what a setting is, as a sentence, and what there is to choose from."""
    names = ", ".join(each.choices)
    own = ", or your own as file.py:function" if each.code else ""
    text = f"{each.help}: {names}{own}" if names else each.help
    return f"{text[0].upper()}{text[1:]}."
