"""Where a configuration comes from: a preset, then a TOML file, then what the caller says; the later wins."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deepbass.core.config import Config
from deepbass.core.errors import ConfigError
from deepbass.core.presets import preset as look_up
from deepbass.learn.models import check_name


def configure(data: str, preset: str, *layers: Mapping[str, Any]) -> Config:
    """Make the configuration of a run on a data set; every layer overrides those before it."""
    settings: dict[str, Any] = dict(look_up(preset, data))
    for layer in layers:
        settings.update({name.replace("-", "_"): value for name, value in layer.items()})
    if isinstance(settings.get("validation"), str):
        settings["validation"] = share(settings["validation"])
    if isinstance(settings.get("replay"), str):
        settings.setdefault("oracle", "replay")
        settings["replay"] = str(Path(settings["replay"]).resolve())
    file, _, function = str(settings.get("model", "")).rpartition(":")
    if file.endswith(".py"):  # a run may be resumed from another place
        settings["model"] = f"{Path(file).resolve()}:{function}"
    config = Config.of(settings)
    check_name(config.model)
    return config


def from_toml(path: Path) -> dict[str, Any]:
    """Read settings from a TOML file: the names of Config's fields, and optionally ``data`` and ``preset``."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"Cannot read the configuration {path}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.") from error


def share(text: str) -> float:
    """Read a share written as 0.2 or 20%."""
    number = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*", text)
    if number is None:
        raise ConfigError(f"validation = {text!r} is not a share: write 20% or 0.2.")
    return float(number[1]) / (100 if number[2] else 1)
