"""What a run was given that is not kept in its folder, and has to be given again when it goes on."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

from deepbass.core.config import OWN, Config
from deepbass.core.errors import ConfigError
from deepbass.core.own_model import check_named, check_same_kind, is_code
from deepbass.core.own_parts import AT_FIRST, PARTS, OwnParts, parts_of
from deepbass.core.setting import settings_of
from deepbass.runs.configure import whole_reference


def named_in_full(setting: str, named: Any) -> Any:
    """Make the name of code what a run keeps of it: installed parts by their function, files by their whole path."""
    if not isinstance(named, str):
        return named
    each, _ = settings_of(Config)[setting]
    if (refusal := each.refusal(setting, meant := each.understood(setting, named), "str")) is not None:
        raise ConfigError(refusal)
    return whole_reference(meant)


def check_given_again(config: Config, path: str | PathLike[str], parts: Mapping[str, Any]) -> None:
    """Refuse to go on without what a run began with, or with something else."""
    missing = [
        field
        for field, part in parts.items()
        if part is None and field not in AT_FIRST and getattr(config, field) == OWN
    ]
    if missing:
        again = ", ".join(f"{field}=..." for field in missing)
        raise ConfigError(
            f"{' and '.join(missing)} of {path} {'was' if len(missing) == 1 else 'were'} passed in Python, and not "
            f"kept: go on there, with deepbass.resume({str(path)!r}, {again})."
        )
    for field, part in parts.items():
        used = getattr(config, field)
        named = part if isinstance(part, str) else None
        if part is None or isinstance(part, str):
            if field not in AT_FIRST:
                command = f"deepbass resume {shlex.quote(str(path))} --{field} {shlex.quote(used)}"
                again = f"{command}, or in Python {field}={used!r}"
                check_named(used, named, path, again, what=f"{'an' if field[0] in 'aeiou' else 'a'} {field}")
            if used != OWN:
                check_same_kind(used, named, path, what=field)
        elif used != OWN and not is_code(used):
            raise ConfigError(
                f"The run {path} has {field} = {used!r}, and goes on with it: leave {field}=... out, or start "
                "a new run."
            )


def parts_again(config: Config, given: Mapping[str, Any]) -> OwnParts:
    """Collect the parts that were given again, once that was checked: what is imported is what the caller names now."""
    named = {name: part for name, part in given.items() if isinstance(part, str) and is_code(part)}
    kept = {
        name: getattr(Config(), name)
        for name in AT_FIRST
        if given.get(name) is None and (getattr(config, name) == OWN or is_code(getattr(config, name)))
    }
    return parts_of(replace(config, **{**kept, **{name: named[name] for name in PARTS if name in named}}), given)
