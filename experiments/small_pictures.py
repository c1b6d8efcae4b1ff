"""Small pictures of several kinds, all from training parts or drawn here: signs, things, and what lies between."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from scipy.ndimage import gaussian_filter

from deepbass.core.config import Config
from deepbass.data.load import load

Pictures = tuple[NDArray[np.uint8], NDArray[np.int64]]  # N x H x W, in colour x 3, and their classes
_NO_LETTERS = ("LastResort", "DejaVuSansDisplay", "DejaVuSerifDisplay", "STIXNonUni", "STIXSiz", "cmex", "cmsy", "cmmi")


def grey(name: str, count: int, seed: int) -> Pictures:
    """Draw pictures of a training part; colours become grey."""
    data = load(name, Config(features="pixels"))
    ids = np.sort(np.random.default_rng(seed).choice(len(data.truth), count, replace=False))
    return (256 * data.pool.read(ids).mean(1)).round().astype(np.uint8), data.truth[ids].astype(np.int64)


def turned(count: int, seed: int) -> Pictures:
    """Draw MNIST's digits smaller, turned, and anywhere."""
    pictures, classes = grey("mnist", count, seed)
    rng, drawn = np.random.default_rng(seed), np.zeros_like(pictures)
    for picture, place in zip(pictures, drawn, strict=True):
        side = int(rng.integers(12, 20))
        whole = Image.fromarray(picture).rotate(float(rng.uniform(-45, 45)))
        small = whole.resize((side, side), Image.Resampling.BILINEAR)
        top, left = rng.integers(0, 28 - side, 2)
        place[top : top + side, left : left + side] = np.array(small)
    return drawn, classes


def over_photographs(count: int, seed: int) -> Pictures:
    """Draw MNIST's digits, light, over darkened photographs of CIFAR-10."""
    pictures, classes = grey("mnist", count, seed)
    behind = grey("cifar-10", count, seed)[0][:, 2:30, 2:30]
    return np.where(pictures > 100, 255 - behind // 3, behind // 2).astype(np.uint8), classes


def letters(count: int, seed: int) -> Pictures:
    """Draw letters from A to J in the fonts that come with matplotlib, a little turned and moved, with noise."""
    fonts = _fonts()
    rng, classes = np.random.default_rng(seed), np.random.default_rng(seed).integers(0, 10, count)
    drawn = np.empty((count, 28, 28), dtype=np.uint8)
    for place, class_ in zip(drawn, classes, strict=True):
        font = ImageFont.truetype(str(fonts[rng.integers(len(fonts))]), int(rng.integers(16, 26)))
        picture = Image.new("L", (32, 32), 255)
        where = tuple(16 + rng.uniform(-3, 3, 2))
        ImageDraw.Draw(picture).text(where, "ABCDEFGHIJ"[class_], font=font, fill=0, anchor="mm")
        picture = picture.rotate(float(rng.uniform(-15, 15)), fillcolor=255).crop((2, 2, 30, 30))
        place[:] = (np.asarray(picture) + rng.normal(0, 15, (28, 28))).clip(0, 255)
    return drawn, classes.astype(np.int64)


def house_numbers(count: int, seed: int) -> Pictures:
    """Draw digits in colour, in the fonts that come with matplotlib, blurred, with their neighbours beside them."""
    fonts = _fonts()
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 10, count)
    drawn = np.empty((count, 32, 32, 3), dtype=np.uint8)
    slope = np.linspace(-0.3, 0.3, 32)
    for place, class_ in zip(drawn, classes, strict=True):
        wall, paint = _apart(rng)
        picture = Image.new("RGB", (48, 48), wall)
        font = ImageFont.truetype(str(fonts[rng.integers(len(fonts))]), int(rng.integers(20, 34)))
        x, y = 24 + rng.uniform(-3, 3, 2)
        wide = 1.05 * font.getlength("0")
        shown = [(x, int(class_))] + [(x + at * wide, int(rng.integers(10))) for at in (-1, 1) if rng.random() < 0.6]
        for where, digit in shown:
            ImageDraw.Draw(picture).text((where, y), str(digit), font=font, fill=paint, anchor="mm")
        turned = picture.rotate(float(rng.uniform(-12, 12)), fillcolor=wall, resample=Image.Resampling.BILINEAR)
        light = 1 + rng.uniform(-1, 1) * slope[:, None, None] + rng.uniform(-1, 1) * slope[None, :, None]
        blur = rng.uniform(0.3, 1.3)
        blurred = gaussian_filter(np.asarray(turned.crop((8, 8, 40, 40))) * light, (blur, blur, 0))
        place[:] = (blurred + rng.normal(0, 6, blurred.shape)).clip(0, 255)
    return drawn, classes.astype(np.int64)


def _fonts() -> list[Path]:
    paths = sorted((Path(matplotlib.get_data_path()) / "fonts" / "ttf").glob("*.ttf"))
    return [path for path in paths if not path.name.startswith(_NO_LETTERS)]


def _apart(rng: np.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Draw two colours, one of them clearly lighter."""
    while True:
        one, other = rng.integers(20, 235, (2, 3))
        if abs(one.mean() - other.mean()) > 40:
            return tuple(map(int, one)), tuple(map(int, other))


KINDS: dict[str, Callable[[int, int], Pictures]] = {
    "mnist": lambda count, seed: grey("mnist", count, seed),
    "digits, small, turned, anywhere": turned,
    "letters": letters,
    "digits over photographs": over_photographs,
    "fashion-mnist": lambda count, seed: grey("fashion-mnist", count, seed),
    "cifar-10 in grey": lambda count, seed: grey("cifar-10", count, seed),
}
