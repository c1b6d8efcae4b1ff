"""Run a chain through the compiled kernel, with the model's own parameters and gradients as torch holds them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from deepbass.core.belief import BeliefSum, Floats
from deepbass.core.config import Config
from deepbass.core.labels import Classes, Ids
from deepbass.core.samples import Samples
from deepbass.learn.engine import PREDICTION, OnShare, predict_in_parts
from deepbass.learn.kernel.native import Chain, build, widths
from deepbass.learn.kernel.stages import stages_of
from deepbass.learn.torch_engine import check_finite, slices

_CHUNK = 2048  # samples read at a time
MISSING = (
    "The network runs on torch alone: deepbass was installed without a C++ compiler, and so without its quicker "
    "kernel. Install one (apt install g++), then deepbass again."
)


class KernelEngine:
    """Forward and backward passes of a chain, sample by sample in the cache. Every sample has masks of its own."""

    name = "kernel"
    exits = True  # masks depend on (seed, sample, pass), so passes can stop for one sample and go on for another

    def __init__(self, chain: Chain, layers: list[nn.Conv2d | nn.Linear], pool: Samples, config: Config) -> None:
        self._chain, self._layers, self._pool, self._config = chain, layers, pool, config
        self._seed, self._step = 0, 0

    @classmethod
    def of(
        cls, model: nn.Module, pool: Samples, classes: int, config: Config, like: str | None = None
    ) -> KernelEngine | None:
        """Make an engine when the model is a chain, has dropout, and there is a build for this processor.

        With the name of another engine, ``like``, it is made of the same build: others round otherwise.
        """
        found = stages_of(model, pool.shape) if config.kernel == "auto" else None
        fitting = [name for name in widths() if like in (None, f"{cls.name} {name}")] if found else []
        name = next(iter(fitting), None)
        library = build(name) if name else None
        if found is None or library is None:
            return None
        stages, layers = found
        if stages[-1].outs != classes or not any(stage.cut or stage.cut_after for stage in stages):
            return None  # torch's engine has the words for it
        engine = cls(Chain(library, stages, torch.get_num_threads()), layers, pool, config)
        engine.name = f"kernel {name}"
        return engine

    @staticmethod
    def is_missed(model: nn.Module, pool: Samples, config: Config) -> bool:
        """Tell whether the model is a chain that runs without the kernel only because no build of it is installed."""
        return config.kernel == "auto" and not widths() and stages_of(model, pool.shape) is not None

    @contextmanager
    def training(self, seed: int) -> Iterator[None]:
        """Draw the masks of the following steps from a seed."""
        self._seed, self._step = seed, 0
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # torch has only Adam to do, too little for threads that wait for one another
        try:
            yield
        finally:
            torch.set_num_threads(threads)

    def backward(self, inputs: NDArray[np.float32], classes: Classes) -> None:
        """Set the gradient of the mean cross-entropy (eq. 1) over some samples, with dropout."""
        self.set_gradient(self.blocks(inputs, classes, self._seed, self._step).sum(0))
        self._step += 1

    def backward_on(self, ids: Ids, classes: Classes) -> None:
        """Set the gradient over some samples of the pool, as they are."""
        self.backward(self._pool.read(ids), classes)

    def blocks(
        self,
        inputs: NDArray[np.float32],
        classes: Classes,
        seed: int,
        step: int,
        first: int = 0,
        whole: int | None = None,
    ) -> NDArray[np.float32]:
        """Compute what every block of a batch, or of a part, adds to the gradient: see `Chain.block_gradients`."""
        size = len(self._load())
        blocks, logits = self._chain.block_gradients(inputs, classes, seed, step, size, first=first, whole=whole)
        check_finite(bool(np.isfinite(logits).all()), self._config)
        return blocks

    def set_gradient(self, flat: NDArray[np.float32]) -> None:
        """Give every layer its part of the gradient."""
        start = 0
        for layer in self._layers:
            for weights, size in ((layer.weight, layer.weight.numel()), (layer.bias, len(layer.weight))):
                if weights is not None and weights.requires_grad:
                    weights.grad = torch.from_numpy(flat[start : start + size]).view(weights.shape)
                start += size

    def passes(self, ids: Ids, rows: Ids, which: range, seed: int, total: BeliefSum, on_share: OnShare) -> None:
        """Add some dropout passes over ``ids[rows]`` to those rows of a sum."""
        self._load()
        for part in slices(len(rows), _CHUNK):
            on_share(part.start / len(rows))
            wanted = ids[rows[part]]
            probs_B_T_C = self._softmax(self._chain.infer(self._pool.read(wanted), wanted, seed, which))
            for place in range(len(which)):
                total.add(rows[part], probs_B_T_C[:, place])

    def probabilities(self, samples: Samples, ids: Ids, on_share: OnShare) -> Floats:
        """Predict class probabilities with dropout off."""
        self._load()
        probs_N_C = np.empty((len(ids), self._chain.classes))
        for part in slices(len(ids), _CHUNK):
            on_share(part.start / len(ids))
            probs_N_C[part] = self._softmax(self._chain.infer(samples.read(ids[part]), ids[part], 0, None))[:, 0]
        return probs_N_C

    def mean(self, inputs: NDArray[np.float32], passes: int) -> Floats:
        """Predict class probabilities as the mean over dropout passes with the same masks for every sample."""
        mean_B_C: Floats = self._with_one_mask(inputs, passes).mean(1, dtype=np.float64)
        return mean_B_C

    def predictions(self, samples: Samples, ids: Ids, passes: int, on_share: OnShare) -> Floats:
        """Predict class probabilities of some samples as `mean` does; with no passes, with dropout off."""
        return predict_in_parts(self, samples, ids, passes, on_share)

    def each(self, inputs: NDArray[np.float32], passes: int) -> Floats:
        """Predict class probabilities in each of these passes, T x N x C."""
        return np.moveaxis(self._with_one_mask(inputs, passes), 1, 0).astype(np.float64)

    def _with_one_mask(self, inputs: NDArray[np.float32], passes: int) -> NDArray[np.float32]:
        self._load()
        everybody = np.zeros(len(inputs), dtype=np.int64)  # masks follow from a sample's id, so all have one
        return self._softmax(self._chain.infer(inputs, everybody, PREDICTION, range(passes)))

    def _load(self) -> NDArray[np.float32]:
        """Hand the model's present parameters to the chain; a layer without bias has one of zeros there."""
        flat = []
        for layer in self._layers:
            flat.append(layer.weight.detach().reshape(-1))
            flat.append(layer.bias.detach() if layer.bias is not None else torch.zeros(len(layer.weight)))
        parameters: NDArray[np.float32] = torch.cat(flat).numpy()
        self._chain.load(parameters)
        return parameters

    def _softmax(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        check_finite(bool(np.isfinite(logits).all()), self._config)
        powers = np.exp(logits - logits.max(-1, keepdims=True))
        probs: NDArray[np.float32] = powers / powers.sum(-1, keepdims=True)
        return probs
