"""An extractor for tests: quick, exact, and counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from deepbass.features.extractor import Features, PreparingExtractor, State


class Lengths(PreparingExtractor):
    """A text becomes its length, four times over."""

    name = "lengths"
    kind: Literal["text"] = "text"
    width = 4
    batch = 4

    def __init__(self, identity: str = "lengths 1") -> None:
        self.identity = identity
        self.computed: list[str] = []

    def describe(self) -> str:
        return "lengths"

    def compute_prepared(self, prepared: Sequence[Any]) -> Features:
        self.computed += prepared
        return np.array([[len(text)] * 4 for text in prepared], dtype=np.float32)

    def state(self) -> State:
        return {"name": self.name}
