"""Rows are only ever added; what counts is derived from them."""

from __future__ import annotations

import math
import sqlite3
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbass.core.errors import StoreError
from deepbass.core.labels import NO_ANSWERS, NO_IDS, Answers, Ids
from deepbass.store import Events


@pytest.fixture
def events(tmp_path: Path) -> Iterator[Events]:
    made = Events(tmp_path / "run.db", "rwc")
    yield made
    made.close()


def ids(*samples: int) -> Ids:
    return np.array(samples, dtype=np.int64)


def step(events: Events, iteration: int, *samples: int, class_: int = 0) -> None:
    asked = ids(*samples)
    events.commit_step(iteration, {}, {}, asked, Answers(asked, np.full_like(asked, class_)), "simulated")


def iterations(events: Events) -> list[int]:
    return [row.iteration for row in events.steps()]


def test_a_step_brings_its_questions_answers_and_numbers(events: Events) -> None:
    events.add_initial(ids(1, 2), ids(0, 1))
    events.commit_step(0, {"accuracy": None}, {"train": 2.5}, NO_IDS, NO_ANSWERS, "simulated")
    events.commit_step(1, {"known": 3, "loss": 0.25}, {}, ids(7, 8), Answers(ids(7), ids(1)), "simulated")

    assert [(row.iteration, row.metrics, row.seconds) for row in events.steps()] == [
        (0, {"accuracy": None}, {"train": 2.5}),
        (1, {"known": 3, "loss": 0.25}, {}),
    ]
    assert [(row.sample, row.iteration) for row in events.questions()] == [(7, 1), (8, 1)]
    assert [row[1:6] for row in events.answers()] == [
        (1, 0, "initial", None, 0),
        (2, 1, "initial", None, 0),
        (7, 1, "simulated", None, 1),
    ]
    assert events.labels_now() == {1: 0, 2: 1, 7: 1}
    at = datetime.fromisoformat(events.steps()[0].at)
    assert abs(datetime.now(UTC) - at) < timedelta(minutes=1)


@pytest.fixture(scope="module")
def growing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Events]:
    made = Events(tmp_path_factory.mktemp("events") / "run.db", "rwc")
    yield made
    made.close()


NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.none()


@settings(deadline=None)
@given(metrics=st.dictionaries(st.text(), NUMBERS))
def test_numbers_come_back_bit_for_bit(growing: Events, metrics: dict[str, float | int | None]) -> None:
    growing.commit_step(len(growing.steps()), metrics, {}, NO_IDS, NO_ANSWERS, None)
    found = growing.steps()[-1].metrics

    def exactly(value: object) -> object:
        return struct.pack("d", value) if isinstance(value, float) else value

    assert {name: exactly(value) for name, value in found.items()} == {
        name: exactly(value) for name, value in metrics.items()
    }


def test_what_is_no_number_becomes_none(events: Events) -> None:
    events.commit_step(0, {"a": math.nan, "b": math.inf, "c": np.float64(1.5)}, {}, NO_IDS, NO_ANSWERS, None)
    assert events.steps()[0].metrics == {"a": None, "b": None, "c": 1.5}


@pytest.mark.parametrize("table", ["questions", "answers", "steps", "rewinds"])
@pytest.mark.parametrize("change", ["UPDATE {} SET iteration = 9", "DELETE FROM {}"])
def test_no_row_can_be_changed_or_deleted(events: Events, table: str, change: str) -> None:
    step(events, 0, 5)
    events.rewind(0)
    db = sqlite3.connect(events.path)  # anyone's connection, not only ours
    with pytest.raises(sqlite3.IntegrityError, match=f"{table} are only ever added"):
        db.execute(change.format(table))
    db.close()


def test_a_step_that_fails_leaves_nothing(events: Events) -> None:
    with pytest.raises(StoreError, match=r"Cannot write iteration 0 in .*CHECK"):
        events.commit_step(0, {}, {}, ids(1), Answers(ids(1), ids(-2)), "simulated")
    assert not events.questions()
    assert not events.answers()
    step(events, 0, 1)
    assert iterations(events) == [0]


def test_no_iteration_is_committed_twice(events: Events) -> None:
    step(events, 0)
    step(events, 1)
    with pytest.raises(StoreError, match=r"Cannot commit iteration 1 .*Rewind to iteration 0 first"):
        step(events, 1, 4)
    assert not events.questions()


def test_a_question_put_at_once_is_not_put_again_by_its_step(events: Events) -> None:
    events.ask(ids(4, 5), 1)
    events.ask(ids(4, 5), 1)  # as a resumed run does
    events.commit_step(1, {}, {}, ids(4, 5), NO_ANSWERS, None)
    assert [(row.sample, row.iteration) for row in events.questions()] == [(4, 1), (5, 1)]


def test_the_last_word_counts_and_undo_is_a_new_row(events: Events) -> None:
    first = events.answer(3, 1, annotator="ann")
    events.answer(3, 2, annotator="bob")
    assert events.labels_now() == {3: 2}
    events.answer(3, -1, annotator="bob")
    assert events.labels_now() == {}
    last = events.answer(3, 0)
    assert events.labels_now() == {3: 0}
    assert [(row.class_, row.annotator) for row in events.answers()] == [(1, "ann"), (2, "bob"), (-1, "bob"), (0, None)]
    assert [row.id for row in events.answers(since=first)][-1] == last
    assert not events.answers(since=last)


def test_a_rewind_hides_what_the_machine_did_and_lets_it_be_done_again(events: Events) -> None:
    events.add_initial(ids(0), ids(1))
    for iteration in range(4):
        step(events, iteration, 10 + iteration)
    events.rewind(1)
    assert iterations(events) == [0, 1]
    assert [row.sample for row in events.questions()] == [10, 11]
    assert events.labels_now() == {0: 1, 10: 0, 11: 0}

    step(events, 2, 99, class_=1)
    assert iterations(events) == [0, 1, 2]
    assert events.labels_now() == {0: 1, 10: 0, 11: 0, 99: 1}


def test_a_rewind_never_hides_what_a_person_said(events: Events) -> None:
    events.ask(ids(5, 6), 3)
    events.answer(5, 1, iteration=3)
    events.answer(6, 0)
    events.rewind(-1)
    assert not events.questions()
    assert events.labels_now() == {5: 1, 6: 0}


@given(st.lists(st.integers(0, 4), max_size=4))
@settings(max_examples=25, deadline=None)
def test_live_steps_are_always_the_story_without_gaps(
    tmp_path_factory: pytest.TempPathFactory, rewinds: list[int]
) -> None:
    events = Events(tmp_path_factory.mktemp("events") / "run.db", "rwc")
    done = -1
    for back_to in [*rewinds, 4]:
        for iteration in range(done + 1, 5):
            step(events, iteration, iteration)
        events.rewind(back_to)
        done = back_to
        assert iterations(events) == list(range(done + 1))
        assert [row.sample for row in events.questions()] == list(range(done + 1))
    events.close()


def test_samples_look_the_same_later_and_are_described_once(events: Events) -> None:
    picture = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    events.describe_many([(1, "a.png", picture), (2, "row 2", None)])
    events.describe(1, "other", None)
    found = events.descriptions()
    assert found[2] == ("row 2", None)
    assert found[1].name == "a.png"
    assert found[1].picture is not None
    assert np.array_equal(found[1].picture, picture)


def test_others_read_and_answer_while_one_trains(events: Events) -> None:
    trainer, page = events, Events(events.path)
    trainer.ask(ids(8), 1)
    assert [row.sample for row in page.questions()] == [8]
    page.answer(8, 1, annotator="ann")
    assert trainer.labels_now() == {8: 1}
    page.close()


def test_waiting_in_vain_for_a_writer_is_a_store_error(events: Events, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepbass.store.sqlite._BUSY_SECONDS", 0.05)
    impatient = Events(events.path)
    events._db.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"database is locked\. Another process has been writing"):
        impatient.answer(1, 1)
    events._db.execute("ROLLBACK")
    impatient.answer(1, 1)
    impatient.close()


def test_damage_in_the_middle_of_the_database_is_a_store_error(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    events = Events(path, "rwc")
    for iteration in range(100):
        step(events, iteration, *range(20))
    events.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    events = Events(path)
    with pytest.raises(StoreError, match=r"malformed\. The file is damaged: restore"):
        events.answers()
    events.close()
