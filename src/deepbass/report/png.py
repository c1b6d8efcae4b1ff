"""Small pictures as PNG, without an image library."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]

GREY, COLOUR = 0, 2  # PNG's colour types


def encode_png(picture: Picture) -> bytes:
    """Encode an H x W or H x W x 3 picture."""
    height, width = picture.shape[:2]
    # each row opens with its filter, 0: none
    rows = np.pad(picture.reshape(height, -1), ((0, 0), (1, 0)))
    header = struct.pack(">IIBBBBB", width, height, 8, GREY if picture.ndim == 2 else COLOUR, 0, 0, 0)
    chunks = _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def shrink(picture: Picture, side: int) -> Picture:
    """Average blocks of pixels until neither side is longer than ``side``."""
    step = -(-max(picture.shape[:2]) // side)
    if step <= 1:
        return picture
    # the edge is repeated to fill the last block
    filled = np.pad(picture, [(0, -n % step) for n in picture.shape[:2]] + [(0, 0)] * (picture.ndim - 2), mode="edge")
    height, width = (n // step for n in filled.shape[:2])
    blocks = filled.reshape(height, step, width, step, *picture.shape[2:])
    small: Picture = blocks.mean(axis=(1, 3)).round().astype(np.uint8)
    return small


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
