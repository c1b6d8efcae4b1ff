"""The matrix is the same however it was run: in one go, side by side, stopped, or killed at any moment."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deepbass.bench import runner
from deepbass.bench.cells import FAILED, FINISHED, STARTED, Cell, CellResult
from deepbass.bench.results import Results
from deepbass.bench.runner import Audience, run_matrix
from deepbass.bench.worker import run_cell
from deepbass.core.errors import ConfigError, DataError, StoreError
from deepbass.runs.lifecycle import Watch
from deepbass.store.names import CHECKPOINTS_FOLDER, MATRIX_FILE, RUN_DB_FILE
from deepbass.store.write_errors import now
from tests.bench.here import Here
from tests.bench.tiny import cell, matrix, outcome, outcomes

LONG = 40  # iterations: long enough to be killed in the midst


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results.make(tmp_path / "results")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Run the long matrix in this process, cell by cell, each with an initial model of its own."""
    found = []
    for one in matrix(LONG):
        results = Results.make(tmp_path_factory.mktemp("expected") / "results")
        found.append(outcome(run_cell(one, results)))
    return found


def start(results: Results, workers: int) -> subprocess.Popen[bytes]:
    """Run the long matrix in another process, which has its own process group, as from a terminal."""
    words = [sys.executable, "-m", "tests.bench.tiny", str(results.folder), str(workers), str(LONG)]
    return subprocess.Popen(words, cwd=Path(__file__).parents[2], stderr=subprocess.PIPE, start_new_session=True)


def wait_for(happened: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    while not happened():
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


def newest(results: Results, one: Cell) -> int:
    """Tell the newest iteration that a cell has saved, -1 if there is none."""
    return max((int(place.name) for place in (results.work(one) / CHECKPOINTS_FOLDER).glob("[0-9]*")), default=-1)


def under_way(results: Results, beyond: int) -> bool:
    """Tell whether some cell is beyond an iteration and is not finished."""
    return any(
        newest(results, one) > beyond and not ((record := results.read(one)) and record.finished)
        for one in matrix(LONG)
    )


def group_is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_killed_or_interrupted_and_run_again_equals_not_being_stopped(
    results: Results, expected: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (signal.SIGKILL, signal.SIGINT):
        before = max(2, *(newest(results, one) for one in matrix(LONG)))
        with start(results, 2) as process:
            wait_for(partial(under_way, results, before), process)
            if number == signal.SIGKILL:
                with pytest.raises(StoreError, match=f"in use by process {process.pid}"):
                    run_matrix(matrix(LONG), results)  # two commands do not work in one folder
                time.sleep(random.Random(1).uniform(0, 0.3))
                process.kill()
            else:
                os.killpg(process.pid, number)  # as a terminal does: to the command and its workers
        deadline = time.monotonic() + 30
        while not group_is_gone(process.pid):  # no worker outlives the command
            assert time.monotonic() < deadline
            time.sleep(0.05)
        statuses = {record.status for record in results.records()}
        assert STARTED in statuses
        assert FAILED not in statuses
    monkeypatch.setattr(runner, "LocalProcess", Here)
    run_matrix(matrix(LONG), results)
    assert outcomes(results, matrix(LONG)) == expected


def test_what_is_finished_is_not_run_again_and_a_cell_that_fails_is_kept_with_its_reason_and_the_others_go_on(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those after it too that its process should have run."""
    done, first, wrong, last = cells = [
        cell(name, iterations=1, initial=5_000 if name == "wrong" else 8) for name in ("done", "first", "wrong", "last")
    ]
    run_cell(done, results)
    before = results.file(done).read_bytes()
    ended: list[str] = []
    audience = Audience(on_end=lambda one, record: ended.append(f"{one.row} {record.status}"))
    progress = run_matrix(cells, results, audience=audience, together=lambda one: one.run)
    assert ended == [f"first {FINISHED}", f"wrong {FAILED}", f"last {FINISHED}"]
    assert (progress.finished_before, progress.finished, progress.failed, progress.share) == (1, 2, 1, 1.0)
    assert results.file(done).read_bytes() == before
    records = [results.read(one) for one in (first, wrong, last)]
    assert [record and record.status for record in records] == [FINISHED, FAILED, FINISHED]
    assert "initial = 5000" in str(records[1] and records[1].error)
    monkeypatch.setattr(runner, "LocalProcess", Here)
    again = run_matrix(cells, results)
    assert (again.finished_before, again.finished, again.failed) == (3, 0, 1)  # tried again, no other way


def test_a_worker_that_is_killed_is_a_failed_cell_and_is_tried_again(results: Results) -> None:
    one = cell(iterations=LONG)
    killed: list[int] = []

    def kill(_: object) -> None:
        if not killed and any((results.work(one) / CHECKPOINTS_FOLDER).glob("00000[3-9]")):
            killed.append(json.loads((results.work(one) / "run.lock.json").read_text())["pid"])
            os.kill(killed[0], signal.SIGKILL)

    progress = run_matrix([one], results, audience=Audience(on_progress=kill))
    assert (len(killed), progress.failed) == (1, 1)
    record = results.read(one)
    assert record
    assert "signal 9" in str(record.error)
    assert run_cell(one, results).finished


def test_cells_of_a_run_share_their_initial_model_and_it_changes_nothing(results: Results, tmp_path: Path) -> None:
    asking, guessing = matrix()
    first, second = run_cell(asking, results), run_cell(guessing, results)
    assert (first.initial_shared, second.initial_shared) == (False, True)
    assert first.curve["validation_accuracy"][0] == second.curve["validation_accuracy"][0]
    alone = run_cell(guessing, Results.make(tmp_path / "alone"))
    assert not alone.initial_shared
    assert outcome(alone) == outcome(second)


@pytest.mark.parametrize("more", [{"initial": 10}, {"copies": 3}, {"initial_epochs": 5}, {"dropout": 0.2}])
def test_other_initial_models_are_not_shared(more: dict[str, Any], results: Results) -> None:
    run_cell(cell(iterations=0), results)
    assert not run_cell(cell("other", iterations=0, **more), results).initial_shared


def test_a_result_of_other_settings_does_not_count_and_its_work_is_not_gone_on_with(results: Results) -> None:
    before, after = cell(iterations=3), cell(iterations=3, acquire="random")
    run_cell(before, results)
    assert results.read(after) is None
    record = run_cell(after, results)
    assert record.config["acquire"] == "random"
    assert results.read(before) is None


def test_a_half_made_run_directory_is_begun_again(results: Results) -> None:
    one = cell(iterations=1)
    results.work(one).mkdir(parents=True)
    (results.work(one) / RUN_DB_FILE).write_bytes(b"")
    assert run_cell(one, results).finished


def test_an_error_inside_a_cell_is_written_down_and_raised(results: Results) -> None:
    with pytest.raises(DataError):
        run_cell(cell(initial=5_000), results)
    record = results.read(cell(initial=5_000))
    assert record
    assert (record.status, record.accuracy) == (FAILED, None)


def test_a_cell_taken_up_again_keeps_the_time_of_its_start(results: Results) -> None:
    one = cell(iterations=2)

    def stop(iteration: int, _: object) -> None:
        if iteration == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_cell(one, results, watch=Watch(on_metrics=stop))
    begun = results.read(one)
    assert begun
    assert begun.status == STARTED
    assert run_cell(one, results).started_at == begun.started_at


def test_no_workers_are_refused(results: Results) -> None:
    with pytest.raises(ConfigError, match="--workers 0"):
        run_matrix([], results, workers=0)


@pytest.fixture
def record() -> Iterator[CellResult]:
    yield CellResult(cell(), STARTED, now())


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("all of it")
    with pytest.raises(StoreError, match="choose another --out"):
        Results.make(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_damaged_file_is_named(results: Results, record: CellResult) -> None:
    results.write(record)
    assert results.read(record.cell) == record
    for damage in (b"{", b"[]", b'{"cell": {}}'):
        results.file(record.cell).write_bytes(damage)
        with pytest.raises(StoreError, match=r"asking\.00\.json was changed or is damaged"):
            results.read(record.cell)


def test_results_of_another_format_are_refused(results: Results) -> None:
    (results.folder / MATRIX_FILE).write_text('{"format": 99}')
    with pytest.raises(StoreError, match="format 99"):
        Results.open(results.folder)


def test_cells_can_be_sent_to_another_process() -> None:
    import json

    one = cell()
    assert Cell(**json.loads(json.dumps(one.as_dict()))) == one
