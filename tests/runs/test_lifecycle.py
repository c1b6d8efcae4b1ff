"""Runs through the library's front door."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

import deepbass
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError, DataError, StoreError
from deepbass.core.labels import NO_ANSWERS, Answers, Ids
from deepbass.core.quality import Quality
from deepbass.data.load import load
from deepbass.report import write_report
from deepbass.runs.lifecycle import Watch
from deepbass.store import RunDir
from deepbass.store.names import QUALITY_FILE, RUN_DB_FILE, RUN_FILE
from tests.runs.small_runs import SMALL

NEW = ("balanced_accuracy", "macro_f1", "ece", "recall", "commonest")


def blobs(count: int = 150, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 3
    return (rng.normal(size=(count, 5)) + 2 * y[:, None]).astype(np.float32), y


def own_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))


def test_a_run_on_arrays_with_a_model_of_ones_own(tmp_path: Path) -> None:
    X, y = blobs()
    model = own_model()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    result = deepbass.run(X, y, model=model, out=tmp_path / "run", **{**SMALL, "initial_epochs": 150, "copies": 30})
    assert result.accuracy > 0.8
    assert len(result.labels.known) == 20 + 4 * 3
    assert len(result.history) == 9
    assert result.ended == "8 iterations done"
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    loaded = deepbass.load_model(tmp_path / "run", own_model())
    sample = torch.from_numpy(X[:4])
    torch.testing.assert_close(loaded(sample), result.model.eval()(sample))


def test_the_same_seed_gives_the_same_run_and_another_seed_another(tmp_path: Path) -> None:
    first, again, other = (
        deepbass.run("toy", out=tmp_path / name, **{**SMALL, "seed": seed, "iterations": 3})
        for name, seed in [("a", 1), ("b", 1), ("c", 2)]
    )
    assert first.history == again.history
    assert first.labels == again.labels
    assert first.history != other.history


def test_an_unknown_label_is_unknown_even_to_the_simulated_oracle(tmp_path: Path) -> None:
    X, y = blobs()
    hidden = np.flatnonzero(np.arange(150) % 2)
    y[hidden] = -1
    settings = {**SMALL, "ask_count": 30, "acquire": "max-entropy", "initial": 6, "model": "mlp"}
    result = deepbass.run(X, y, out=tmp_path / "run", **settings)
    with RunDir.open(tmp_path / "run", lock=False) as run:
        asked = {row.sample for row in run.events.questions()}
        answered = {row.sample for row in run.events.answers() if row.source == "simulated"}
    assert answered < asked  # some had no answer, and the loop went on
    assert result.history[-1]["known"] == 6 + len(answered)
    assert result.history[-1]["known"] == result.history[-2]["known"]  # everything was asked for; none was left


def test_an_oracle_may_answer_late_and_the_loop_goes_on(tmp_path: Path) -> None:
    """Answers to earlier questions, not to all of them, are taken up in the iteration in which they arrive."""
    X, y = blobs()

    class Late:
        def __init__(self) -> None:
            self.waiting: list[int] = []
            self.given: list[int] = []

        def ask(self, ids: Ids) -> Answers:
            due, self.waiting = self.waiting[:2], [*self.waiting[2:], *ids.tolist()]
            self.given += due
            return Answers(np.array(due, dtype=np.int64), y[due])

    late = Late()
    result = deepbass.run(X, y, oracle=late, out=tmp_path / "run", **{**SMALL, "model": "mlp"})
    assert len(late.given) >= 6
    assert set(late.given) <= set(result.labels.known)
    with RunDir.open(tmp_path / "run", lock=False) as run:
        assert {row.source for row in run.events.answers()} == {"initial", "own"}
        assert run.about["config"]["oracle"] == "(passed in Python)"


def test_an_earlier_run_can_be_replayed(tmp_path: Path) -> None:
    settings = {**SMALL, "iterations": 4}
    first = deepbass.run("toy", out=tmp_path / "first", **settings)
    again = deepbass.run("toy", out=tmp_path / "again", replay=str(tmp_path / "first"), **settings)
    assert again.labels == first.labels
    with pytest.raises(ConfigError, match="made on other data"):
        deepbass.run("toy", out=tmp_path / "x", replay=str(tmp_path / "first"), **{**settings, "seed": 9})
    assert not (tmp_path / "x").exists()


def test_an_oracle_of_ones_own(tmp_path: Path) -> None:
    class Shy:
        def __init__(self) -> None:
            self.questions = 0

        def ask(self, ids: Ids) -> Answers:
            self.questions += len(ids)
            return NO_ANSWERS

    shy = Shy()
    result = deepbass.run("toy", oracle=shy, out=tmp_path / "run", **SMALL)
    assert shy.questions == 12
    assert len(result.labels.known) == 20


def test_wrong_answers_come_at_the_rate_asked_for(tmp_path: Path) -> None:
    settings = {**SMALL, "acquire": "random", "ask_count": 50, "ask_every": 1, "iterations": 3, "pool": 400}
    deepbass.run("toy", out=tmp_path / "run", oracle_error=0.5, **settings)
    truth = load("toy", Config.of({"pool": 400})).truth
    with RunDir.open(tmp_path / "run", lock=False) as run:
        answers = [row for row in run.events.answers() if row.source == "simulated"]
    wrong = np.mean([truth[row.sample] != row.class_ for row in answers])
    assert len(answers) == 150
    assert 0.35 < wrong < 0.65


def test_resume_in_python_with_data_and_model_given_again(tmp_path: Path) -> None:
    X, y = blobs()

    def stop(iteration: int, metrics: object) -> None:
        if iteration == 3:
            raise KeyboardInterrupt

    whole = deepbass.run(X, y, model=own_model(), out=tmp_path / "whole", **SMALL)
    with pytest.raises(KeyboardInterrupt):
        deepbass.run(X, y, model=own_model(), out=tmp_path / "part", watch=Watch(on_metrics=stop), **SMALL)
    with pytest.raises(StoreError, match="not finished"):
        deepbass.load_model(tmp_path / "part", own_model())
    with pytest.raises(DataError, match="started on arrays"):
        deepbass.resume(tmp_path / "part", model=own_model())
    with pytest.raises(ConfigError, match="passed in Python"):
        deepbass.resume(tmp_path / "part", X, y)
    with pytest.raises(DataError, match="not what the run"):
        deepbass.resume(tmp_path / "part", X + 1, y, model=own_model())
    told: list[Config] = []
    resumed = deepbass.resume(tmp_path / "part", X, y, model=own_model(), watch=Watch(on_config=told.append))
    assert [config.iterations for config in told] == [SMALL["iterations"]]  # whoever shows how far it is has to know
    assert resumed.history == whole.history
    assert resumed.labels == whole.labels


def test_a_finished_run_resumed_is_the_same_run(tmp_path: Path) -> None:
    first = deepbass.run("toy", out=tmp_path / "run", **SMALL)
    assert deepbass.resume(tmp_path / "run").history == first.history


def test_a_run_of_a_version_that_measured_less_is_resumed_and_reported(tmp_path: Path) -> None:
    measured = deepbass.run("toy", out=tmp_path / "run", **SMALL).history[-1]
    before = (tmp_path / "run" / QUALITY_FILE).read_bytes()
    (tmp_path / "run" / QUALITY_FILE).unlink()
    with closing(sqlite3.connect(tmp_path / "run" / RUN_DB_FILE)) as db, db:
        triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        new = ", ".join(f"'$.{name}'" for name in NEW)
        db.execute(f"UPDATE steps SET metrics = json_remove(metrics, {new})")
        for _, sql in triggers:
            db.execute(sql)
    write_report(tmp_path / "run")
    result = deepbass.resume(tmp_path / "run")
    assert dict(result.history[-1]).keys() == dict(measured).keys() - set(NEW)
    assert (tmp_path / "run" / QUALITY_FILE).read_bytes() == before  # the final model is judged again


def test_a_run_directory_can_be_moved(tmp_path: Path) -> None:
    def stop(iteration: int, metrics: object) -> None:
        if iteration == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        deepbass.run("toy", out=tmp_path / "here", watch=Watch(on_metrics=stop), **SMALL)
    (tmp_path / "here").rename(tmp_path / "there")
    assert len(deepbass.resume(tmp_path / "there").history) == 9


def test_metrics_are_what_they_say(tmp_path: Path) -> None:
    result = deepbass.run("toy", out=tmp_path / "run", **{**SMALL, "admit": "all-data", "initial_epochs": 100})
    first, last = result.history[0], result.history[-1]
    assert (first["known"], first["members"], first["entropy_pool"]) == (20, 0, None)
    assert last["known"] == len(result.labels.known)
    assert last["members"] == len(result.labels.members) == 200 - len(result.labels.known)
    for name in ("validation_accuracy", "pseudo_accuracy", "guess_accuracy", "entropy_known", "entropy_pool"):
        value = last[name]
        assert value is not None and 0 <= value <= 1
    for value in (last["balanced_accuracy"], last["macro_f1"], last["ece"], last["commonest"]):
        assert value is not None and 0 <= value <= 1
    recall = [share for share in last["recall"] or [] if share is not None]
    assert np.mean(recall) == pytest.approx(last["balanced_accuracy"])
    kept = Quality.of_dict(json.loads((tmp_path / "run" / QUALITY_FILE).read_text()), len(result.classes))
    assert (kept.accuracy, kept.recall, kept.ece) == (result.accuracy, last["recall"], last["ece"])
    assert first["passes"] is None
    assert all(row["passes"] == 3 for row in result.history[1::2])  # asking by a bar that the whole pool sets
    spared = [row["passes"] for row in result.history[2::2]]
    assert all(passes is not None and 2 <= passes < 3 for passes in spared)
    about = json.loads((tmp_path / "run" / RUN_FILE).read_text())
    assert about["data"]["parameters"] == 5352
    assert about["config"]["admit"] == "all-data"


def test_bad_input_leaves_no_directory_behind(tmp_path: Path) -> None:
    X, y = blobs()
    with pytest.raises(DataError):
        deepbass.run(
            X, y, out=tmp_path / "run", **{**SMALL, "initial": 2, "start": "balanced"}
        )  # a class without a label
    with pytest.raises(DataError, match="call run"):
        deepbass.run(X)
    with pytest.raises(ConfigError, match="logits"):
        deepbass.run(X, y, model=nn.Sequential(nn.Dropout(0.1), nn.Linear(5, 2)), out=tmp_path / "run", **SMALL)
    assert not (tmp_path / "run").exists()
