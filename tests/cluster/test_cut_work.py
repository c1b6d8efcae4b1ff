"""However work is cut, nothing is left out or done twice, and every piece begins where its masks do."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("ray")

from deepbass.cluster.cluster_engine import PART, cut_blocks, cut_parts, cut_windows
from deepbass.learn.kernel.native import BLOCK


@given(st.integers(1, 5000), st.integers(0, 40))
def test_blocks_go_to_workers_in_whole_and_nobody_gets_none(rows: int, workers: int) -> None:
    cut = cut_blocks(rows, BLOCK, workers)
    assert (cut[0].start, cut[-1].stop) == (0, rows)
    assert all(one.stop == following.start and one.stop % BLOCK == 0 for one, following in pairwise(cut))
    assert all(part.stop > part.start for part in cut)
    assert len(cut) == min(max(1, workers), -(-rows // BLOCK))


@given(st.integers(2, 5000))
def test_parts_cover_a_batch_and_none_is_of_one(rows: int) -> None:
    cut = cut_parts(rows)
    assert (cut[0].start, cut[-1].stop) == (0, rows)
    assert all(one.stop == following.start for one, following in pairwise(cut))
    assert all(1 < part.stop - part.start <= PART + 1 for part in cut)


@given(
    st.integers(0, 2**32), st.integers(1, 3000), st.sampled_from([32, 2048]), st.integers(1, 3000), st.integers(0, 4)
)
def test_windows_hold_all_rows_and_begin_with_a_unit(seed: int, count: int, unit: int, size: int, slab: int) -> None:
    rows = np.sort(np.random.default_rng(seed).choice(9000, count, replace=False))
    cut = list(cut_windows(rows, slab * 2048, unit, size))
    np.testing.assert_array_equal(np.concatenate([rows[here] for _, here in cut]), rows)
    for window, here in cut:
        assert window.start % unit == 0
        assert window.start <= rows[here].min() <= rows[here].max() < window.stop
