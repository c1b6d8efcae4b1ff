"""Keep decoded images in one .npy file: written image by image, read through a memory map."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

Shape = tuple[int, int, int, int]  # N, C, H, W


def write_pixels(path: Path, images: Iterable[NDArray[np.uint8]], most: int, shape: tuple[int, int, int]) -> Shape:
    """Write images as they come, flush them to the disk, and tell the shape of all.

    Written, not put into a map: when the disk is full, a write raises OSError but a map kills the process.
    """
    count = 0
    with path.open("wb") as file:
        file.write(_header((most, *shape)))
        for count, image in enumerate(images, 1):  # noqa: B007
            file.write(np.ascontiguousarray(image).data)
        file.seek(0)
        file.write(_header((count, *shape)))  # as long as before: NumPy leaves room for the count to grow
        file.flush()
        os.fsync(file.fileno())
    return (count, *shape)


def map_pixels(path: Path, shape: Shape) -> NDArray[np.uint8]:
    """Map a file that must hold just these images, to the byte of its header and size; else raise ValueError."""
    header = _header(shape)
    with path.open("rb") as file:
        found = file.read(len(header))
        size = os.fstat(file.fileno()).st_size
    pixels = shape[0] * shape[1] * shape[2] * shape[3]
    if found != header or size != len(header) + pixels:
        raise ValueError(f"{path} does not hold pixels of shape {shape}")
    if not pixels:  # nothing cannot be mapped
        return np.empty(shape, dtype=np.uint8)
    return np.memmap(path, np.uint8, "r", len(header), shape)


def _header(shape: Shape) -> bytes:
    buffer = io.BytesIO()
    npy.write_array_header_1_0(buffer, {"descr": "|u1", "fortran_order": False, "shape": shape})
    return buffer.getvalue()
