"""Read CIFAR-10's binary batches: a byte for the class, then 32 x 32 pixels of red, of green and of blue."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DataError
from deepbass.data.catalogue import Named
from deepbass.data.source import Part, Source

SHAPE = (3, 32, 32)
RECORD = 1 + 3 * 32 * 32  # bytes of an image and its class


def from_cifar(files: Sequence[Path], named: Named) -> Source:
    """Read batches: the last one is for validation, as published."""
    *train, test = files

    def part(batches: Sequence[Path], name: str) -> Part:
        pixels, labels = zip(*map(_read, batches), strict=True)
        return Part(np.concatenate(pixels), np.concatenate(labels), f"{named.name} ({name})", name)

    return Source(named.name, part(train, "train"), part([test], "validation"), named.classes)


def _read(path: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    content = np.fromfile(path, dtype=np.uint8)
    if not len(content) or len(content) % RECORD:
        raise DataError(f"{path} is no batch of CIFAR-10: {len(content)} bytes are not a number of {RECORD} each.")
    records = content.reshape(-1, RECORD)
    return records[:, 1:].reshape(-1, *SHAPE), records[:, 0]
