"""Image files for tests, as people have them: of many kinds and sizes, upright or not, and some broken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

KINDS = ("png", "jpg", "bmp", "gif", "tiff", "webp", "ppm")


def save_noise(path: Path, size: tuple[int, int], seed: int, *, mode: str = "RGB", orientation: int = 1) -> None:
    """Save an image of which every pixel differs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    width, height = size
    noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    image = Image.fromarray(noise).convert(mode)
    exif = Image.Exif()
    exif[0x0112] = orientation
    if orientation > 1:
        image.save(path, exif=exif)
    else:
        image.save(path)


def cut(path: Path) -> None:
    """Lose the second half of a file."""
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def mixed_folder(folder: Path, side: int, count: int = 24) -> Path:
    """Fill two classes with images of about a size, of all kinds, and four broken ones among them."""
    for i in range(count):
        kind = KINDS[i % len(KINDS)]
        size = (side + 3 * (i % 4), side + 2 * (i % 5))
        turned = 1 + i % 8 if kind in ("jpg", "png", "webp") else 1
        mode = "RGB" if i % 4 else "L"
        save_noise(folder / "ab"[i % 2] / f"{i:03}.{kind}", size, i, mode=mode, orientation=turned)
    for name in ("a/cut.png", "b/cut.jpg"):
        save_noise(folder / name, (side, side), 0)
        cut(folder / name)
    (folder / "a" / "empty.gif").touch()
    (folder / "b" / "text.png").write_text("I am a picture")
    return folder
