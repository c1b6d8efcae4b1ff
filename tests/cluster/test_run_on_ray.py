"""A run on a cluster ends as the run of one process: wherever it was begun, killed and resumed."""

from __future__ import annotations

import subprocess
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

import deepbass
from deepbass.core.errors import ConfigError
from deepbass.report import write_report
from deepbass.store.names import CHECKPOINTS_FOLDER, WORKERS_FILE
from tests.cluster.raylets import children_of, until
from tests.runs.small_runs import SMALL, command, everything, run_words

SETTINGS = {**SMALL, "pool": 600, "iterations": 6}
KILLS = 5


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Make the run of one process that others are compared with."""
    out = tmp_path_factory.mktemp("unbroken") / "run"
    deepbass.run("digits", out=out, **SETTINGS)
    return everything(out)


def newest(out: Path) -> int:
    return max((int(place.name) for place in (out / CHECKPOINTS_FOLDER).glob("[0-9]*")), default=-1)


def kill_after(words: list[str], out: Path, iterations: int) -> list[int]:
    """Start a command, end it by signal 9 when so many iterations are saved, and list who worked for it."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while newest(out) < iterations:  # a busy machine is not a failing test
            assert process.poll() is None
            time.sleep(0.01)
        theirs = children_of(process.pid)
    finally:
        process.kill()
        process.wait()
    return theirs


def none_is_there(pids: list[int]) -> bool:
    """Tell whether all processes have ended, zombies aside."""
    states = []
    for pid in pids:
        with suppress(OSError):
            states.append(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0])
    return all(state == "Z" for state in states)


@pytest.mark.slow
def test_a_driver_that_is_killed_goes_on_elsewhere_to_the_same_bits(
    unbroken: dict[str, object], tmp_path: Path
) -> None:
    """Begun on a cluster and killed there, resumed on another one, and at last in one process."""
    out, words = tmp_path / "run", run_words("digits", tmp_path / "run", **SETTINGS)
    for _ in range(KILLS):
        theirs = kill_after([*words, "--ray", "--workers", "2"], out, newest(out) + 1)
        assert theirs
        assert until(partial(none_is_there, theirs), 120), "Ray's processes outlive the command"
        words = command("resume", out)
        if newest(out) >= SETTINGS["iterations"] - 1:
            break
    result = deepbass.resume(out)
    assert everything(out) == unbroken
    assert result.labels is not None


def test_a_run_of_one_process_is_finished_by_a_cluster(unbroken: dict[str, object], tmp_path: Path) -> None:
    out, notes = tmp_path / "run", list[str]()

    class EnoughError(Exception):
        pass

    def stop_after_two(iteration: int, metrics: deepbass.Metrics) -> None:
        if iteration == 2:
            raise EnoughError

    with pytest.raises(EnoughError):
        deepbass.run("digits", out=out, watch=deepbass.Watch(on_metrics=stop_after_two), **SETTINGS)
    deepbass.resume(out, watch=deepbass.Watch(on_note=notes.append), engine="ray", workers=2)
    assert everything(out) == unbroken
    assert any(note.startswith("Ray: 2 workers on 1 node") for note in notes)
    assert (out / WORKERS_FILE).exists()
    page = write_report(out).read_text(encoding="utf-8")
    assert "of a Ray cluster computed this run" in page
    assert "samples a second" in page


def test_what_means_nothing_is_refused(tmp_path: Path) -> None:
    X, y = load_digits(return_X_y=True)
    with pytest.raises(ConfigError, match="engine = 'dask': say 'ray'"):
        deepbass.run(X, y, out=tmp_path / "a", engine="dask", **SETTINGS)
    with pytest.raises(ConfigError, match="--workers 2 is for a cluster"):
        deepbass.run(X, y, out=tmp_path / "b", workers=2, **SETTINGS)
    with pytest.raises(ConfigError, match="is for a cluster: add engine='ray'"):
        deepbass.run(X, y, out=tmp_path / "c", address="127.0.0.1:1", **SETTINGS)
    with pytest.raises(ConfigError, match=r"no Ray cluster at 127\.0\.0\.1:1"):
        deepbass.run(X, y, out=tmp_path / "d", engine="ray", address="127.0.0.1:1", **SETTINGS)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_classifiers_and_sessions_learn_the_same_on_a_cluster() -> None:
    X, y = load_digits(return_X_y=True)
    X, y = X[:700].reshape(-1, 8, 8).astype(np.float32) / 16, y[:700]
    known = np.where(np.arange(len(y)) < 100, y, -1)
    settings: dict[str, Any] = {"initial_epochs": 2, "passes_pool": 3, "passes_known": 3}

    def fitted(**where: Any) -> NDArray[np.float64]:
        model = deepbass.DeepBASSClassifier(model="cnn", iterations=1, settings=settings, random_state=0, **where)
        return model.fit(X, known).predict_proba(X)

    def taught() -> NDArray[np.float64]:
        session = deepbass.Session(X, classes=range(10), model="cnn", seed=0, **settings)
        session.teach(np.arange(100), y[:100])
        session.train()
        return session.predict_proba()

    alone = fitted(), taught()
    with deepbass.on_ray(workers=2) as there:
        np.testing.assert_array_equal(fitted(engine="ray", workers=2), alone[0])  # whose workers are let go at the end
        np.testing.assert_array_equal(taught(), alone[1])
        assert there.crew.members
