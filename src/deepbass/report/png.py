"""Small pictures as PNG. Pillow is there wherever a report is written: matplotlib brings it."""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]


def encode_png(picture: Picture) -> bytes:
    """Encode an H x W or H x W x 3 picture."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def shrink(picture: Picture, side: int) -> Picture:
    """Average blocks of pixels until neither side is longer than ``side``."""
    from PIL import Image

    step = -(-max(picture.shape[:2]) // side)
    return picture if step <= 1 else np.asarray(Image.fromarray(picture).reduce(step))
