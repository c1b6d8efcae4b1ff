"""Ask and teach: questions are rows, the last word counts, and a session goes on where it was saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn

from deepbass import Session
from deepbass.core.errors import DataError, StoreError

RNG = np.random.default_rng(0)
TRUTH = np.arange(90) % 3
X = (np.eye(5)[TRUTH] * 3 + RNG.normal(size=(90, 5)) / 2).astype(np.float32)
NAMES = np.array(["ant", "bee", "cat"])
NETWORK: dict[str, Any] = {"initial_epochs": 2, "ask_every": 1, "passes_pool": 2, "passes_known": 2, "device": "cpu"}


def taught(rounds: int = 2, **settings: Any) -> Session:
    session = Session(X, **settings)
    for _ in range(rounds):
        rows = session.ask(6)
        session.teach(rows, NAMES[TRUTH[rows]])
    return session


def test_a_few_answers_are_enough_and_each_row_is_asked_for_once() -> None:
    session = Session(X)
    asked: list[int] = []
    for _ in range(3):
        rows = session.ask(6)
        session.teach(rows, NAMES[TRUTH[rows]].tolist())
        asked += rows.tolist()
    assert len(set(asked)) == 18
    assert sorted(session.classes) == NAMES.tolist()
    assert (session.predict() == NAMES[TRUTH]).mean() > 0.95
    np.testing.assert_array_equal(session.predict(X[:7]), session.predict()[:7])
    assert [session.labels[row] for row in asked] == NAMES[TRUTH[asked]].tolist()
    assert len(session.ask(500)) == 72  # what is left
    assert len(session.ask(1)) == 0


def test_questions_wait_until_they_are_taught_and_none_takes_a_label_back() -> None:
    session = Session(X, model="mlp", **NETWORK)
    rows = session.ask(4)
    np.testing.assert_array_equal(np.sort(session.waiting), np.sort(rows))
    session.teach(rows[:3], NAMES[TRUTH[rows[:3]]])
    np.testing.assert_array_equal(session.waiting, rows[3:])
    session.teach(int(rows[0]), None)
    assert session.labels[rows[0]] is None
    assert rows[0] not in session.ask(80)


def test_labels_that_are_there_already_are_taught_at_the_start() -> None:
    session = Session(X, y=[*NAMES[TRUTH[:12]], *[None] * 78])
    assert session.labels[:12] == NAMES[TRUTH[:12]].tolist()
    assert len(session.waiting) == 0
    session.train(0)
    assert len(session._step.labels.members) == 78  # the others have their say
    assert (session.predict() == NAMES[TRUTH]).mean() > 0.9


@pytest.mark.parametrize("model", ["auto", "mlp", "factory"])
def test_a_class_that_appears_is_learned_and_what_was_learned_stays(model: str) -> None:
    chosen: Any = own if model == "factory" else model
    session = Session(X, model=chosen, **NETWORK)
    two = np.flatnonzero(TRUTH < 2)[:20]
    session.teach(two, NAMES[TRUTH[two]])
    assert session.predict_proba().shape == (90, 2)
    before = session._step.state.iteration
    session.teach(np.flatnonzero(TRUTH == 2)[:8], ["cat"] * 8)
    assert session.predict_proba().shape == (90, 3)
    assert session._step.state.iteration == before + 1  # one step more, and not from the start
    session.train(2)
    assert session._step.state.iteration == before + 3


def own(shape: tuple[int, ...], classes: int) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(shape[0], 8), nn.Dropout(0.2), nn.Linear(8, classes))


@pytest.mark.parametrize("model", ["auto", "mlp"])
def test_a_session_that_was_saved_goes_on_as_if_it_had_not_been(tmp_path: Path, model: str) -> None:
    session = taught(model=model, **NETWORK)
    session.save(tmp_path / "kept")
    again = Session.open(tmp_path / "kept", X)
    assert again.labels == session.labels
    np.testing.assert_array_equal(again.predict_proba(), session.predict_proba())
    for each in (session, again):
        rows = each.ask(5)
        each.teach(rows, NAMES[TRUTH[rows]])
    assert again.labels == session.labels
    np.testing.assert_array_equal(again.predict_proba(), session.predict_proba())
    again.save(tmp_path / "kept")  # in the place of the first
    assert Session.open(tmp_path / "kept", X).labels == again.labels
    assert not [path for path in (tmp_path / "kept").iterdir() if path.suffix in (".pkl", ".pt")]


def test_rows_are_added_at_the_end(tmp_path: Path) -> None:
    session = taught(model="mlp", **NETWORK)
    session.save(tmp_path / "kept")
    more = X[:10] + 0.01
    np.testing.assert_array_equal(session.append(more), np.arange(90, 100))
    opened = Session.open(tmp_path / "kept", np.concatenate([X, more]))
    np.testing.assert_allclose(opened.predict_proba(), session.predict_proba())
    session.teach([95], [NAMES[TRUTH[5]]])
    assert session.labels[95] == NAMES[TRUTH[5]]
    assert 95 not in session.ask(100)
    with pytest.raises(DataError, match="shape"):
        session.append(np.zeros((3, 4)))


def test_texts_and_tables_are_asked_about_and_saved(tmp_path: Path) -> None:
    texts = [f"{('love great', 'crash broken')[row % 2]} number {row}" for row in range(40)]
    session = Session(texts, features="words", y=["good", "bad"] * 5 + [""] * 30)
    session.save(tmp_path / "kept")
    again = Session.open(tmp_path / "kept", texts)
    assert (again.predict() == np.array(["good", "bad"] * 20)).mean() > 0.9
    assert len(again.ask(3)) == 3
    again.append(["what a crash", "great"])
    assert len(again) == 42


def test_a_cold_start_is_saved_and_opened(tmp_path: Path) -> None:
    session = Session(X, classes=["ant", "bee", "cat"])
    rows = session.ask(3)
    session.save(tmp_path / "kept")
    again = Session.open(tmp_path / "kept", X)
    np.testing.assert_array_equal(np.sort(again.waiting), np.sort(rows))
    assert again.classes == ("ant", "bee", "cat")


@pytest.mark.parametrize(
    ("rows", "labels", "says"),
    [
        ([3, 3], ["ant", "bee"], "Row 3 is there 2 times"),
        ([90], ["ant"], "Row 90 does not exist: the data has rows 0 to 89"),
        ([-2], ["ant"], "Row -2 does not exist"),
        ([1, 2], ["ant"], "2 rows came with 1 labels"),
        ([1], "ant", "Labels are a list"),
        ([0.5], ["ant"], "Rows are whole numbers"),
        (
            [1],
            ["dog"],
            r"'dog', which is none of the classes: 'ant', 'bee'. If it is one, say add_class\('dog'\)",
        ),
    ],
)
def test_what_cannot_be_taught_is_refused_and_changes_nothing(rows: Any, labels: Any, says: str) -> None:
    session = Session(X, classes=["ant", "bee"])
    with pytest.raises(DataError, match=says):
        session.teach(rows, labels)
    assert session.labels == [None] * 90


def test_wrong_calls_say_what_is_missing(tmp_path: Path) -> None:
    session = Session(X, classes=["ant", "bee"])
    with pytest.raises(DataError, match="Labels of 0 classes are known so far"):
        session.predict()
    with pytest.raises(DataError, match="say how many"):
        session.ask(0)
    session.add_class("cat")
    session.teach([0, 1, 2], NAMES[TRUTH[:3]])
    assert session.predict_proba().shape == (90, 3)
    with pytest.raises(StoreError, match="holds no session"):
        Session.open(tmp_path, X)
    session.save(tmp_path / "kept")
    with pytest.raises(DataError, match="saved with 90 rows, and X has 89"):
        Session.open(tmp_path / "kept", X[:89])
    with pytest.raises(DataError, match="not those that"):
        Session.open(tmp_path / "kept", X[::-1].copy())
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match="no earlier export"):
        session.save(tmp_path / "other")


def test_of_pictures_it_learns_in_a_round_what_it_was_taught() -> None:
    X, digits = load_digits(return_X_y=True)
    pictures, names = X[:1000].reshape(-1, 1, 8, 8) / 16, digits[:1000].astype(str)
    session = Session(pictures[:400], classes=[str(class_) for class_ in range(10)])
    for _ in range(4):
        rows = session.ask(8)
        session.teach(rows, names[rows])
    assert (np.asarray(session.predict(pictures[400:])) == names[400:]).mean() > 0.75  # of 32 labels
