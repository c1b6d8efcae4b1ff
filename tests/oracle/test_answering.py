"""Whoever answers is asked about rows, and answers with labels as they are in the data, or by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from deepbass.core.errors import ConfigError, DataError
from deepbass.core.label_names import is_no_label, name_of_label
from deepbass.core.labels import UNKNOWN, Answers, Ids
from deepbass.core.row_map import RowMap
from deepbass.oracle import Answering

ROWS = RowMap(np.array([1, 3, 4, 8]), 10)
CLASSES = ("bird", "cat", "dog")
Y = np.array(["dog", "cat", "", "bird", "dog", "cat", "cat", "dog", "", "bird"])


class Asked:
    """An object that can be asked."""

    def ask(self, rows: Ids) -> Answers:
        return Answers(rows, Y[rows])


def said(who: Any, *ids: int, classes: tuple[str, ...] = CLASSES) -> dict[int, str]:
    answers = Answering(who, ROWS, classes).ask(np.array(ids, dtype=np.int64))
    return {id_: classes[class_] for id_, class_ in zip(answers.ids.tolist(), answers.classes.tolist(), strict=True)}


@pytest.mark.parametrize(
    "who",
    [
        Asked(),
        lambda rows: Y[rows],
        lambda rows: [Y[row] if Y[row] else None for row in rows],
        lambda rows: dict(zip(rows.tolist(), Y[rows].tolist(), strict=True)),
        Y,
        Y.tolist(),
        dict(enumerate(Y.tolist())),
    ],
    ids=["object", "function", "None", "function of a dict", "array", "list", "dict"],
)
def test_every_kind_of_oracle_answers_about_the_row_that_is_meant(who: Any) -> None:
    assert said(who, 0, 2, 1) == {0: "cat", 2: "dog", 1: "bird"}


@pytest.mark.parametrize("labels", [[7, 9, 7, 9, 7, 9, 7, 9, 7, 9], torch.tensor([7, 9] * 5), np.array([7.0, 9.0] * 5)])
def test_a_number_is_the_label_that_it_is_in_the_data_and_not_the_place_of_a_class(labels: Any) -> None:
    assert said(labels, 0, 2, classes=("7", "9")) == {0: "9", 2: "7"}


def test_where_classes_have_names_a_number_is_that_of_a_class() -> None:
    assert said(lambda rows: np.full(len(rows), 2), 0) == {0: "dog"}


def test_an_answer_may_come_later_or_never_and_nothing_is_asked_for_nothing() -> None:
    calls: list[list[int]] = []

    def slowly(rows: Ids) -> dict[int, str] | None:
        calls.append(rows.tolist())
        return {1: "dog"} if len(calls) == 2 else None

    oracle = Answering(slowly, ROWS, CLASSES)
    nobody = np.empty(0, dtype=np.int64)
    assert [len(oracle.ask(ids).ids) for ids in (nobody, np.array([0]), nobody, nobody)] == [0, 0, 1, 0]
    assert calls == [[1], []]


def test_an_answer_is_taken_back_only_where_that_is_said() -> None:
    assert said({1: -1, 3: None}, 0, 1) == {}
    taken = Answering(lambda rows: Answers(rows, np.full(len(rows), UNKNOWN)), ROWS, CLASSES).ask(np.array([1]))
    assert (taken.ids.tolist(), taken.classes.tolist()) == ([1], [UNKNOWN])


@pytest.mark.parametrize(
    ("who", "says"),
    [
        (lambda rows: ["horse"], "Row 1 was given the label 'horse', which is none of the classes: 'bird', 'cat'"),
        (lambda rows: ["cat", "dog"], "2 labels to 1 rows"),
        (lambda rows: "cat", "return a label for each"),
        (lambda rows: {2: "cat"}, "Row 2 is not in the pool"),
        (lambda rows: {77: "cat"}, "Row 77 does not exist: the data has rows 0 to 9"),
        (lambda rows: {"1": "cat"}, "no row"),
        (Y[:5], "5 labels, but the data has 10 rows"),
    ],
)
def test_an_answer_that_cannot_be_meant_is_refused(who: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        said(who, 0)


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(ConfigError, match="oracle = float cannot be asked"):
        said(0.5, 0)


def test_what_is_no_label_and_what_a_label_is_called() -> None:
    assert all(map(is_no_label, (None, float("nan"), np.float32("nan"), -1, -1.0, "", "-1", np.int8(-1))))
    assert not any(map(is_no_label, (0, "cat", False, np.False_, 1.5, (1, 2))))
    assert [name_of_label(label) for label in (7, 7.0, np.float32(7), "7", True, np.int8(7))] == [
        *["7"] * 4,
        "True",
        "7",
    ]
