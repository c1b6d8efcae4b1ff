"""Parts that installed packages offer by name, as entry points: the group ``deepbass.acquire`` has acquisitions, and so
on for every setting that may name code."""

from __future__ import annotations

from importlib.metadata import entry_points

from deepbass.core.errors import ConfigError


def installed(setting: str) -> dict[str, str]:
    """List what there is for a setting: by its name, the function as ``package.module:function``."""
    found: dict[str, str] = {}
    for each in entry_points(group=f"deepbass.{setting}"):
        reference = f"{each.module}:{each.attr}"
        if found.setdefault(each.name, reference) != reference:
            raise ConfigError(
                f"{setting} = {each.name!r} is offered by two packages, as {found[each.name]!r} and as {reference!r}: "
                "say which of the two."
            )
    return found
