"""What is timed: passes over slabs, features, and training steps, by workers of one cluster on this machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from cluster.cost_model import Network
from cluster.slowed import SlowCrew
from deepbass.cluster.cluster_engine import ClusterEngine
from deepbass.cluster.crew_log import WorkDone
from deepbass.core.config import Config
from deepbass.core.need import every_pass
from deepbass.data.load import load
from deepbass.data.pool import Pool
from deepbass.learn.kernel.kernel_engine import KernelEngine
from deepbass.learn.models import build

CLASSES = 10
PASSES = 3
LOOPBACK = Network()


@dataclass(frozen=True)
class Task:
    """A pool on disk, its classes, and the paper's network for it."""

    pool: Pool
    truth: np.ndarray[Any, np.dtype[np.int64]]
    config: Config
    model: nn.Module
    slab: int  # samples of one message

    @property
    def weights(self) -> int:
        """Count the bytes of the weights, which are those of a block's gradient."""
        return sum(4 * weights.numel() for weights in self.model.parameters())

    def alone(self) -> KernelEngine:
        """Make the engine of one process."""
        engine = KernelEngine.of(self.model, self.pool, CLASSES, self.config)
        assert engine is not None, "there is no build of the kernel for this processor"
        return engine


def mnist_task(folder: Path, slabs: int, slab: int, batch: int) -> Task:
    """Write MNIST's training images, over and over, into a file that is mapped."""
    data = load("mnist", Config())
    rows = np.arange(max(slabs * slab, batch)) % len(data.pool)
    file = folder / "pool.npy"
    written = np.lib.format.open_memmap(file, "w+", np.uint8, (len(rows), *data.pool.shape))
    for start in range(0, len(rows), 10_000):
        part = rows[start : start + 10_000]
        written[start : start + len(part)] = np.round(data.pool.read(part) * 256).astype(np.uint8)
    written.flush()
    config = Config(model="cnn", batch_size=batch, features="pixels")
    pool = Pool(np.load(file, mmap_mode="r"), "train")
    return Task(pool, data.truth[rows], config, build(config, pool.shape, CLASSES), slab)


class Workers:
    """Workers of a cluster, with an engine made of them."""

    def __init__(self, task: Task, most: int) -> None:
        self.task, self.count = task, most
        self.driver_seconds: list[float] = []  # of processor time, in each of the last steps
        self._crew = SlowCrew(most)
        local, store = task.alone(), self._crew.store
        self.engine = ClusterEngine(self._crew, store, local, task.model, task.pool, CLASSES, task.config, None)

    def use(self, count: int, network: Network = LOOPBACK) -> None:
        """Let the first so many work, over a network; they have made their first steps then."""
        self.count = count
        self._crew.use(count, network)
        self.train(2)
        self.at_work()

    def close(self) -> None:
        """Let the workers go."""
        self._crew.close()

    def infer(self, slabs: int) -> float:
        """Make the passes over some slabs; return the seconds."""
        size = self.task.slab
        ranges = [range(start, start + size) for start in range(0, slabs * size, size)]
        start = time.perf_counter()
        found = self.engine.compute_slabs(ranges, PASSES, 0, every_pass(), lambda share: None)
        assert sum(len(columns["guess"]) for _, columns in found) == slabs * size
        return time.perf_counter() - start

    def train(self, steps: int) -> list[float]:
        """Make training steps on batches drawn at random; return the seconds of each."""
        task, rng, took = self.task, np.random.default_rng(0), []
        self.driver_seconds = []
        optimiser = torch.optim.Adam(task.model.parameters(), lr=1e-4)
        with self.engine.training(0):
            for _ in range(steps):
                ids = rng.choice(len(task.pool), task.config.batch_size, replace=False)
                start, computed = time.perf_counter(), time.process_time()
                self.engine.backward_on(ids, task.truth[ids])
                optimiser.step()
                took.append(time.perf_counter() - start)
                self.driver_seconds.append(time.process_time() - computed)
        return took

    def at_work(self) -> WorkDone:
        """Tell what workers have done in all since the last time."""
        log, whole = self._crew.log, WorkDone()
        for each in log.tallies.values():
            for tally in each.values():
                whole += tally
        log.tallies.clear()
        whole.sent, log.handed_out = whole.sent + self.count * log.handed_out, 0  # every machine fetches the weights
        return whole

    def messages(self, times: int) -> list[float]:
        """Time messages without work."""
        took, actor = [], self._crew.members[0].actor
        for _ in range(times):
            start = time.perf_counter()
            _get(actor.hello.remote())
            took.append(time.perf_counter() - start)
        return took


@contextmanager
def workers(task: Task, most: int) -> Iterator[Workers]:
    """Hire workers for as long as the block lasts."""
    hired = Workers(task, most)
    try:
        hired.use(most)
        hired.infer(most)
        yield hired
    finally:
        hired.close()


def _get(reference: Any) -> Any:
    import ray

    return ray.get(reference)
