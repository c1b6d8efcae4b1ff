"""A model of the user's own is code: it runs where whoever starts a program names it, never because a folder does."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from deepbass.core.errors import ConfigError


def is_code(model: object) -> bool:
    """Tell whether a model is named as a function, file.py:function or package.module:function."""
    return isinstance(model, str) and ":" in model


def check_named(model: object, named: str | None, where: object, again: str, *, what: str = "a model") -> None:
    """Refuse a model or features that only the folder ``where`` names, if it is code; ``again`` says how to name it."""
    if is_code(model) and named is None:
        raise ConfigError(
            f"{where} names {what} of its own, {model!r}: that is code, which is not run because a folder names it. "
            f"If you know it and trust it, name it again: {again}"
        )


def check_same_kind(model: str, named: str | None, where: object, *, what: str = "model") -> None:
    """Refuse a name that cannot be meant: a function may lie elsewhere by now, but stays a function."""
    if named is not None and named != model and not (is_code(named) and is_code(model)):
        raise ConfigError(f"The {what} of {where} is {model!r}, not {named!r}: leave it out, or start a new run.")


def import_function(setting: str, reference: str) -> Callable[..., Any]:
    """Import a function that the user has named as ``file.py:function`` or ``package.module:function``."""
    where, _, name = reference.rpartition(":")
    function: Any = getattr(_import(where, f"{setting} {reference!r}"), name, None)
    if not callable(function):
        raise ConfigError(f"{setting} {reference!r}: there is no function {name!r} in {where!r}.")
    found: Callable[..., Any] = function
    return found


def _import(where: str, what: str) -> ModuleType:
    if not where.endswith(".py"):
        try:
            return importlib.import_module(where)
        except (ImportError, ValueError, TypeError) as error:  # the last two: what is no module's name at all
            raise ConfigError(f"{what}: cannot import {where!r}: {error}. Install the package that has it.") from error
    path = Path(where)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ConfigError(f"{what}: there is no file {where!r}.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
