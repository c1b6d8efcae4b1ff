"""A cluster comes to the bits of one process: with any number of workers, whoever of them dies and when."""

from __future__ import annotations

import copy
import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

pytest.importorskip("ray")

import ray
from ray.cluster_utils import Cluster as Raylets

from deepbass.cluster.cluster_engine import ClusterEngine
from deepbass.cluster.crew import Crew, Job
from deepbass.cluster.object_store import ObjectStore
from deepbass.core.acquire import top
from deepbass.core.admit import ADMIT
from deepbass.core.config import Config
from deepbass.core.errors import DataError, DeepBassError
from deepbass.core.labels import Answers, Labels
from deepbass.core.score import ENTROPY
from deepbass.data.pool import Pool
from deepbass.learn.choose_learner import learner_for
from deepbass.learn.engine import REPLACED_BY
from deepbass.learn.learner import LocalLearner
from deepbass.learn.models import build
from tests.cluster.raylets import add_node, raylets
from tests.slow import SLOW

CLASSES, SAMPLES = 4, 1200
KINDS: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "kernel": ({"model": "cnn", "batch_size": 200}, (1, 8, 8)),
    "augmented": ({"model": "cnn", "batch_size": 200, "rotate": 10.0}, (1, 8, 8)),
    "teacher": ({"model": "small-cnn", "teacher": 0.9, "batch_size": 100}, (1, 8, 8)),
    "head": ({"model": "linear", "admit": "weighed"}, (6,)),
    "torch": ({"batch_size": 200, "infer_batch": 64}, (6,)),
}
Made = tuple[bytes, list[Any]]


def drawn_moments() -> list[int]:
    """Draw after how many jobs a worker is killed: all over a story, which has some forty."""
    return np.random.default_rng().integers(1, 40, 12).tolist() if SLOW else [3]


class Normed(nn.Module):
    """What the kernel cannot run: BatchNorm, and a forward of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Linear(16, CLASSES)
        self.drop = nn.Dropout(0.3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden: torch.Tensor = self.last(self.drop(torch.relu(self.norm(self.first(x)))))
        return hidden


@pytest.fixture(scope="module")
def several() -> Iterator[Raylets]:
    with raylets(2, processors=2) as there:  # which also disconnects
        ray.init(address=there.address, log_to_driver=False, logging_level=logging.ERROR)
        yield there


@pytest.fixture(scope="module")
def crew(several: Raylets) -> Iterator[Crew]:
    with Crew(3) as made:
        yield made


@pytest.fixture(scope="module")
def single(several: Raylets) -> Iterator[Crew]:
    with Crew(1) as made:
        yield made


@contextmanager
def by(crew: Crew) -> Iterator[None]:
    """Make learners whose engines are of these workers."""
    before = REPLACED_BY.set(partial(ClusterEngine, crew, ObjectStore(crew.log)))
    try:
        yield
    finally:
        REPLACED_BY.reset(before)


def pool_of(shape: tuple[int, ...], folder: Path | None = None) -> Pool:
    """Draw clouds that lie close enough for doubt, of which some rows are used; in a file, or in memory."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(SAMPLES + 100, *shape)) + (np.arange(SAMPLES + 100) % CLASSES).reshape(
        -1, *[1] * len(shape)
    )
    samples = values.astype(np.float32)
    if folder is not None:
        np.save(folder / "samples.npy", samples)
        samples = np.load(folder / "samples.npy", mmap_mode="r")
    return Pool(samples, "row", np.arange(50, SAMPLES + 50))


def story(kind: str, pool: Pool, slab: int | None = None, **more: Any) -> Made:
    """Take a learner through training, inference with early exit, guesses, training and predictions."""
    settings, shape = KINDS[kind]
    config = Config.of({**settings, "iterations": 2, **more})
    torch.manual_seed(0)
    model = Normed() if kind == "torch" else build(config, shape, CLASSES)
    learner = learner_for(model, pool, CLASSES, config)
    if slab is not None:
        learner.slab = slab
    truth = pool.rows % CLASSES
    labels = Labels.none(SAMPLES, CLASSES).answered(Answers(np.arange(0, SAMPLES, 8), truth[::8]))
    learner.train(labels, epochs=3, copies=4, seed=1)
    need = ADMIT["step-wise"].need(0.4, labels) & top(ENTROPY).need(labels.askable, 20)
    belief = learner.infer(None, passes=5, seed=2, need=need)
    sure = np.flatnonzero(belief.entropy < 0.4)
    learner.train(labels.guessed(sure, belief.guess[sure]), epochs=1, copies=2, seed=3)
    return learner.state(), [belief.guess, belief.entropy, belief.passes, learner.predict(pool)]


def assert_same(made: Made, expected: Made) -> None:
    for got, wanted in zip(made[1], expected[1], strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert made[0] == expected[0]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Made]:
    """What one process comes to."""
    known: dict[Any, Made] = {}

    def made(kind: str, slab: int | None = None) -> Made:
        if (kind, slab) not in known:
            known[kind, slab] = story(kind, pool_of(KINDS[kind][1]), slab)
        return known[kind, slab]

    return made


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind == "kernel" else [pytest.mark.slow]) for kind in KINDS]
)
def test_one_process_is_one_worker_is_three(
    single: Crew, crew: Crew, alone: Callable[..., Made], kind: str, tmp_path: Path
) -> None:
    made = []
    for each, workers in ((single, 1), (crew, 3)):
        assert each.gather(workers) == workers
        before = jobs_done(each)
        with by(each):
            made.append(story(kind, pool_of(KINDS[kind][1], tmp_path)))
        assert jobs_done(each) > before
    assert_same(made[1], made[0])
    if kind != "torch":  # its masks are drawn for parts of a batch: by any number of workers, but in no process alone
        assert_same(made[0], alone(kind))


@pytest.mark.slow
def test_slabs_are_computed_and_reduced_by_workers(crew: Crew, alone: Callable[..., Made], tmp_path: Path) -> None:
    assert crew.gather(3) == 3
    with by(crew):
        assert_same(story("kernel", pool_of((1, 8, 8), tmp_path), slab=150), alone("kernel", 150))


def jobs_done(crew: Crew) -> int:
    return sum(tally.messages for each in crew.log.tallies.values() for tally in each.values())


@contextmanager
def meanwhile(crew: Crew, jobs: int, do: Callable[[], None]) -> Iterator[None]:
    """Do something when so many more jobs are done, and others are under way."""
    note, left = crew.log.note, [jobs]

    def noted(*args: Any) -> None:
        note(*args)
        left[0] -= 1
        if left[0] == 0:
            do()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crew.log, "note", noted)
        yield
    assert left[0] <= 0


@pytest.mark.parametrize("jobs", drawn_moments())
def test_a_worker_that_is_killed_changes_nothing(
    crew: Crew, alone: Callable[..., Made], jobs: int, tmp_path: Path
) -> None:
    assert crew.gather(2) >= 2
    lost = crew.log.lost
    victim = crew.members[-1]
    with by(crew), meanwhile(crew, jobs, lambda: os.kill(victim.process, signal.SIGKILL)):
        assert_same(story("kernel", pool_of((1, 8, 8), tmp_path), slab=150), alone("kernel", 150))
    assert crew.log.lost == lost + 1


@pytest.mark.slow
def test_a_machine_that_dies_changes_nothing_and_one_that_joins_is_used(
    crew: Crew, several: Raylets, alone: Callable[..., Made], tmp_path: Path
) -> None:
    assert crew.gather(3) == 3  # of four places, two on each machine
    lost, victim = crew.log.lost, next(iter(several.worker_nodes))
    with by(crew), meanwhile(crew, 5, lambda: several.remove_node(victim, allow_graceful=False)):
        assert_same(story("kernel", pool_of((1, 8, 8), tmp_path), slab=150), alone("kernel", 150))
    assert crew.log.lost > lost
    assert len(crew.members) < 3  # there is no room for more
    add_node(several, processors=2)
    assert crew.gather(3) == 3


def test_there_may_be_more_workers_than_samples(crew: Crew) -> None:
    pool = Pool(np.eye(6, dtype=np.float32), "row")
    labels = Labels.none(6, 2).answered(Answers(np.arange(4), np.arange(4) % 2))
    made = []
    for within in (by(crew), nullcontext()):
        with within:
            config = Config(model="mlp", batch_size=2)
            learner = LocalLearner(build(config, (6,), 2), pool, 2, config)
            learner.train(labels, epochs=2, copies=1, seed=0)
            made.append((learner.state(), learner.infer(None, passes=3, seed=1).mean_N_C.tobytes()))
    assert made[0] == made[1]


def trained_by_torch(pool: Pool, model: nn.Module, **settings: Any) -> LocalLearner:
    config = Config.of({"batch_size": 200, "infer_batch": 64, **settings})
    learner = LocalLearner(model, pool, CLASSES, config)
    ids = np.arange(SAMPLES)
    learner.train(Labels.none(SAMPLES, CLASSES).answered(Answers(ids, ids % CLASSES)), epochs=1, copies=1, seed=1)
    return learner


def test_a_model_of_torch_is_trained_as_in_one_process_up_to_rounding(crew: Crew) -> None:
    """Without dropout and BatchNorm, whose draws and means are those of a part, parts add up to the whole."""
    pool = pool_of((6,))
    model = nn.Sequential(nn.Linear(6, 300), nn.Tanh(), nn.Linear(300, CLASSES))
    with by(crew):
        parts = trained_by_torch(pool, copy.deepcopy(model))
    whole = trained_by_torch(pool, copy.deepcopy(model))
    for got, expected in zip(parts.model.parameters(), whole.model.parameters(), strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-6)
    assert not torch.equal(next(parts.model.parameters()), next(model.parameters()))


def test_samples_that_a_worker_cannot_see_are_named(crew: Crew, tmp_path: Path) -> None:
    pool, lost = pool_of((1, 8, 8), tmp_path), crew.log.lost
    store = ObjectStore(crew.log)
    store.samples(pool)
    (tmp_path / "samples.npy").rename(tmp_path / "moved.npy")
    before = REPLACED_BY.set(partial(ClusterEngine, crew, store))
    try:
        with pytest.raises(DataError, match=r"worker on .* cannot read .*samples\.npy \(No such file"):
            story("kernel", pool)
        (tmp_path / "samples.npy").write_bytes(b"something else")
        with pytest.raises(DataError, match=r"another file at .*samples\.npy: it has 14 bytes"):
            story("kernel", pool)
    finally:
        REPLACED_BY.reset(before)
    assert crew.gather(3) == 3
    assert crew.log.lost == lost  # none of them, for it


@pytest.mark.slow  # three workers have to be started again
def test_what_kills_one_worker_after_the_other_is_given_up(crew: Crew) -> None:
    """As a piece of work does that is too large for the memory of any."""
    nothing = ObjectStore(crew.log).ticket({})
    job = Job((_Deadly(), nothing, nothing), 1)
    assert crew.gather(3) == 3
    lost = crew.log.lost
    with pytest.raises(DeepBassError, match="3 workers were lost over the same piece of work"):
        list(crew.run([job]))
    assert crew.log.lost == lost + 3
    assert crew.gather(1) >= 1  # others have come


@pytest.mark.slow
def test_a_store_that_is_full_is_spilled(crew: Crew, alone: Callable[..., Made]) -> None:
    store = ObjectStore(crew.log)
    held = [store.ticket(np.full(60 * 2**20, number, dtype=np.uint8)) for number in range(3)]  # of 100 MB there are
    with by(crew):
        assert_same(story("kernel", pool_of((1, 8, 8)), slab=150), alone("kernel", 150))
    assert [ray.get(ticket.reference)[0] for ticket in held] == [0, 1, 2]


class _Deadly:
    """Ends the process that unpacks it, as the system's out-of-memory killer does."""

    def __reduce__(self) -> tuple[Callable[[int, int], None], tuple[int, int]]:
        return _end, (0, signal.SIGKILL)


def _end(ignored: int, number: int) -> None:
    os.kill(os.getpid(), number)


def test_engines_of_workers_that_are_gone_go_on_in_this_process(several: Raylets, alone: Callable[..., Made]) -> None:
    gone = Crew(1)
    gone.close()
    with by(gone):
        assert_same(story("kernel", pool_of((1, 8, 8)), slab=150), alone("kernel", 150))
