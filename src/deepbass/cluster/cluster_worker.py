"""What runs on every worker of a cluster: models and pools as they are sent, and the work itself.

Every call brings all that its result follows from, so that it can be repeated by another worker, to the same bits.
Models and pools are fetched when they are first needed, and kept.
"""

from __future__ import annotations

import os
import platform
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import ray
import torch
from numpy.typing import NDArray
from ray.exceptions import RaySystemError
from torch import nn

from deepbass.cluster.shared_samples import open_shared
from deepbass.core.belief import BeliefSum, Floats, Partial
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError
from deepbass.core.labels import Classes, Ids
from deepbass.core.need import Need
from deepbass.core.pool_belief import Columns
from deepbass.core.randomness import seed_for
from deepbass.data.pool import Pool
from deepbass.learn.engine import Engine
from deepbass.learn.kernel.kernel_engine import KernelEngine
from deepbass.learn.slabs import compute_slab, seeded
from deepbass.learn.torch_engine import Loss, TorchEngine

Weights = Mapping[str, NDArray[Any]]
_KEPT = 16  # models, and pools, that are kept open
_CPU = torch.device("cpu")


@dataclass(frozen=True)
class Ticket:
    """Names something in the object store: it is fetched by whoever does not have it yet."""

    key: str
    reference: Any


@dataclass(frozen=True)
class EngineParts:
    """What an engine is made of."""

    model: nn.Module
    pool: Ticket
    classes: int
    config: Config
    loss: Loss | None
    name: str  # of the driver's engine: the worker's has to be the same, or rounding would differ


@dataclass(frozen=True)
class ById:
    """Samples that the worker reads for itself."""

    samples: Ticket
    ids: Ids

    def at(self, rows: slice) -> ById:
        """Take some of them."""
        return ById(self.samples, self.ids[rows])


@dataclass(frozen=True)
class AsSeen:
    """Samples as the network sees them: views that only the driver has made."""

    inputs: NDArray[np.float32]

    def at(self, rows: slice) -> AsSeen:
        """Take some of them."""
        return AsSeen(self.inputs[rows])


Batch = ById | AsSeen


@dataclass(frozen=True)
class PartGradient:
    """The gradient of the mean loss over a part of a batch, and what the model has counted meanwhile, by name."""

    gradients: Weights
    buffers: Weights


@dataclass(frozen=True)
class Done:
    """A result, with how long it took here."""

    result: Any
    seconds: float


class ClusterWorker:
    """An actor: one process with so many threads."""

    def __init__(self, threads: int = 1) -> None:
        torch.set_num_threads(threads)
        self._engines: OrderedDict[str, _Held] = OrderedDict()
        self._pools: OrderedDict[str, Pool] = OrderedDict()

    def hello(self) -> tuple[str, int]:
        """Tell that it is there, on which machine and as which process."""
        return platform.node(), os.getpid()

    def work(self, what: str, engine: Ticket, weights: Ticket, *args: Any) -> Done:
        """Do a piece of work with a model as it stands."""
        start = time.perf_counter()
        held = self._kept(self._engines, engine, self._made)
        held.take_up(weights)
        result = getattr(self, f"_{what}")(held, *args)
        return Done(result, time.perf_counter() - start)

    def _made(self, parts: EngineParts) -> _Held:
        return _Held(parts, self._pool(parts.pool))

    def _blocks(
        self, held: _Held, batch: Batch, classes: Classes, seed: int, step: int, first: int, whole: int
    ) -> NDArray[np.float32]:
        """Compute what the blocks of a part of a batch add to the gradient."""
        assert isinstance(held.engine, KernelEngine)
        return held.engine.blocks(self._read(batch), classes, seed, step, first, whole)

    def _part(self, held: _Held, batch: Batch, classes: Classes, seed: int, step: int, place: int) -> PartGradient:
        """Compute the gradient of a part of a batch by torch, with masks that follow from (seed, step, its place)."""
        inputs = self._read(batch)
        held.model.zero_grad()
        own = seed_for(seed, step, f"part {place}")
        with seeded(_CPU, own), held.engine.training(own):
            held.engine.backward(inputs, classes)
        held.forget()  # the model may have counted something
        gradients = {name: w.grad.numpy() for name, w in held.model.named_parameters() if w.grad is not None}
        return PartGradient(gradients, {name: buffer.numpy() for name, buffer in held.model.named_buffers()})

    def _passes(self, held: _Held, ids: Ids, rows: Ids, which: range, seed: int, start: int) -> Partial:
        """Add up dropout passes over some rows of a window of ids, which begins at row ``start`` of all."""
        total = BeliefSum(len(ids), held.parts.classes, start)
        with seeded(_CPU, seed):
            held.engine.passes(ids, rows, which, seed, total, lambda share: None)
        return total.partial(ids, rows, len(which))

    def _slab(self, held: _Held, slab: range, passes: int, seed: int, need: Need) -> Columns:
        """Infer a slab of the pool, and reduce what is believed of it."""
        pool, classes = held.pool, held.parts.classes
        return compute_slab(held.engine, pool, classes, slab, passes=passes, seed=seed, need=need, device=_CPU)

    def _predictions(self, held: _Held, batch: ById, passes: int) -> Floats:
        """Predict as whoever uses the model will."""
        return held.engine.predictions(self._pool(batch.samples), batch.ids, passes, lambda share: None)

    def _read(self, batch: Batch) -> NDArray[np.float32]:
        if isinstance(batch, AsSeen):
            return batch.inputs.copy()  # what was sent may not be written to, and a first layer may work in place
        return self._pool(batch.samples).read(batch.ids)

    def _pool(self, samples: Ticket) -> Pool:
        pool: Pool = self._kept(self._pools, samples, lambda shared: open_shared(shared, _get))
        return pool

    @staticmethod
    def _kept(kept: OrderedDict[str, Any], ticket: Ticket, make: Callable[[Any], Any]) -> Any:
        """Find what a ticket names, or fetch it; what was not used for longest makes room."""
        if ticket.key not in kept:
            kept[ticket.key] = make(_get(ticket.reference))
            while len(kept) > _KEPT:
                kept.popitem(last=False)
        kept.move_to_end(ticket.key)
        return kept[ticket.key]


class _Held:
    """An engine, and the weights that its model has."""

    def __init__(self, parts: EngineParts, pool: Pool) -> None:
        self.parts, self.pool, self.model, self.engine = parts, pool, parts.model, _engine(parts, pool)
        self._weights = ""  # the ticket of those that it has

    def take_up(self, weights: Ticket) -> None:
        """Give the model its weights, unless it has them."""
        if self._weights == weights.key:
            return
        given: Weights = _get(weights.reference)
        with torch.no_grad():
            for name, tensor in self.model.state_dict().items():
                tensor.copy_(torch.tensor(given[name]))
        self._weights = weights.key

    def forget(self) -> None:
        """Take up all weights the next time."""
        self._weights = ""


def _engine(parts: EngineParts, pool: Pool) -> Engine:
    if parts.name == TorchEngine.name:
        return TorchEngine(parts.model, pool, parts.classes, parts.config, _CPU, loss=parts.loss)
    engine = KernelEngine.of(parts.model, pool, parts.classes, parts.config, parts.name)
    if engine is None:
        raise ConfigError(
            f"The worker on {platform.node()} lacks {parts.name!r}, by which the run goes: install deepbass with a "
            "C++ compiler and take machines with the same processors, or set kernel = 'off'."
        )
    return engine


def _get(reference: Any) -> Any:
    try:
        return ray.get(reference)
    except RaySystemError as error:  # what was sent is of a module that is not installed here
        raise ConfigError(f"The worker on {platform.node()} cannot take up what it was sent: {error}.") from None
