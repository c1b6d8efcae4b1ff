"""The local learner: a model, its optimiser and its pool in this process. The only thing that changes in a run."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import safetensors.torch
import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from torch import Tensor, nn

from deepbass.core.belief import Belief, BeliefSum, Floats
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError, DeepBassError, NoDropoutError, StoreError
from deepbass.core.labels import Classes, Ids, Labels
from deepbass.core.loop import UNTRAINED
from deepbass.core.randomness import seed_for
from deepbass.core.samples import Samples
from deepbass.learn.dropout import QuickDropout, dropout_on, evaluating, training

OnProgress = Callable[[str, float], None]  # what is being done, and the share that is done


class LocalLearner:
    """Trains and asks a model. Satisfies the loop's Learner protocol."""

    def __init__(
        self,
        model: nn.Module,
        pool: Samples,
        classes: int,
        config: Config,
        on_progress: OnProgress = lambda what, share: None,
    ) -> None:
        self.device = pick_device(config.device)
        self.model = model.to(self.device)
        if len(pool.shape) == 3:  # images: convolutions are over twice as fast with channels last
            self.model = self.model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.seconds: defaultdict[str, float] = defaultdict(float)  # time spent, by what it was spent on
        self._pool, self._classes, self._config = pool, classes, config
        self._on_progress = on_progress
        with torch.no_grad(), evaluating(self.model), self._seeded(seed_for(config.seed, UNTRAINED, "lazy weights")):
            self._logits(self._read(pool, np.arange(2)))  # a misfit shows at once, and lazy layers learn their size
        self._optimiser = _adam(self.model, config)

    def rehearse(self) -> None:
        """Make a few dropout passes over a few samples, to refuse a model without dropout before it is trained."""
        passes = min(self._config.passes_pool, 4)
        self.infer(np.arange(min(32, len(self._pool))), passes=passes, seed=0)
        self.seconds.clear()

    def train(self, labels: Labels, *, epochs: int, copies: int, seed: int) -> None:
        """Minimise the cross-entropy (eq. 1) plus L2 over the curriculum, in a fresh random order every epoch."""
        ids, classes = labels.curriculum(copies)
        rng = np.random.default_rng(seed)
        with self._timed("train"), self._seeded(seed), training(self.model), QuickDropout(seed):
            for epoch in range(epochs):
                batches = _batches(rng.permutation(len(ids)), self._config.batch_size)
                for done, rows in enumerate(batches):
                    self._on_progress("training", (epoch + done / len(batches)) / epochs)
                    self._optimiser.zero_grad()
                    loss = F.cross_entropy(
                        self._logits(self._read(self._pool, ids[rows])), self._to_device(classes[rows])
                    )
                    loss.backward()  # type: ignore[no-untyped-call]
                    self._optimiser.step()

    def infer(self, ids: Ids | None, *, passes: int, seed: int) -> Belief:
        """Average the probabilities over dropout passes (eq. 6); zero passes mean one with dropout off."""
        what = "infer pool" if ids is None else "infer known"
        wanted = np.arange(len(self._pool)) if ids is None else ids
        with self._timed(what), self._seeded(seed), torch.inference_mode():
            if passes == 0:
                probs = self._probabilities(self._pool, wanted, what)
                total = BeliefSum(len(wanted), self._classes)
                total.add(slice(None), probs)
                return total.belief(wanted)
            return self._monte_carlo(wanted, passes, what)

    def evaluate(self, samples: Samples, labels: Classes) -> float:
        """Measure the accuracy with dropout off."""
        with self._timed("evaluate"):
            return float((self.probabilities(samples).argmax(1) == labels).mean())

    def probabilities(self, samples: Samples) -> Floats:
        """Predict class probabilities with dropout off, one row a sample."""
        with torch.inference_mode():
            return self._probabilities(samples, np.arange(len(samples)), "evaluating")

    def state(self) -> bytes:
        """Pack the weights and the optimiser's state as safetensors."""
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        for place, weights in enumerate(self._weights()):
            for name, tensor in self._optimiser.state[weights].items():
                tensors[f"adam.{place}.{name}"] = tensor
        return safetensors.torch.save({name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()})

    def restore(self, state: bytes) -> None:
        """Take up a packed state; the model must be the one that was packed."""
        try:
            tensors = safetensors.torch.load(state)
            model = {name.removeprefix("model."): t for name, t in tensors.items() if name.startswith("model.")}
            self.model.load_state_dict(model)
        except (SafetensorError, RuntimeError) as error:
            raise StoreError(f"The checkpoint does not fit the model: {error}") from error
        weights = self._weights()
        for name, tensor in tensors.items():
            if name.startswith("adam."):
                place, key = name.removeprefix("adam.").split(".", 1)
                owner = weights[int(place)]
                # in the memory layout of the weights, or rounding could differ from the unbroken run's
                self._optimiser.state[owner][key] = (
                    tensor if tensor.ndim == 0 else torch.empty_like(owner).copy_(tensor)
                )

    def _monte_carlo(self, ids: Ids, passes: int, what: str) -> Belief:
        total = BeliefSum(len(ids), self._classes)
        with dropout_on(self.model, shared=self._config.masks == "shared") as mode:
            for rows in _slices(len(ids), self._config.infer_batch):
                self._on_progress(what, rows.start / len(ids))
                inputs = self._read(self._pool, ids[rows])
                mode.batch = len(inputs)
                first: Tensor | None = None
                random = passes == 1 or rows.start > 0  # only the first batch has to show that passes differ
                for _ in range(passes):
                    logits = self._logits(inputs.clone())  # a first layer may work in place
                    first = logits if first is None else first
                    random = random or not torch.equal(first, logits)
                    total.add(rows, logits.softmax(1).cpu().numpy())
                if not random:
                    raise NoDropoutError(_why_identical(passes, mode.calls))
        return total.belief(ids)

    def _probabilities(self, samples: Samples, ids: Ids, what: str) -> Floats:
        probs_N_C = np.empty((len(ids), self._classes))
        with evaluating(self.model):
            for rows in _slices(len(ids), self._config.infer_batch):
                self._on_progress(what, rows.start / len(ids))
                probs_N_C[rows] = self._logits(self._read(samples, ids[rows])).softmax(1).cpu().numpy()
        return probs_N_C

    def _logits(self, inputs: Tensor) -> Tensor:
        logits = self.model(inputs)
        expected = (len(inputs), self._classes)
        if not isinstance(logits, Tensor) or tuple(logits.shape) != expected:
            got = tuple(logits.shape) if isinstance(logits, Tensor) else f"a {type(logits).__name__}"
            raise ConfigError(
                f"The model must return logits of shape {expected} (samples, classes); it returned {got}."
            )
        if not torch.isfinite(logits).all():
            raise DeepBassError(
                "The model returned NaN or infinite logits: the training diverged. Lower learning_rate "
                f"(now {self._config.learning_rate:g}), or scale the inputs to about [-1, 1]."
            )
        return logits

    def _read(self, samples: Samples, ids: Ids) -> Tensor:
        return self._to_device(samples.read(ids))

    def _to_device(self, array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> Tensor:
        return torch.from_numpy(array).to(self.device)

    def _weights(self) -> list[nn.Parameter]:
        return [weights for group in self._optimiser.param_groups for weights in group["params"]]

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[what] += time.perf_counter() - start

    @contextmanager
    def _seeded(self, seed: int) -> Iterator[None]:
        """Draw torch's random numbers from one seed, and leave the caller's generators as they were."""
        devices = [self.device] if self.device.type != "cpu" else []
        with (
            torch.random.fork_rng(devices, device_type=self.device.type if devices else "cuda"),
            torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False),
        ):
            torch.manual_seed(seed)
            yield


def pick_device(name: str) -> torch.device:
    """Find the device: auto takes cuda, then mps, then cpu."""
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        name = next(device for device, there in available.items() if there)
    if not available[name]:
        there = ", ".join(device for device, usable in available.items() if usable)
        raise ConfigError(f"Device {name!r} is not available here. Available: {there}; 'auto' picks one.")
    return torch.device(name)


def _adam(model: nn.Module, config: Config) -> torch.optim.Adam:
    """Make Adam with Keras' epsilon; lambda * sum(w^2) on kernels is a weight decay of 2 lambda there, 0 elsewhere."""
    learnable = [weights for weights in model.parameters() if weights.requires_grad]
    if not learnable:
        raise ConfigError("The model has no learnable parameters, so there is nothing to train.")
    kernels = [weights for weights in learnable if weights.ndim > 1]
    others = [weights for weights in learnable if weights.ndim <= 1]
    groups = [{"params": kernels, "weight_decay": 2 * config.l2}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.Adam([group for group in groups if group["params"]], lr=config.learning_rate, eps=1e-7)


def _slices(count: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def _batches(order: Ids, size: int) -> list[Ids]:
    """Cut an order into batches; a last batch of one joins the one before, for BatchNorm cannot train on one."""
    batches = [order[rows] for rows in _slices(len(order), size)]
    if len(batches) > 1 and len(batches[-1]) == 1:
        batches[-2:] = [np.concatenate(batches[-2:])]
    return batches


def _why_identical(passes: int, calls: int) -> str:
    if calls:
        return (
            f"{passes} dropout passes gave identical outputs although the model has dropout: what it drops has no "
            "effect on the logits. Look for dead units, or move the dropout in front of the last layer."
        )
    return (
        f"{passes} dropout passes gave identical outputs: the model has no active dropout. Add nn.Dropout(p) with "
        "p > 0 (torch.jit.script hides it: pass the plain module), or do without by passes_pool = passes_known = 0."
    )
