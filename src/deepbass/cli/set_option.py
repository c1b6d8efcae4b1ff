"""Settings as people type them. No torch: the page's process reads them, too."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Any

from deepbass.core.errors import ConfigError
from deepbass.core.foreign import excerpt, guarded, reason_of


def from_words(words: list[str]) -> dict[str, Any]:
    """Read settings written as name=value; a value is TOML, and text needs no quotes."""
    settings: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"--set {word!r} must be written as name=value, as in --set learning_rate=0.0005.")
        with guarded(_unreadable(word)):
            settings[name.strip()] = _value(value)
    return settings


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def _unreadable(word: str) -> Callable[[Exception], ConfigError]:
    return lambda cause: ConfigError(f"--set {excerpt(word)} cannot be read: {reason_of(cause)}.")
