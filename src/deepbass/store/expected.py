"""What a file should hold, by name: whoever asks for what is missing is told which file is damaged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from deepbass.core.errors import StoreError

V = TypeVar("V")


class Expected(dict[str, V]):
    """A dict whose missing names are a damage of the file that it was read from; ``get`` and ``in`` are as ever."""

    def __init__(self, values: Mapping[str, V], damaged: Callable[[str], StoreError]) -> None:
        super().__init__(values)
        self._damaged = damaged

    def __missing__(self, name: str) -> V:
        raise self._damaged(f"{name} is missing")
