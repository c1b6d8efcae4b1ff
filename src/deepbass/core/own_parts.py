"""Parts of a run that are the caller's own code: a callable, or the name of one, in the place of a built-in name."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from deepbass.core.config import OWN, Config
from deepbass.core.errors import ConfigError
from deepbass.core.own_model import import_function, is_code
from deepbass.core.setting import settings_of

Part = Callable[..., Any]
_SHOWN = 100  # characters of a wrong value that an error quotes


@dataclass(frozen=True)
class OwnParts:
    """The caller's own callables, by the settings whose place they take; None: what the setting names."""

    start: Part | None = None
    acquire: Part | None = None
    admit: Part | None = None
    stop: Part | None = None
    learner: Part | None = None
    optimizer: Part | None = None
    schedule: Part | None = None
    loss: Part | None = None


CODE = tuple(name for name, (each, _) in settings_of(Config).items() if each.code)  # settings that may name code
PARTS = tuple(each.name for each in fields(OwnParts))
TRAINING = ("learner", "optimizer", "schedule", "loss")  # those that train a network
AT_FIRST = ("start",)  # only a run that was killed before its first labels were chosen needs it again


def names_of(given: Mapping[str, Any]) -> dict[str, str]:
    """Tell what a configuration has of parts that are given: their names, or that they were passed."""
    for name, part in given.items():
        if name in PARTS and part is not None and not isinstance(part, str) and not callable(part):
            raise ConfigError(f"{name} = {quote(part)} is neither a name nor a function.")
    return {name: part if isinstance(part, str) else OWN for name, part in given.items() if part is not None}


def parts_of(config: Config, given: Mapping[str, Any]) -> OwnParts:
    """Collect the caller's own parts: callables, and functions that the configuration names, which are imported.

    So the configuration has to be the caller's, or what it names be named again: no code is run because a folder names
    it.
    """
    found: dict[str, Part] = {}
    for name in PARTS:
        part, chosen = given.get(name), getattr(config, name)
        if part is not None and not isinstance(part, str):
            found[name] = part
        elif is_code(chosen):
            found[name] = import_function(name, chosen)
        elif chosen == OWN:
            raise _not_passed(name, OWN)
    return OwnParts(**found)


def check_built_in(config: Config, names: tuple[str, ...], own: OwnParts | None = None) -> None:
    """Refuse parts that only the caller could bring, where they were not brought."""
    for name in names:
        chosen = getattr(config, name)
        if (chosen == OWN or is_code(chosen)) and (own is None or getattr(own, name) is None):
            raise _not_passed(name, chosen)


def own_training(config: Config) -> list[str]:
    """List the parts that train the network and are the caller's own."""
    return [name for name in TRAINING if getattr(config, name) == OWN or is_code(getattr(config, name))]


def to_predict_with(config: Config) -> Config:
    """Leave out of a configuration what a network was trained by: to predict, nobody has to bring it again."""
    return replace(config, **{name: getattr(Config(), name) for name in TRAINING})


def options_again(config: Mapping[str, Any]) -> str:
    """Write the options of ``deepbass resume`` by which code that a run names is named again."""
    named = [name for name in CODE if name not in AT_FIRST and is_code(config.get(name))]
    return "".join(f" --{name} {shlex.quote(config[name])}" for name in named)


def name_of_part(part: object) -> str:
    """Name a part as its author does; `Acquire` and `Admit` have it inside."""
    inner = getattr(part, "choose", part)
    return str(getattr(inner, "__name__", None) or type(inner).__name__)


def quote(value: object) -> str:
    """Quote a value as far as can be read."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _not_passed(name: str, chosen: str) -> ConfigError:
    return ConfigError(f"{name} = {chosen!r}: pass the {name} itself, as in deepbass.run(..., {name}=...).")
