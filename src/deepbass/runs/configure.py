"""Where a configuration comes from: a preset, then a TOML file, then what the caller says; the later wins."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deepbass.core.config import OWN, Config
from deepbass.core.errors import ConfigError
from deepbass.core.foreign import guarded, reason_of
from deepbass.core.own_parts import CODE
from deepbass.core.presets import preset as look_up
from deepbass.core.setting import read_share, settings_of


def configure(data: str, preset: str, *layers: Mapping[str, Any]) -> Config:
    """Make the configuration of a run on a data set; every layer overrides those before it."""
    budget = {name: value for layer in layers for name, value in layer.items()}.get("budget")
    return reconfigure(look_up(preset, data, budget if isinstance(budget, int) else None), *layers)


def reconfigure(settings: Mapping[str, Any], *layers: Mapping[str, Any]) -> Config:
    """Make a configuration from settings and what overrides them."""
    chosen = _understood(settings)
    for layer in layers:
        chosen |= _understood(layer)
    return Config.of(chosen)


def _understood(layer: Mapping[str, Any]) -> dict[str, Any]:
    """Take settings as people write them: names with dashes, 20% for a share, paths from where they are."""
    settings = {name.replace("-", "_"): value for name, value in layer.items()}
    for name, (each, _) in settings_of(Config).items():
        if each.share and isinstance(settings.get(name), str):
            settings[name] = read_share(f"{name} =", settings[name])
    if isinstance(settings.get("replay"), str):
        settings.setdefault("oracle", "replay")
        settings["replay"] = str(Path(settings["replay"]).resolve())
    if isinstance(settings.get("initial_labels"), str) and settings["initial_labels"] != OWN:
        settings["initial_labels"] = str(Path(settings["initial_labels"]).expanduser().resolve())
    for code in CODE:
        if isinstance(settings.get(code), str):
            settings[code] = whole_reference(settings[code])
    return settings


def whole_reference(model: str) -> str:
    """Write file.py:function with the file's whole path: a run may be resumed from another place."""
    file, _, function = model.rpartition(":")
    return f"{Path(file).resolve()}:{function}" if file.endswith(".py") else model


def from_toml(path: Path) -> dict[str, Any]:
    """Read settings from a TOML file: the names of Config's fields, and optionally ``data`` and ``preset``."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"Cannot read the configuration {path}: {error.strerror}.") from error
    with guarded(lambda cause: ConfigError(f"{path} is not valid TOML: {reason_of(cause)}.")):
        return tomllib.loads(content.decode())
