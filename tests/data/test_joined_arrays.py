"""Arrays one after the other are read as if they were one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deepbass.data.joined_arrays import JoinedArrays
from deepbass.data.pool import Pool

PARTS = [np.arange(12.0).reshape(4, 3), np.arange(100.0, 106.0).reshape(2, 3), np.arange(-3.0, 0.0).reshape(1, 3)]
WHOLE = np.concatenate(PARTS)


@pytest.mark.parametrize("rows", [slice(None), slice(1, 7, 2), [6, 0, 4, 4], np.array([5]), 3, np.int64(6), []])
def test_any_choice_of_rows_is_that_of_the_whole(rows: Any) -> None:
    joined = JoinedArrays(PARTS)
    chosen = np.array(rows, dtype=np.int64) if isinstance(rows, list) else rows
    np.testing.assert_array_equal(joined[chosen], WHOLE[chosen])
    assert joined.shape == WHOLE.shape


def test_pools_follow_one_another_and_rows_count_on() -> None:
    first = Pool(PARTS[0], "row").part([0, 2])  # of four rows
    both = first.followed_by(Pool(PARTS[1], "row"))
    np.testing.assert_array_equal(both.rows, [0, 2, 4, 5])
    np.testing.assert_array_equal(both.read([1, 3]), WHOLE[[2, 5]])
    assert both.row_map.total == 6
