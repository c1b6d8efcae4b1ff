"""Settings as people type them. No torch: the page's process reads them, too."""

from __future__ import annotations

import tomllib
from typing import Any

from deepbass.core.errors import ConfigError


def from_words(words: list[str]) -> dict[str, Any]:
    """Read settings written as name=value; a value is TOML, and text needs no quotes."""
    settings: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"--set {word!r} must be written as name=value, as in --set learning_rate=0.0005.")
        try:
            settings[name.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            settings[name.strip()] = value.strip()
    return settings
