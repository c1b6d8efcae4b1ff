"""A model of the user's own is code: it runs where whoever starts a program names it, never because a folder does."""

from __future__ import annotations

from deepbass.core.errors import ConfigError


def is_code(model: object) -> bool:
    """Tell whether a model is named as a function, file.py:function or package.module:function."""
    return isinstance(model, str) and ":" in model


def check_named(model: object, named: str | None, where: object, again: str) -> None:
    """Refuse a model that only the folder ``where`` names, if it is code; ``again`` says how to name it."""
    if is_code(model) and named is None:
        raise ConfigError(
            f"{where} names a model of its own, {model!r}: that is code, which is not run because a folder names it. "
            f"If you know it and trust it, name it again: {again}"
        )


def check_same_kind(model: str, named: str | None, where: object) -> None:
    """Refuse a name that cannot be meant: a function may lie elsewhere by now, but stays a function."""
    if named is not None and named != model and not (is_code(named) and is_code(model)):
        raise ConfigError(f"The model of {where} is {model!r}, not {named!r}: leave it out, or start a new run.")
