"""An oracle answers what it knows: now, later, or never."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbass.core.config import OWN, PEOPLE, Config
from deepbass.core.errors import ConfigError, DataError
from deepbass.core.labels import NO_IDS, UNKNOWN, Answers, Ids
from deepbass.core.setting import settings_of
from deepbass.oracle import ORACLES, Replayed, Simulated, oracle_by_name
from deepbass.store import Events, RunDir
from deepbass.store.names import RUN_DB_FILE

ALL = np.arange(20_000)
TRUTH = ALL % 10


def ids(*samples: int) -> Ids:
    return np.array(samples, dtype=np.int64)


def said(answers: Answers) -> list[tuple[int, int]]:
    return list(zip(answers.ids.tolist(), answers.classes.tolist(), strict=True))


@pytest.fixture
def events(tmp_path: Path) -> Iterator[Events]:
    made = Events(tmp_path / RUN_DB_FILE, "rwc")
    yield made
    made.close()


def test_simulated_tells_the_truth_it_knows() -> None:
    oracle = Simulated(np.array([2, UNKNOWN, 0]), 3, error_rate=0.0)
    assert said(oracle.ask(ids(2, 1, 0))) == [(2, 0), (0, 2)]
    assert said(oracle.ask(NO_IDS)) == []


def test_simulated_errs_as_often_as_told_and_towards_any_other_class() -> None:
    answers = Simulated(TRUTH, 10, error_rate=0.2).ask(ALL)
    wrong = answers.classes != TRUTH
    assert abs(wrong.mean() - 0.2) < 4 * np.sqrt(0.2 * 0.8 / len(ALL))
    shifts = np.bincount((answers.classes - TRUTH)[wrong] % 10, minlength=10)
    assert shifts[0] == 0
    assert abs(shifts[1:] - wrong.sum() / 9).max() < 5 * np.sqrt(wrong.sum() / 9)


@given(st.permutations(range(30)), st.integers(0, 30), st.integers(0, 5))
def test_the_order_of_asking_and_a_resume_change_no_answer(order: list[int], cut: int, seed: int) -> None:
    truth = TRUTH[:30]
    whole = dict(said(Simulated(truth, 10, error_rate=0.5, seed=seed).ask(ALL[:30])))
    before = Simulated(truth, 10, error_rate=0.5, seed=seed).ask(ids(*order[:cut]))
    resumed = Simulated(truth, 10, error_rate=0.5, seed=seed).ask(ids(*order[cut:]))
    assert dict(said(before) + said(resumed)) == whole


def test_another_seed_errs_elsewhere_and_unlabelled_samples_stay_silent() -> None:
    one, two = (Simulated(TRUTH, 10, error_rate=0.5, seed=seed).ask(ALL).classes for seed in (1, 2))
    assert not np.array_equal(one, two)
    assert said(Simulated(np.full(100, UNKNOWN), 2, error_rate=0.99).ask(ALL[:100])) == []


def test_with_one_class_there_is_no_wrong_answer() -> None:
    assert said(Simulated(np.array([0, 0]), 1, error_rate=0.9).ask(ids(0, 1))) == [(0, 0), (1, 0)]


def test_truth_outside_the_classes_is_refused() -> None:
    with pytest.raises(DataError, match="Class 3 is outside the 3 classes"):
        Simulated(np.array([0, 3]), 3)


def test_replayed_repeats_the_last_word_of_a_run_and_nothing_else(tmp_path: Path) -> None:
    with RunDir.create(tmp_path / "run", config={}, data={"fingerprint": "this"}, versions={}) as run:
        run.events.add_initial(ids(0, 1), ids(1, 0))
        run.events.commit_step(1, {}, {}, ids(5), Answers(ids(5, 5, 6, 6), ids(2, 1, 2, UNKNOWN)), "own")
        oracle = Replayed.of_run(tmp_path / "run", "this")  # also while it is running
        with pytest.raises(ConfigError, match="made on other data"):
            Replayed.of_run(tmp_path / "run", "that")
    assert said(oracle.ask(ids(7, 6, 5, 0))) == [(5, 1), (0, 1)]
    assert said(oracle.ask(NO_IDS)) == []
    assert said(Replayed({}).ask(ids(1))) == []


def test_a_replay_answers_as_the_run_it_replays_did(events: Events) -> None:
    original = Simulated(TRUTH[:50], 10, error_rate=0.3)
    asked = ids(*range(0, 50, 7))
    answers = original.ask(asked)
    events.commit_step(0, {}, {}, asked, answers, "simulated")
    assert said(Replayed(events.labels_now()).ask(asked)) == said(answers)


def test_every_oracle_that_can_be_chosen_has_a_name_and_every_name_an_oracle(tmp_path: Path) -> None:
    oracle, _ = settings_of(Config)["oracle"]
    assert list(oracle.choices) == list(ORACLES)
    with RunDir.create(tmp_path / "run", config={}, data={"fingerprint": "this"}, versions={}):
        pass
    for name in ORACLES:
        config = Config(oracle=name, replay=str(tmp_path / "run") if name == "replay" else None)
        assert said(oracle_by_name(config, TRUTH[:3], 10, "this").ask(NO_IDS)) == []


@pytest.mark.parametrize(("name", "says"), [(PEOPLE, "deepbass label"), (OWN, "pass the oracle itself")])
def test_what_is_only_written_down_cannot_be_asked_by_name(name: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        oracle_by_name(Config(oracle=name), TRUTH[:3], 10, "this")
