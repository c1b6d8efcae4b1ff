"""A cell of a comparison: fair draws, no look at what is to be judged by, and the same after any kill."""

from __future__ import annotations

import csv
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from deepbass.bench.cells import CellResult
from deepbass.bench.results import COMPARE, Results
from deepbass.bench.worker import run_cell
from deepbass.compare.compare_worker import draw_labels, finish_method, plain_task
from deepbass.compare.methods import METHODS
from deepbass.compare.plan import look_at_data, make_plan
from deepbass.core.config import Config
from deepbass.core.labels import UNKNOWN
from deepbass.data.load import Data, from_arrays
from deepbass.data.pool import Pool
from deepbass.store.names import CHECKPOINTS_FOLDER
from tests.compare.made_up import comparison, run_tiny, tiny

SAME = ("cell", "status", "labels", "accuracy", "balanced_accuracy", "macro_f1", "notes", "error")


def outcome(record: CellResult | None) -> dict[str, Any]:
    """Collect what two equal cells share to the last bit."""
    assert record is not None
    return {name: getattr(record, name) for name in SAME}


@pytest.fixture
def data() -> Data:
    rng = np.random.default_rng(0)
    y = np.where(rng.random(200) < 0.9, 0, 1)
    y[:20] = UNKNOWN
    return from_arrays(rng.normal(size=(200, 3)).astype(np.float32), y, config=Config())


def test_fewer_labels_are_always_among_more_and_the_same_for_every_method(data: Data) -> None:
    few, more, most = (draw_labels(data, Config(seed=3), labels) for labels in (5, 20, 60))
    assert set(few) < set(more) < set(most)
    assert (data.truth[most] != UNKNOWN).all()
    np.testing.assert_array_equal(few, draw_labels(data, Config(seed=3, admit="none"), 5))
    assert set(few) != set(draw_labels(data, Config(seed=4), 5))


def test_labels_are_not_drawn_by_class(data: Data) -> None:
    other = replace(data, truth=np.where(data.truth == UNKNOWN, UNKNOWN, 1 - data.truth))
    drawn, turned = (draw_labels(each, Config(seed=1), 30) for each in (data, other))
    np.testing.assert_array_equal(drawn, turned)


def test_a_plain_method_is_not_shown_the_validation_part(data: Data) -> None:
    class Closed:
        def __getattr__(self, name: str) -> object:
            raise AssertionError(f"the validation part was looked at: {name}")

    blind = replace(data, validation=cast(Pool, Closed()), validation_labels=cast(Any, Closed()))
    task = plain_task(blind, Config(seed=1), 30)
    assert (len(task.X), len(task.y)) == (30, 30)
    assert len(task.others) == len(data.pool) - 30
    held = {row.tobytes() for row in data.validation.read(np.arange(len(data.validation)))}
    assert not held & {row.tobytes() for row in np.concatenate([task.X, task.others])}


def test_every_method_gets_as_many_labels_as_it_is_said_to(tmp_path: Path) -> None:
    results = Results.make(tmp_path / "results", COMPARE)
    methods = ("commonest", "supervised", "random-questions", "paper", "all-labels")
    plan = replace(tiny(methods=methods), settings={**tiny().settings, "ask_every": 1, "iterations": 4})
    for cell in plan.cells():
        if (cell.row, cell.tier) not in (("supervised", "12"), ("paper", "16")):  # the paper's takes long
            record = run_cell(cell, results, finish=finish_method)
            assert record.labels == (1_000 if cell.row == "all-labels" else 16), cell.key
            assert record.accuracy is not None
            assert record.balanced_accuracy is not None
    supervised = results.read(next(cell for cell in plan.cells() if (cell.row, cell.tier) == ("supervised", "16")))
    assert supervised is not None
    assert {supervised.config[name] for name in ("admit", "acquire")} == {"none"}
    assert supervised.config["start"] == "random"


def test_texts_of_a_table_are_compared_on_the_same_features(tmp_path: Path) -> None:
    file = tmp_path / "messages.csv"
    days = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    with file.open("w", newline="", encoding="utf-8") as opened:
        table = csv.writer(opened)
        table.writerow(["said", "kind"])
        for number in range(120):
            spam = number % 3 == 0
            said = f"{'win cash now' if spam else 'see you at lunch'} {days[number % 7]} {days[number // 7 % 7]}"
            table.writerow([said, "spam" if spam else "ham"])  # words that tell them apart: copies are not asked about
    settings = {"text": "said", "target": "kind", "features": "words"}
    facts = look_at_data(str(file), settings, 0)
    methods = [METHODS[name] for name in ("logistic-regression", "deepbass")]
    plan = make_plan(str(file), facts, (20,), methods, 1, 0, settings)
    results = Results.make(tmp_path / "results", COMPARE)
    for cell in plan.cells():
        record = run_cell(cell, results, finish=finish_method)
        assert record.accuracy is not None
        assert record.accuracy > 0.9, cell.key
        assert record.labels == int(cell.tier)


@pytest.mark.slow  # tests/bench/test_runner.py kills the same workers
def test_killed_with_signal_9_and_run_again_equals_not_being_killed(tmp_path: Path) -> None:
    alone = Results.make(tmp_path / "alone", COMPARE)
    expected = [outcome(run_cell(cell, alone, finish=finish_method)) for cell in tiny().cells()]
    results = Results.make(tmp_path / "results", COMPARE)
    (ours,) = (cell for cell in tiny().cells() if cell.row == "deepbass")
    words = [sys.executable, "-m", "tests.compare.made_up", str(results.folder)]
    with subprocess.Popen(words, cwd=Path(__file__).parents[2], start_new_session=True) as process:
        while not any((results.work(ours) / CHECKPOINTS_FOLDER).glob("00000[3-9]")):
            assert process.poll() is None
            time.sleep(0.005)
        process.kill()
    before = {cell.key: results.file(cell).read_bytes() for cell in tiny().cells() if cell.row != "deepbass"}
    assert not ((record := results.read(ours)) and record.finished)
    run_tiny(results, tiny())
    assert [outcome(results.read(cell)) for cell in tiny().cells()] == expected
    assert before == {cell.key: results.file(cell).read_bytes() for cell in tiny().cells() if cell.row != "deepbass"}


def test_the_numbers_of_labels_of_a_method_share_a_process() -> None:
    from deepbass.compare.plan import same_process

    cells = comparison(runs=1).cells()
    groups = {same_process(cell) for cell in cells}
    assert len(groups) == 1 + len({cell.row for cell in cells if same_process(cell)[1] != "scikit-learn"})
