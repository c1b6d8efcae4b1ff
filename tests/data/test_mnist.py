"""MNIST itself, from the cache or, the first time, from wherever it can be had."""

from __future__ import annotations

import numpy as np

from deepbass.core.config import Config
from deepbass.data import choose_initial, load, where


def test_mnist_is_mnist() -> None:
    data = load("mnist", Config())
    assert (len(data.pool), len(data.validation)) == (60_000, 10_000)
    assert data.pool.shape == data.validation.shape == (1, 28, 28)
    assert data.classes == tuple("0123456789")
    assert np.bincount(data.truth).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert data.validation_labels[:5].tolist() == [7, 2, 1, 0, 4]
    pixels = data.pool.read(range(0, 60_000, 60))
    assert abs(pixels.mean() - 0.1301) < 0.01  # 0.1307 is the mean of pixels divided by 255
    assert pixels.max() == 255 / 256
    assert data.pool.name(43_210) == "train/43210"
    assert all(found.path for found in where("mnist").files)


def test_a_part_of_mnist_keeps_the_outer_names_and_starts_balanced() -> None:
    data = load("mnist", Config(pool=1000))
    whole = load("mnist", Config())
    outer = [int(data.pool.name(i).removeprefix("train/")) for i in range(1000)]
    np.testing.assert_array_equal(data.pool.read(range(1000)), whole.pool.read(outer))
    np.testing.assert_array_equal(data.truth, whole.truth[outer])
    initial = choose_initial(data.truth, data.classes, 100, seed=0)
    assert np.bincount(data.truth[initial]).tolist() == [10] * 10
