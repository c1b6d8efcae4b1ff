"""Laws of the file of pixels: what is written comes back, and what is not whole is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbass.data.pixel_file import map_pixels, write_pixels

IMAGES = np.random.default_rng(0).integers(0, 256, (11, 3, 4, 5), dtype=np.uint8)


@given(st.integers(1, 11), st.sampled_from([0, 1, 9, 10**6, 10**12]), st.sampled_from([1, 3]))
def test_what_is_written_comes_back_though_more_was_expected(
    tmp_path_factory: pytest.TempPathFactory, count: int, more: int, channels: int
) -> None:
    path = tmp_path_factory.mktemp("pixels") / "a.npy"
    images = IMAGES[:count, :channels]
    shape = write_pixels(path, images, count + more, (channels, 4, 5))
    mapped = map_pixels(path, shape)
    assert isinstance(mapped, np.memmap)
    assert not mapped.flags.writeable
    np.testing.assert_array_equal(mapped, images)
    np.testing.assert_array_equal(np.load(path), images)  # as anybody else would read it


def test_no_image_at_all_is_an_empty_array(tmp_path: Path) -> None:
    shape = write_pixels(tmp_path / "a.npy", [], 7, (3, 4, 5))
    assert map_pixels(tmp_path / "a.npy", shape).shape == (0, 3, 4, 5)


@pytest.mark.parametrize("damage", ["cut", "longer", "header", "empty"])
def test_what_is_not_whole_is_refused(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    shape = write_pixels(path, IMAGES, 11, (3, 4, 5))
    whole = path.read_bytes()
    damaged = {"cut": whole[:-1], "longer": whole + b"x", "header": whole.replace(b"11", b"12", 1), "empty": b""}
    path.write_bytes(damaged[damage])
    with pytest.raises(ValueError, match="does not hold pixels"):
        map_pixels(path, shape)
    path.write_bytes(whole)
    with pytest.raises(ValueError, match="does not hold pixels"):
        map_pixels(path, (3, 11, 4, 5))
