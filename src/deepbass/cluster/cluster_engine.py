"""The engine of a run on a cluster: what one process would compute, computed by workers, to the same bits.

A batch is cut into the blocks of 32 that the kernel keeps apart; every worker computes some of them, with the masks
that their rows have in the whole batch, and the driver adds all blocks in their order, as one process does. Whoever
computed a block, and how many workers there are, cannot be seen in the result. Predictions hang on the sample alone.

A model that only torch can run is trained in parts of 64 rows, each with masks of its own, whose gradients are added in
their order: the same bits with any number of workers, and equal to one process up to rounding and masks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from deepbass.cluster.cluster_worker import AsSeen, Batch, ById, EngineParts, PartGradient, Ticket, Weights
from deepbass.cluster.crew import Crew, Job
from deepbass.cluster.object_store import ObjectStore
from deepbass.core.belief import BeliefSum, Floats
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError
from deepbass.core.labels import Classes, Ids
from deepbass.core.need import Need
from deepbass.core.own_parts import OwnParts
from deepbass.core.pool_belief import Columns
from deepbass.core.samples import Samples
from deepbass.learn.engine import Engine, OnShare
from deepbass.learn.kernel.kernel_engine import KernelEngine
from deepbass.learn.kernel.native import BLOCK
from deepbass.learn.slabs import compute_slabs
from deepbass.learn.torch_engine import CHUNK, own_loss, slices

PART = 64  # rows of a batch whose gradient torch computes in one go, on a worker
_WINDOW = 2048  # samples, at most, whose passes are made by one message, but for a window that cannot be smaller
_PREDICTED = 1024  # samples of one message
_CPU = torch.device("cpu")
_FEW = 512  # passes over a sample below which asking somebody else takes longer


class ClusterEngine:
    """Forward and backward passes of a model by workers; what is too little for them is done here."""

    def __init__(
        self,
        crew: Crew,
        store: ObjectStore,
        local: Engine,
        model: nn.Module,
        pool: Samples,
        classes: int,
        config: Config,
        own: OwnParts | None,
    ) -> None:
        if next(model.parameters()).device.type != "cpu":
            raise ConfigError("A cluster of Ray trains on processors: set device = 'cpu'.")
        self.name = local.name
        self._crew, self._store, self._local, self._model, self._pool = crew, store, local, model, pool
        self._classes = classes
        self._config, self._loss = config, own_loss(config, own)
        self._engine: Ticket | None = None  # once it was sent
        self._weights: tuple[Weights, Ticket] | None = None  # as they were last sent
        self._seed, self._step = 0, 0

    @property
    def exits(self) -> bool:
        """Whether passes can be made over a part of the samples: as the engine of one process does."""
        return self._local.exits

    @contextmanager
    def training(self, seed: int) -> Iterator[None]:
        """Draw the masks of the following steps from a seed."""
        self._seed, self._step = seed, 0
        if not self._crew.closed:
            self._crew.refresh()
        with self._local.training(seed):
            yield

    def backward(self, inputs: NDArray[np.float32], classes: Classes) -> None:
        """Set the gradient of the mean loss over some samples as they are given."""
        self._backward(AsSeen(inputs), classes)

    def backward_on(self, ids: Ids, classes: Classes) -> None:
        """Set the gradient of the mean loss over samples of the pool, which workers read for themselves."""
        if self._crew.closed:
            self.backward(self._pool.read(ids), classes)
        else:
            self._backward(ById(self._store.samples(self._pool), ids), classes)

    def _backward(self, batch: Batch, classes: Classes) -> None:
        step, self._step = self._step, self._step + 1
        if isinstance(self._local, KernelEngine):
            self._local.set_gradient(self._blocks(self._local, batch, classes, step).sum(0))
        elif self._crew.closed:
            self._local.backward(self._read(batch), classes)
        else:
            self._backward_in_parts(batch, classes, step)

    def _blocks(self, kernel: KernelEngine, batch: Batch, classes: Classes, step: int) -> NDArray[np.float32]:
        """Compute what all blocks of a batch add to the gradient, in their order, whoever computes which."""
        if self._crew.closed or len(classes) <= BLOCK:
            return kernel.blocks(self._read(batch), classes, self._seed, step)
        jobs, tickets = [], self._tickets()
        for part in cut_blocks(len(classes), BLOCK, len(self._crew.members)):
            place = self._seed, step, part.start, len(classes)
            jobs.append(Job(("blocks", *tickets, batch.at(part), classes[part], *place), part.stop - part.start))
        found = dict(self._crew.run(jobs))
        return np.concatenate([found[place] for place in range(len(jobs))])

    def _backward_in_parts(self, batch: Batch, classes: Classes, step: int) -> None:
        """Add up the gradients of the parts by their share; what a model counts, as BatchNorm does, likewise."""
        jobs, tickets = [], self._tickets()
        for number, part in enumerate(cut_parts(len(classes))):
            place = self._seed, step, number
            jobs.append(Job(("part", *tickets, batch.at(part), classes[part], *place), part.stop - part.start))
        found: dict[int, PartGradient] = dict(self._crew.run(jobs))
        in_order = [(job.size / len(classes), found[place]) for place, job in enumerate(jobs)]
        with torch.no_grad():
            for name, weights in self._model.named_parameters():
                if name in found[0].gradients:
                    gradient = _mean([(share, part.gradients[name]) for share, part in in_order])
                    weights.grad = torch.from_numpy(gradient)
            for name, buffer in self._model.named_buffers():
                buffer.copy_(torch.from_numpy(_mean([(share, part.buffers[name]) for share, part in in_order])))

    def _read(self, batch: Batch) -> NDArray[np.float32]:
        return batch.inputs if isinstance(batch, AsSeen) else self._pool.read(batch.ids)

    def passes(self, ids: Ids, rows: Ids, which: range, seed: int, total: BeliefSum, on_share: OnShare) -> None:
        """Add some dropout passes over ``ids[rows]`` to those rows of a sum.

        The first passes over a row are added up from nothing, the later ones come one by one (learn/passes.py), so the
        sums are the bits of one process.
        """
        if self._crew.closed or len(rows) * len(which) < _FEW or not self._divisible:
            return self._local.passes(ids, rows, which, seed, total, on_share)
        self._crew.refresh()
        unit = BLOCK if isinstance(self._local, KernelEngine) else CHUNK
        size = min(_WINDOW, -(-len(rows) // (2 * max(1, len(self._crew.members)))))  # two messages for each, at least
        tickets, windows = self._tickets(), list(cut_windows(rows, total.start, unit, size))

        def jobs() -> Iterator[Job]:
            for window, here in windows:
                wanted = rows[here] - window.start
                place = which, seed, total.start + window.start
                yield Job(("passes", *tickets, ids[window], wanted, *place), len(wanted) * len(which))

        for done, (place, found) in enumerate(self._crew.run(jobs())):
            total.merge(rows[windows[place][1]], found)
            on_share((done + 1) / len(windows))
        return None

    def compute_slabs(
        self, slabs: Sequence[range], passes: int, seed: int, need: Need, on_share: OnShare
    ) -> Iterator[tuple[range, Columns]]:
        """Have slabs of the pool inferred and reduced, each by one worker, in whatever order they come."""
        if self._crew.closed:
            yield from compute_slabs(
                *(self, self._pool, self._classes, slabs),
                passes=passes, seed=seed, need=need, device=_CPU, on_share=on_share,
            )  # fmt: skip
            return
        self._crew.refresh()
        tickets = self._tickets()
        jobs = (
            Job(("slab", *tickets, slab, passes, seed, need.within(slab)), len(slab) * max(1, passes)) for slab in slabs
        )
        for done, (place, found) in enumerate(self._crew.run(jobs)):
            on_share((done + 1) / len(slabs))
            yield slabs[place], found

    @property
    def _divisible(self) -> bool:
        """Whether masks hang on a row and its pass alone; those that torch draws one after the other do not."""
        return isinstance(self._local, KernelEngine) or self._config.masks == "shared"

    def probabilities(self, samples: Samples, ids: Ids, on_share: OnShare) -> Floats:
        """Predict class probabilities with dropout off."""
        return self.predictions(samples, ids, 0, on_share)

    def predictions(self, samples: Samples, ids: Ids, passes: int, on_share: OnShare) -> Floats:
        """Predict class probabilities of some samples as `mean` does; with no passes, with dropout off."""
        if self._crew.closed or len(ids) * max(1, passes) < _FEW:
            return self._local.predictions(samples, ids, passes, on_share)
        self._crew.refresh()
        held, tickets = self._store.samples(samples), self._tickets()
        parts = slices(len(ids), _PREDICTED)

        jobs = (Job(("predictions", *tickets, ById(held, ids[part]), passes), len(ids[part])) for part in parts)
        probs_N_C = np.empty((len(ids), self._classes))
        for done, (place, found) in enumerate(self._crew.run(jobs)):
            probs_N_C[parts[place]] = found
            on_share((done + 1) / len(parts))
        return probs_N_C

    def mean(self, inputs: NDArray[np.float32], passes: int) -> Floats:
        """Predict class probabilities as the mean over dropout passes with the same masks for every sample."""
        return self._local.mean(inputs, passes)

    def each(self, inputs: NDArray[np.float32], passes: int) -> Floats:
        """Predict class probabilities in each of these passes, T x N x C."""
        return self._local.each(inputs, passes)

    def _tickets(self) -> tuple[Ticket, Ticket]:
        """Hand out the model, once, and its weights, unless they are as they were."""
        if self._engine is None:
            pool = self._store.samples(self._pool)
            made_of = EngineParts(self._model, pool, self._classes, self._config, self._loss, self.name)
            self._engine = self._store.ticket(made_of)
        now = {name: tensor.detach().numpy() for name, tensor in self._model.state_dict().items()}
        if self._weights is None or not all(np.array_equal(now[name], last) for name, last in self._weights[0].items()):
            kept = {name: array.copy() for name, array in now.items()}
            self._weights = kept, self._store.ticket(kept)
        return self._engine, self._weights[1]


def cut_blocks(rows: int, size: int, workers: int) -> list[slice]:
    """Cut rows into one range of whole blocks for every worker, as even as can be, and none that is empty."""
    blocks = -(-rows // size)
    ends = np.linspace(0, blocks, min(max(1, workers), blocks) + 1).round().astype(int) * size
    return [slice(int(start), min(int(stop), rows)) for start, stop in pairwise(ends)]


def cut_windows(rows: Ids, start: int, unit: int, size: int) -> Iterator[tuple[slice, slice]]:
    """Cut rows, which are in order, into windows of whole units, of about one size: all of a window, and who is wanted.

    For torch, a unit is a chunk whose samples share masks. Where few rows of each are wanted, a window spans many.
    """
    units_R = (start + rows) // unit
    first = 0
    for end in [*np.flatnonzero(np.diff(units_R)) + 1, len(rows)]:
        if end - first >= size or end == len(rows):
            lowest = max(0, int(units_R[first]) * unit - start)
            yield slice(lowest, (int(units_R[end - 1]) + 1) * unit - start), slice(first, int(end))
            first = end


def cut_parts(rows: int) -> list[slice]:
    """Cut rows into parts; a last part of one joins the one before, for BatchNorm cannot train on one."""
    parts = slices(rows, PART)
    return [*parts[:-2], slice(parts[-2].start, rows)] if len(parts) > 1 and rows % PART == 1 else parts


def _mean(weighed: Sequence[tuple[float, NDArray[Any]]]) -> NDArray[Any]:
    """Average arrays by their shares, in their order; whole numbers, such as counts of batches, are the first one's."""
    total = weighed[0][1].copy()
    if total.dtype.kind == "f":
        total *= weighed[0][0]
        for share, array in weighed[1:]:
            total += array * total.dtype.type(share)
    return total
