"""Features of rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deepbass.core.errors import DataError
from deepbass.features.tabular import CLIP, TableFeatures
from tests.features.found import Found

ROWS: list[dict[str, Any]] = [
    {"id": float(1000 + n), "size": float(n % 7) + 1e6 * (n == 50), "age": None if n % 5 == 0 else str(n % 9),
     "colour": ["red", "green", None][n % 3] if n else "mauve", "day": f"2024-01-{n % 28 + 1:02}T{n}:00",
     "remark": f"remark {n}", "same": "x", "void": None}
    for n in range(60)
]  # fmt: skip


def fitted(rows: list[Any]) -> TableFeatures:
    table = TableFeatures()
    table.fit(Found("row", rows), np.arange(len(rows)))
    return table


def test_numbers_are_scaled_filled_in_and_marked_and_categories_spread_out() -> None:
    features = fitted(ROWS).compute(ROWS)
    # size; age and whether it is missing; colour: green, red, others, missing
    assert features.shape == (60, 7)
    assert features[50, 0] == CLIP
    assert abs(features[:50, 0].mean()) < 0.5
    assert features[:, 2].tolist() == [n % 5 == 0 for n in range(60)]
    assert features[1:5, 3:].tolist() == [[1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0], [1, 0, 0, 0]]
    assert features[0, 3:].tolist() == [0, 0, 1, 0]  # too rare


def test_columns_that_say_nothing_of_a_new_row_are_left_out_and_named() -> None:
    told = fitted(ROWS).describe()
    for left_out in ("id (counts the rows)", "remark (texts", "same (always the same)", "void (empty)"):
        assert left_out in told
    assert "1 of categories" in told


def test_rows_to_come_may_lack_columns_or_have_strange_cells() -> None:
    features = fitted(ROWS).compute([{}, {"size": "many", "age": float("inf"), "colour": "blue", "new": "x"}])
    assert np.isfinite(features).all()
    assert features[0, 3:].tolist() == [0, 0, 0, 1]
    assert features[1, 3:].tolist() == [0, 0, 1, 0]


def test_a_table_without_a_column_to_learn_from_is_refused() -> None:
    with pytest.raises(DataError, match=r"No column of the table can be learned from: a .always the same"):
        fitted([{"a": 1.0}, {"a": 1.0}])
