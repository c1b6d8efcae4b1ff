"""Laws of the pool: an id always means the same sample."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbass.core.errors import DataError
from deepbass.data.pool import Pool

BYTES = np.arange(6 * 1 * 2 * 2, dtype=np.uint8).reshape(6, 1, 2, 2)


@given(st.lists(st.integers(0, 5), max_size=20))
def test_whatever_the_order_an_id_reads_its_own_row(ids: list[int]) -> None:
    read = Pool(BYTES, "train").read(ids)
    assert read.shape == (len(ids), 1, 2, 2)
    assert read.dtype == np.float32
    for row, id_ in zip(read, ids, strict=True):
        np.testing.assert_array_equal(row, BYTES[id_].astype(np.float32) / 256)


@given(st.lists(st.integers(0, 5), min_size=1, unique=True), st.data())
def test_a_part_of_a_part_keeps_the_outer_names(ids: list[int], data: st.DataObject) -> None:
    part = Pool(BYTES, "train").part(ids)
    again = data.draw(st.lists(st.integers(0, len(ids) - 1), min_size=1))
    inner = part.part(again)
    assert len(inner) == len(again)
    assert [inner.name(i) for i in range(len(again))] == [f"train/{ids[i]}" for i in again]
    np.testing.assert_array_equal(inner.read(range(len(again))) * 256, BYTES[np.array(ids)[again]])


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int64, np.float16, np.float64, ">i2", ">f4"])
def test_only_bytes_are_scaled(dtype: str) -> None:
    values = np.array([[0, 1], [1, 0]], dtype=dtype)
    np.testing.assert_array_equal(Pool(values, "train").read([0, 1]), [[0, 1], [1, 0]])


def test_what_is_read_can_be_changed_without_changing_the_pool() -> None:
    values = np.ones((2, 2), dtype=np.float32)
    pool = Pool(values, "train")
    pool.read([0, 1])[:] = 5
    np.testing.assert_array_equal(values, 1)


@pytest.mark.parametrize(("ids", "message"), [([6], "id 6"), ([-1], "id -1"), ([0.5], "float64"), ([True], "bool")])
def test_ids_that_are_none_are_refused(ids: list[float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Pool(BYTES, "train").read(ids)


def test_no_ids_read_nothing() -> None:
    assert Pool(BYTES, "train").read([]).shape == (0, 1, 2, 2)


def test_names_may_be_given_one_by_one() -> None:
    assert Pool(BYTES, [f"{i}.png" for i in range(6)]).part([4, 2]).name(1) == "2.png"


def test_pictures_are_what_people_would_see() -> None:
    grey = Pool(BYTES, "train").picture(1)
    colour = Pool(np.arange(12, dtype=np.uint8).reshape(1, 3, 2, 2), "train").picture(0)
    assert grey is not None
    assert colour is not None
    np.testing.assert_array_equal(grey, BYTES[1, 0])
    assert colour.shape == (2, 2, 3)
    np.testing.assert_array_equal(colour[0, 1], [1, 5, 9])


@pytest.mark.parametrize(
    ("values", "drawn"),
    [([[0.0, 1.0]], [[0, 255]]), ([[0.0, 0.2]], [[0, 51]]), ([[-3.0, 3.0]], [[0, 255]]), ([[7.0, 7.0]], [[0, 0]])],
)
def test_pictures_of_numbers_fill_the_range_of_a_byte(values: list[list[float]], drawn: list[list[int]]) -> None:
    np.testing.assert_array_equal(Pool(np.array([[values]]), "train").picture(0), drawn)


@pytest.mark.parametrize("shape", [(2,), (5, 4), (2, 8, 8)])
def test_what_is_no_image_has_no_picture(shape: tuple[int, ...]) -> None:
    assert Pool(np.zeros((3, *shape)), "train").picture(0) is None
