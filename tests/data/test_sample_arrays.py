"""Laws of samples: one shape, finite numbers, and an error that points at the culprit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deepbass.core.errors import DataError
from deepbass.data import sample_arrays
from deepbass.data.sample_arrays import as_samples


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ((5, 7, 9), (1, 7, 9)),
        ((5, 7, 9, 1), (1, 7, 9)),
        ((5, 7, 9, 3), (3, 7, 9)),
        ((5, 7, 9, 4), (3, 7, 9)),
        ((5, 3, 7, 9), (3, 7, 9)),
        ((5, 3, 7, 3), (3, 7, 3)),
        ((5, 4, 7, 9), (4, 7, 9)),
        ((5, 2, 7, 9), (2, 7, 9)),
        ((5, 6), (6,)),
        ((5,), (1,)),
        ((5, 2, 3, 4, 6), (2, 3, 4, 6)),
    ],
)
def test_images_come_channel_first_and_the_rest_as_it_is(given: tuple[int, ...], seen: tuple[int, ...]) -> None:
    array = np.arange(np.prod(given)).reshape(given)
    view = as_samples(array, "X")
    assert view.shape == (5, *seen)
    assert np.shares_memory(view, array)


def test_moving_channels_moves_no_pixel() -> None:
    array = np.random.default_rng(0).integers(0, 256, (4, 6, 5, 4), dtype=np.uint8)
    np.testing.assert_array_equal(as_samples(array, "X")[2, 1], array[2, :, :, 1])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_the_first_number_that_is_not_finite_is_named(bad: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_arrays, "CHUNK_BYTES", 100)  # so that the culprit is not in the first chunk
    array = np.zeros((50, 3, 2))
    array[33, 2, 1] = array[40, 0, 0] = bad
    with pytest.raises(DataError, match=r"X: sample 33 holds .* at position \(2, 1\)"):
        as_samples(array, "X")


@pytest.mark.parametrize(
    "ragged",
    [
        [[1, 2], [3, 4], [5]],
        [np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 3))],
        np.array([[1, 2], [3, 4], [5]], dtype=object),
    ],
)
def test_ragged_shapes_are_refused_with_the_first_that_differs(ragged: Any) -> None:
    with pytest.raises(DataError, match="ragged shapes: sample 2 has shape"):
        as_samples(ragged, "X")


def test_a_sample_that_is_ragged_in_itself_is_named() -> None:
    with pytest.raises(DataError, match="ragged shapes: sample 1"):
        as_samples([[[1, 2], [3, 4]], [[1, 2], [3]]], "X")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((0, 3)), "empty"),
        (np.zeros((3, 0)), "empty"),
        (np.float64(3), "empty"),
        (np.array(["a", "b"]), "<U1 values"),
        (np.zeros((2, 2), dtype=complex), "complex128 values"),
        (np.array([[1, 2], [3, 4]], dtype=object), "Python objects"),
        (None, "Python objects"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(array: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        as_samples(array, "X")
