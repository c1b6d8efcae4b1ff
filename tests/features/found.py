"""Samples as they were found, for tests: in memory, and counted as they are read."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from deepbass.core.raw_samples import Kind, UnreadableSample


class Found:
    """Any samples; None is one that cannot be read."""

    def __init__(self, kind: Kind, samples: Sequence[Any]) -> None:
        self.kind = kind
        self.samples = list(samples)
        self.read_rows: list[int] = []

    def __len__(self) -> int:
        return len(self.samples)

    def name(self, row: int) -> str:
        return f"sample-{row}"

    def read(self, row: int) -> Any:
        self.read_rows.append(row)
        if self.samples[row] is None:
            raise UnreadableSample("cut off")
        return self.samples[row]

    def key(self, row: int) -> bytes:
        sample = self.samples[row]
        content = sample.tobytes() if isinstance(sample, Image.Image) else repr(sample).encode("utf-8", "replace")
        return hashlib.sha256(content).digest()


def pictures(count: int, size: tuple[int, int] = (32, 32), mode: str = "RGB") -> list[Image.Image]:
    """Make pictures of noise, each another one."""
    rng = np.random.default_rng(count)
    shape = (size[1], size[0], 3) if mode == "RGB" else (size[1], size[0])
    return [Image.fromarray(rng.integers(0, 256, shape, dtype=np.uint8)) for _ in range(count)]
