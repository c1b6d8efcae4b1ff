"""Rows are only ever added; what counts is derived from them."""

from __future__ import annotations

import hashlib
import math
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbass.core.errors import StoreError
from deepbass.core.labels import NO_ANSWERS, NO_IDS, Answers, Ids
from deepbass.store import Events
from deepbass.store.names import RUN_DB_FILE
from deepbass.store.run_database import RUN_DB
from deepbass.store.sqlite import connect, explained


@pytest.fixture
def events(tmp_path: Path) -> Iterator[Events]:
    made = Events(tmp_path / RUN_DB_FILE, "rwc")
    yield made
    made.close()


def ids(*samples: int) -> Ids:
    return np.array(samples, dtype=np.int64)


def step(events: Events, iteration: int, *samples: int, class_: int = 0) -> None:
    asked = ids(*samples)
    events.commit_step(iteration, {}, {}, asked, Answers(asked, np.full_like(asked, class_)), "simulated")


def iterations(events: Events) -> list[int]:
    return [row.iteration for row in events.steps()]


def test_the_tables_of_a_format_never_change() -> None:
    """A file is opened if its tables are those of its format to the letter: else no run made before would open."""
    tables = {1: "427f0976b24ae9b3df154af3a4e395342ffc7714a32174f876129c775b1c8549"}
    assert hashlib.sha256(RUN_DB.script.encode()).hexdigest() == tables[RUN_DB.format]


def test_a_step_brings_its_questions_answers_and_numbers(events: Events) -> None:
    events.add_initial(ids(1, 2), ids(0, 1))
    events.commit_step(0, {"accuracy": None}, {"train": 2.5}, NO_IDS, NO_ANSWERS, "simulated")
    events.commit_step(1, {"known": 3, "loss": 0.25}, {}, ids(7, 8), Answers(ids(7), ids(1)), "simulated")

    assert [(row.iteration, row.metrics, row.seconds) for row in events.steps()] == [
        (0, {"accuracy": None}, {"train": 2.5}),
        (1, {"known": 3, "loss": 0.25}, {}),
    ]
    assert [(row.sample, row.iteration) for row in events.questions()] == [(7, 1), (8, 1)]
    assert [row[1:5] for row in events.answers()] == [
        (1, 0, "initial", 0),
        (2, 1, "initial", 0),
        (7, 1, "simulated", 1),
    ]
    assert events.labels_now() == {1: 0, 2: 1, 7: 1}
    at = datetime.fromisoformat(events.steps()[0].at)
    assert abs(datetime.now(UTC) - at) < timedelta(minutes=1)


@pytest.fixture(scope="module")
def growing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Events]:
    made = Events(tmp_path_factory.mktemp("events") / RUN_DB_FILE, "rwc")
    yield made
    made.close()


NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.none()


@settings(deadline=None)
@given(metrics=st.dictionaries(st.text(), NUMBERS))
def test_numbers_come_back_bit_for_bit(growing: Events, metrics: dict[str, float | int | None]) -> None:
    growing.commit_step(len(growing.steps()), metrics, {}, NO_IDS, NO_ANSWERS, "simulated")
    found = growing.steps()[-1].metrics

    def exactly(value: object) -> object:
        return struct.pack("d", value) if isinstance(value, float) else value

    assert {name: exactly(value) for name, value in found.items()} == {
        name: exactly(value) for name, value in metrics.items()
    }


def test_what_is_no_number_becomes_none(events: Events) -> None:
    events.commit_step(0, {"a": math.nan, "b": math.inf, "c": np.float64(1.5)}, {}, NO_IDS, NO_ANSWERS, "simulated")
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


def test_the_last_word_counts_and_undo_is_a_new_row(events: Events) -> None:
    for iteration, (classes, now) in enumerate([([1, 2], {3: 2}), ([-1], {}), ([0], {3: 0})]):
        events.commit_step(iteration, {}, {}, NO_IDS, Answers(np.full(len(classes), 3), ids(*classes)), "own")
        assert events.labels_now() == now
    assert [row.class_ for row in events.answers()] == [1, 2, -1, 0]


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


@given(st.lists(st.integers(0, 4), max_size=4))
@settings(max_examples=25, deadline=None)
def test_live_steps_are_always_the_story_without_gaps(
    tmp_path_factory: pytest.TempPathFactory, rewinds: list[int]
) -> None:
    events = Events(tmp_path_factory.mktemp("events") / RUN_DB_FILE, "rwc")
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


def test_others_read_while_one_trains(events: Events) -> None:
    reader = Events(events.path, "ro")
    step(events, 1, 8, class_=1)
    assert [row.sample for row in reader.questions()] == [8]
    assert reader.labels_now() == {8: 1}
    reader.close()


def test_waiting_in_vain_for_a_writer_is_a_store_error(events: Events, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepbass.store.sqlite._BUSY_SECONDS", 0.05)
    impatient = Events(events.path)
    events._db.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"database is locked\. Another process has been writing"):
        step(impatient, 1)
    events._db.execute("ROLLBACK")
    step(impatient, 1)
    impatient.close()


def test_damage_in_the_middle_of_the_database_is_a_store_error(tmp_path: Path) -> None:
    path = tmp_path / RUN_DB_FILE
    events = Events(path, "rwc")
    for iteration in range(100):
        step(events, iteration, *range(20))
    events.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    with pytest.raises(StoreError, match=r"run\.db is damaged .*: restore"):
        Events(path)
    with (
        closing(connect(path, "ro", RUN_DB, checked=False)) as db,
        pytest.raises(StoreError, match=r"malformed\. The file is damaged: restore"),
        explained(path, "read", RUN_DB),
    ):
        db.execute("SELECT * FROM answers").fetchall()
