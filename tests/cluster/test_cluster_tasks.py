"""Cells, features and predictions of a cluster are those of this machine, bit for bit, whoever dies meanwhile."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from deepbass.bench.results import Results
from deepbass.bench.runner import Audience, run_matrix
from deepbass.bench.worker import run_cell
from deepbass.cluster.connection import Cluster, connected
from deepbass.cluster.feature_tasks import features_on
from deepbass.core.errors import ConfigError
from deepbass.data.incoming import NewSample, open_input
from deepbass.data.raw_images import ImageFiles
from deepbass.features.compute import Computed, compute_features
from deepbass.runs.prediction_tasks import PredictionTasks
from deepbass.runs.predictor import Predictor
from deepbass.store.names import CHECKPOINTS_FOLDER, RUN_LOCK_FILE
from tests.bench.tiny import matrix, outcome, outcomes
from tests.cluster.raylets import raylets
from tests.runs.trained import make_pictures, on_pictures

pytestmark = pytest.mark.slow
LONG = 25  # iterations: long enough to be killed in the midst


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with raylets(nodes=2) as several, connected(several.address, 2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    results = Results.make(tmp_path_factory.mktemp("expected") / "results")
    return [outcome(run_cell(one, results)) for one in matrix(LONG)]


def test_cells_on_a_cluster_equal_those_of_this_machine_although_a_worker_is_killed(
    cluster: Cluster, tmp_path: Path, expected: list[dict[str, Any]]
) -> None:
    results, cells, killed = Results.make(tmp_path / "results"), matrix(LONG), list[int]()
    notes: list[str] = []

    def kill(_: object) -> None:
        place = results.work(cells[0])
        if not killed and any((place / CHECKPOINTS_FOLDER).glob("00000[2-9]")):
            worker = json.loads((place / f"{RUN_LOCK_FILE}.json").read_text())["pid"]
            task = int(Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1])
            killed.append(task)  # Ray's process on the node: its child, which has the cell, dies with it
            os.kill(task, signal.SIGKILL)

    audience = Audience(on_progress=kill, on_note=notes.append)
    progress = run_matrix(cells, results, workers=2, audience=audience, cluster=cluster)
    assert killed
    assert (progress.finished, progress.failed) == (2, 0)
    assert any("begun again" in note for note in notes)
    assert outcomes(results, cells) == expected
    shared = [record.initial_shared for record in results.records()]
    assert sorted(shared) == [False, True]  # both began at once, and one waited for the other


def test_a_node_that_does_not_see_a_path_is_named_with_the_path_as_it_sees_it(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pool.npy").touch()
    monkeypatch.chdir(tmp_path)
    cluster.can_see([tmp_path, "pool.npy"])
    mine = "/proc/self/cwd/pool.npy"  # another file for every process
    with pytest.raises(
        ConfigError, match=r"Node \S+ \(127.0.0.1, \w+\) does not see /proc/self/cwd/pool.npy, which is"
    ):
        cluster.can_see([mine])


def test_a_folder_of_the_same_name_is_not_the_same_folder(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cluster.can_share(tmp_path)
    with pytest.raises(ConfigError, match=r"does not see /proc/self/cwd,? .*storage that all nodes mount"):
        cluster.can_share(Path("/proc/self/cwd"))
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


OWN = """
import numpy as np

def make():
    return lambda pictures: np.array([[np.asarray(p).mean(), np.asarray(p).std(), len(pictures)] for p in pictures])
"""


def test_features_of_a_cluster_and_their_cache_are_those_of_this_machine(cluster: Cluster, tmp_path: Path) -> None:
    folder = make_pictures(tmp_path / "pictures", 200)
    paths = sorted(folder.glob("*/*.png"))
    paths[7].write_bytes(b"no picture")
    code = tmp_path / "own.py"
    code.write_text(OWN)
    samples = ImageFiles(paths, [path.name for path in paths])
    named = f"{code}:make"

    def compute(cache: str) -> Computed:
        return compute_features(samples, None, named, named=named, cache_folder=tmp_path / cache)

    here = compute("here")
    with features_on(cluster):
        there = compute("there")
    assert here.train.failed == there.train.failed
    assert list(here.train.failed) == [7]
    good = np.delete(np.arange(200), 7)
    np.testing.assert_array_equal(here.train[good], there.train[good])
    kept = [
        {path.name: path.read_bytes() for path in (tmp_path / cache).rglob("*.rows")} for cache in ("here", "there")
    ]
    assert kept[0] == kept[1]


class SmallBatches(Predictor):
    """A predictor with several batches of a few pictures."""

    batch = 16


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    return on_pictures(folder / "run", folder / "pictures")


@pytest.mark.usefixtures("one_thread")
def test_predictions_of_a_cluster_are_those_of_this_machine_in_their_order(
    cluster: Cluster, model: Path, tmp_path: Path
) -> None:
    folder = make_pictures(tmp_path / "pictures")
    (folder / "dark" / "05.png").write_bytes(b"no picture")
    predictor = SmallBatches.load(model)
    here, there = (open_input(str(folder), replace(predictor.wanted, files=files)).items() for files in (False, True))
    expected = list(predictor.stream(here))
    found = list(PredictionTasks(cluster, predictor, model=None, features=None).stream(there))
    assert [(each.name, each.why, each.entropy) for each in found] == [
        (each.name, each.why, each.entropy) for each in expected
    ]
    assert sum(each.probs_C is None for each in found) == 1
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.probs_C, other.probs_C)


def test_no_more_is_read_than_the_workers_have_use_for_and_what_is_due_is_told(cluster: Cluster, model: Path) -> None:
    predictor = SmallBatches.load(model)
    tasks = PredictionTasks(cluster, predictor, model=None, features=None)
    read = 0

    def samples() -> Iterator[NewSample | None]:
        nonlocal read
        while read < 12 * 16 + 3:
            read += 1
            yield NewSample(str(read), np.zeros(predictor.shape, dtype=np.uint8))
        yield None  # a pause on standard input
        pytest.fail("more was asked for before all was told that is due")

    stream = tasks.stream(samples())
    for number in range(1, 12 * 16 + 4):
        assert next(stream).name == str(number)
        assert read <= number + 3 * cluster.workers * 16
