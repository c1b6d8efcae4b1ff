"""The local learner: a model, its optimiser and its pool in this process. The only thing that changes in a run."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np
import safetensors.torch
import torch
from numpy.typing import NDArray
from torch import nn

from deepbass.core.belief import Belief, BeliefSum, Floats
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError, StoreError
from deepbass.core.foreign import guarded, reason_of
from deepbass.core.guard import Evidence
from deepbass.core.labels import UNKNOWN, Answers, Classes, Ids, Labels, shuffled
from deepbass.core.loop import UNTRAINED
from deepbass.core.need import EVERYTHING, Need
from deepbass.core.own_parts import OwnParts
from deepbass.core.pool_belief import gathered
from deepbass.core.quality import Quality
from deepbass.core.randomness import generator, seed_for
from deepbass.core.samples import Samples
from deepbass.learn.augment import augment, augments
from deepbass.learn.engine import REPLACED_BY, Engine, SpreadEngine
from deepbass.learn.kernel.kernel_engine import KernelEngine
from deepbass.learn.optimisation import Optimisation
from deepbass.learn.packed_state import as_bytes, pack, unpack, weights_of
from deepbass.learn.passes import make_passes
from deepbass.learn.slabs import SLAB, compute_slabs, seeded, slabs_of
from deepbass.learn.torch_engine import TorchEngine, own_loss, slices

OnProgress = Callable[[str, float], None]  # what is being done, and the share that is done


class LocalLearner:
    """Trains and asks a model. Satisfies the loop's Learner protocol."""

    slab = SLAB  # samples that are inferred at a time, where the pool has more
    evidence: Evidence | None = None  # what known labels that were kept from guesses say of them
    advice_in_words: str | None = None  # what came of advice to the network, if it had any

    def __init__(
        self,
        model: nn.Module,
        pool: Samples,
        classes: int,
        config: Config,
        on_progress: OnProgress = lambda what, share: None,
        own: OwnParts | None = None,
    ) -> None:
        self._augments = augments(config, pool.shape)
        self.device = pick_device(config.device)
        self.model = model.to(self.device)
        self.seconds: defaultdict[str, float] = defaultdict(float)  # time spent, by what it was spent on
        self._pool, self._classes, self._config = pool, classes, config
        self._on_progress = on_progress
        self._engine: Engine = TorchEngine(self.model, pool, classes, config, self.device, loss=own_loss(config, own))
        with (
            seeded(self.device, seed_for(config.seed, UNTRAINED, "lazy weights")),
            guarded(partial(_misfit, pool.shape)),
        ):
            self.probabilities(pool, np.arange(2))  # a misfit shows at once, and lazy layers learn their size
        self._engine = engine_for(self.model, pool, classes, config, self.device, self._engine, own)
        self._optimisation = Optimisation(self.model, config, own)

    @property
    def engine(self) -> str:
        """Name what runs the model: torch, or the kernel and its build. Results differ between them in rounding."""
        return self._engine.name

    @property
    def places(self) -> Samples:
        """Tell where the pool's samples lie, for whoever asks for some of them with regard to others."""
        return self._pool

    def rehearse(self) -> None:
        """Make a few dropout passes over a few samples, to refuse a model without dropout before it is trained."""
        passes = min(self._config.passes_pool, 4)
        self.infer(np.arange(min(32, len(self._pool))), passes=passes, seed=0)
        self.seconds.clear()

    def train(self, labels: Labels, *, epochs: int, copies: int, seed: int) -> None:
        """Minimise the cross-entropy (eq. 1) plus L2 over the curriculum, in a fresh random order every epoch."""
        ids, classes = labels.curriculum(copies)
        rng = np.random.default_rng(seed)
        views = generator(seed, 0, "augment")  # a stream of its own: order and masks are those of a run without
        with self._timed("train"), seeded(self.device, seed), self._engine.training(seed):
            for epoch in range(epochs):
                batches = batches_of(shuffled(len(ids), rng), self._config.batch_size)
                for done, rows in enumerate(batches):
                    self._on_progress("training", (epoch + done / len(batches)) / epochs)
                    self._optimisation.zero_grad()
                    known = classes[rows].astype(np.int64)
                    if self._augments:
                        self._engine.backward(self._shown(ids[rows], labels, views), known)
                    else:
                        self._engine.backward_on(ids[rows], known)
                    self._optimisation.step()
                if batches:
                    self._optimisation.end_epoch()

    def infer(self, ids: Ids | None, *, passes: int, seed: int, need: Need = EVERYTHING) -> Belief:
        """Average the probabilities over dropout passes (eq. 6), as far as needed; zero passes mean one without."""
        if ids is None and len(self._pool) > self.slab:
            return self._infer_slabs(passes, seed, need)
        what = "infer pool" if ids is None else "infer known"
        wanted = np.arange(len(self._pool)) if ids is None else ids
        total = BeliefSum(len(wanted), self._classes)

        def on_share(share: float) -> None:
            self._on_progress(what, share)

        with self._timed(what), seeded(self.device, seed):
            if passes == 0:
                total.add(slice(None), self._engine.probabilities(self._pool, wanted, on_share))
            else:
                make_passes(self._engine, wanted, passes, seed, total, need, on_share)
        return replace(total.belief(wanted), each=self._each)

    def _infer_slabs(self, passes: int, seed: int, need: Need) -> Belief:
        """Infer a large pool slab by slab, each reduced to what is read of it before the next is begun."""
        slabs = slabs_of(len(self._pool), self.slab)
        on_share = partial(self._on_progress, "infer pool")
        with self._timed("infer pool"):
            if isinstance(self._engine, SpreadEngine):
                parts = self._engine.compute_slabs(slabs, passes, seed, need, on_share)
            else:
                parts = compute_slabs(
                    *(self._engine, self._pool, self._classes, slabs),
                    passes=passes, seed=seed, need=need, device=self.device, on_share=on_share,
                )  # fmt: skip
            return gathered(parts, len(self._pool), self._each)

    def evaluate(self, samples: Samples, labels: Classes) -> Quality:
        """Judge the model by its predictions: accuracy and all else come from one of each sample."""
        with self._timed("evaluate"):
            return Quality.of(self.predict(samples), labels)

    def predict(self, samples: Samples, ids: Ids | None = None) -> Floats:
        """Predict class probabilities of some samples, or of all, as whoever uses the model will: see `Engine.mean`."""
        return self._predicted_by(self._engine, samples, ids)

    def plain_from(self, answers: Answers, samples: Samples) -> Floats | None:
        """Predict as plain supervised learning from other labels would; None where that takes too long to find out."""
        return None

    def predict_plain(self, samples: Samples, ids: Ids | None = None) -> Floats | None:
        """Predict as a network would that has learned from known labels alone; None where there is none beside."""
        return None

    def probabilities(self, samples: Samples, ids: Ids | None = None) -> Floats:
        """Predict class probabilities of some samples, or of all, with dropout off, one row per sample."""
        wanted = np.arange(len(samples)) if ids is None else ids
        return self._engine.probabilities(samples, wanted, lambda share: self._on_progress("evaluating", share))

    def calibrated(self, belief: Belief) -> Belief:
        """Make a belief as sure as predictions are, for people to see."""
        return belief

    def weights(self) -> dict[str, torch.Tensor]:
        """Name the weights of the network as it is used, apart from what goes on training."""
        return {name: tensor.detach().cpu().clone().contiguous() for name, tensor in self.model.state_dict().items()}

    def trained_model(self) -> nn.Module:
        """Hand out the network as it is used, in evaluation mode."""
        return self.model.eval()

    def state(self) -> bytes:
        """Pack the weights and the optimiser's state as safetensors."""
        return as_bytes({**pack(self.model), **self._optimisation.tensors()})

    def restore(self, state: bytes) -> None:
        """Take up a packed state; the model must be the one that was packed."""
        with guarded(lambda cause: StoreError(f"The checkpoint does not fit the model: {cause}")):
            tensors = safetensors.torch.load(state)
            unpack(tensors, self.model)
            self._optimisation.take_up(tensors)

    def weight_names(self) -> list[str]:
        """Name the weights in the order in which the optimiser's state is packed."""
        names = {weights: name for name, weights in self.model.named_parameters()}
        return [names[weights] for weights in weights_of(self._optimisation.optimiser)]

    def _predicted_by(self, engine: Engine, samples: Samples, ids: Ids | None) -> Floats:
        wanted, passes = np.arange(len(samples)) if ids is None else ids, self._config.predict_passes
        return engine.predictions(samples, wanted, passes, lambda share: self._on_progress("evaluating", share))

    def _each(self, ids: Ids, passes: int) -> Floats:
        return self._engine.each(self._pool.read(ids), passes)

    def _shown(self, ids: Ids, labels: Labels, views: np.random.Generator) -> NDArray[np.float32]:
        """Read samples to train on, those with a known label augmented; guesses never are."""
        inputs = self._pool.read(ids)
        known_N = labels.answer[ids] != UNKNOWN
        inputs[known_N] = augment(inputs[known_N], self._config.rotate, self._config.stretch, views)
        return inputs

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[what] += time.perf_counter() - start


def engine_for(
    model: nn.Module,
    pool: Samples,
    classes: int,
    config: Config,
    device: torch.device,
    torchs: Engine | None = None,
    own: OwnParts | None = None,
) -> Engine:
    """Choose what runs a model: the kernel where it can, else ``torchs`` engine, which is made if it is not there.

    The kernel has the cross-entropy built in: with a loss of the user's own torch runs the model.
    """
    loss = own_loss(config, own)
    engine: Engine | None = None
    if device.type == "cpu" and loss is None:
        engine = KernelEngine.of(model, pool, classes, config)
    if engine is None:
        if len(pool.shape) == 3:  # images: torch's convolutions are over twice as fast with channels last
            model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        engine = torchs or TorchEngine(model, pool, classes, config, device, loss=loss)
    replace_by = REPLACED_BY.get()
    return engine if replace_by is None else replace_by(engine, model, pool, classes, config, own)


def _misfit(shape: tuple[int, ...], cause: Exception) -> ConfigError:
    return ConfigError(
        f"The model does not take samples of shape {shape}, a batch of them in front: {reason_of(cause)}. Make one for "
        "such samples."
    )


def pick_device(name: str) -> torch.device:
    """Find the device: auto takes cuda, then mps, then cpu; cuda:1 is the second of its kind."""
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        name = next(device for device, there in available.items() if there)
    kind, _, number = name.partition(":")
    if available[kind] and kind == "cuda" and number and int(number) >= torch.cuda.device_count():
        raise ConfigError(f"Device {name!r} is not there: there are {torch.cuda.device_count()}, counted from 0.")
    if not available[kind]:
        there = ", ".join(device for device, usable in available.items() if usable)
        raise ConfigError(f"Device {name!r} is not available here. Available: {there}; 'auto' picks one.")
    return torch.device(name)


def batches_of(order: Ids, size: int) -> list[Ids]:
    """Cut an order into batches; a last batch of one joins the one before, for BatchNorm cannot train on one."""
    batches = [order[rows] for rows in slices(len(order), size)]
    if len(batches) > 1 and len(batches[-1]) == 1:
        batches[-2:] = [np.concatenate(batches[-2:])]
    return batches
