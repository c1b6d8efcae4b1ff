"""Laws of labels: whatever people write becomes 0..C-1, and nothing is guessed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbass.core.errors import DataError
from deepbass.data.classes import as_labels, find_classes, to_classes


def number(y: Any) -> tuple[list[str], list[int]]:
    labels = as_labels(y, len(y), "X")
    classes = find_classes(labels, "X")
    return [str(class_) for class_ in classes], to_classes(labels, classes, "X").tolist()


@pytest.mark.parametrize(
    ("y", "classes", "numbers"),
    [
        ([10, 9, -1, 10], ["9", "10"], [1, 0, -1, 1]),
        (["dog", "", "cat", "-1"], ["cat", "dog"], [1, -1, 0, -1]),
        ([True, False], ["False", "True"], [1, 0]),
        ([1.0, 0.0, -1.0], ["0", "1"], [1, 0, -1]),
        (np.array([3, 200], dtype=np.uint8), ["3", "200"], [0, 1]),
        (np.array(["b", None, "a"], dtype=object), ["a", "b"], [1, -1, 0]),
        (np.array([4, None, 2], dtype=object), ["2", "4"], [1, -1, 0]),
        (np.array([b"no", b"yes"]), ["no", "yes"], [0, 1]),
        (np.array([[7], [5]]), ["5", "7"], [1, 0]),
    ],
)
def test_labels_of_any_kind_become_classes(y: Any, classes: list[str], numbers: list[int]) -> None:
    assert number(y) == (classes, numbers)


@given(st.lists(st.integers(-1, 10**12), min_size=1))
def test_the_class_name_of_a_number_is_the_label(y: list[int]) -> None:
    y = [*y, 3, 4]
    classes, numbers = number(y)
    assert [int(classes[n]) if n >= 0 else -1 for n in numbers] == y


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1, -2], "label -2 of sample 2 lies outside the classes"),
        ([0, 1.5], "label 1.5 of sample 1 is not a whole number"),
        ([0, np.nan], "label nan of sample 1"),
        ([[1, 0], [0, 1]], "one-hot"),
        ([-1, -1], "A simulated run needs them"),
        (["", ""], "A simulated run needs them"),
        ([3, 3, -1], "one class only"),
        ([1j, 2j], "complex128"),
        (np.array(["a", 1], dtype=object), "label 1 of sample 1 is not str"),
    ],
)
def test_labels_that_are_none_are_refused(y: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        number(y)


def test_every_sample_needs_a_label() -> None:
    with pytest.raises(DataError, match=r"3 samples but labels of shape \(2,\)"):
        as_labels([0, 1], 3, "X")


@pytest.mark.parametrize(
    ("y", "y_val", "message"),
    [
        ([0, 2], [0, 1], "X_val: label '1' of sample 1 lies outside the classes of the training part: 0, 2"),
        ([0, 2], [2, 9], "label '9'"),
        (["a", "b"], ["a", "", "zebra"], "label 'zebra' of sample 2"),
        ([0, 1], ["0", "1"], "are <U1, but"),
    ],
)
def test_validation_labels_are_of_the_same_classes(y: Any, y_val: Any, message: str) -> None:
    classes = find_classes(as_labels(y, len(y), "X"), "X")
    with pytest.raises(DataError, match=message):
        to_classes(as_labels(y_val, len(y_val), "X_val"), classes, "X_val")


@pytest.mark.parametrize("code", [0x110000, 0xFFFFFFFF, 0xD800, 0xDFFF])
@pytest.mark.parametrize("order", ["<", ">"])
def test_text_that_holds_no_characters_is_refused(code: int, order: str) -> None:
    labels = np.array(["a", "b", "c"], dtype=f"{order}U2")
    labels.view(f"{order}u4")[3] = code
    with pytest.raises(
        DataError, match=f"X is not a readable text in UTF-8 \\(it holds {code:#x}, which is no character"
    ):
        as_labels(labels, 3, "X")


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(DataError, match="X is not a readable text in UTF-8"):
        as_labels(np.array([b"a", b"\xff"]), 2, "X")


@pytest.mark.parametrize("number", [1e300, -1e300, 2.0**53, np.inf, np.nan])
def test_numbers_that_are_no_class_are_refused(number: float) -> None:
    with pytest.raises(DataError, match="of sample 1 is not a whole number"):
        as_labels(np.array([0.0, number]), 2, "X")
