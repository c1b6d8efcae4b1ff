"""The data sets that need no download: the paper's toy, and scikit-learn's digits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DataError
from deepbass.core.randomness import generator
from deepbass.data.source import Part, Source

POINTS = 500  # of each class, in each part


def toy(seed: int) -> Source:
    """Draw the paper's two half moons (Section 3), red and blue."""
    rng = generator(seed, 0, "toy")
    labels = np.repeat([0, 1], POINTS)

    def part(name: str) -> Part:
        points = np.concatenate([_moon(rng, (1 / 3, -1 / 10), 1.0), _moon(rng, (-1 / 3, 1 / 10), -1.0)])
        return Part(points, labels, f"toy ({name})", name)

    return Source("toy", part("train"), part("validation"), classes=("red", "blue"))


def _moon(rng: np.random.Generator, centre: tuple[float, float], side: float) -> NDArray[np.float64]:
    radius = rng.normal(1.0, 1 / 4, POINTS)
    angle = np.pi * rng.normal(1 / 2, 1 / 3, POINTS)  # the paper leaves the pi out, but its figures have it
    return np.asarray(centre) + np.stack([radius * np.cos(angle), side * radius * np.sin(angle)], axis=1)


def digits() -> Source:
    """Take the 1,797 digits of 8 x 8 pixels that come with scikit-learn."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise DataError("digits come with scikit-learn, which is missing: pip install 'deepbass[sklearn]'.") from error
    bundle = load_digits()
    pixels = (bundle.images * 15).astype(np.uint8)  # 0..16 becomes 0..240: bytes, and so below 1 when read
    return Source("digits", Part(pixels, bundle.target, "digits", "train"))
