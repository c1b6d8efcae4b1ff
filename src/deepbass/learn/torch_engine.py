"""Run any nn.Module through torch: the path that every model can take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepbass.core.belief import BeliefSum, Floats
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError, DeepBassError, NoDropoutError
from deepbass.core.labels import Classes, Ids
from deepbass.core.samples import Samples
from deepbass.learn.dropout import QuickDropout, dropout_on, evaluating, training

OnShare = Callable[[float], None]  # the share of the work that is done


class TorchEngine:
    """Forward and backward passes of a model over its pool, a batch at a time."""

    def __init__(self, model: nn.Module, pool: Samples, classes: int, config: Config, device: torch.device) -> None:
        self._model, self._pool, self._classes, self._config, self._device = model, pool, classes, config, device

    @contextmanager
    def training(self, seed: int) -> Iterator[None]:
        """Make the model ready for backward(); everything is back as it was afterwards."""
        with training(self._model), QuickDropout(seed):
            yield

    def backward(self, ids: Ids, classes: Classes) -> None:
        """Set the gradient of the mean cross-entropy (eq. 1) over some samples, with dropout."""
        logits = self._logits(self._read(self._pool, ids))
        loss = F.cross_entropy(logits, torch.from_numpy(classes).to(self._device))
        loss.backward()  # type: ignore[no-untyped-call]

    def passes(self, ids: Ids, rows: Ids, which: range, seed: int, total: BeliefSum, on_share: OnShare) -> None:
        """Add some dropout passes over ``ids[rows]`` to those rows of a sum."""
        with torch.no_grad(), dropout_on(self._model, shared=self._config.masks == "shared") as mode:
            for part in slices(len(rows), self._config.infer_batch):
                on_share(part.start / len(rows))
                inputs = self._read(self._pool, ids[rows[part]])
                mode.batch = len(inputs)
                first: Tensor | None = None
                random = len(which) == 1 or part.start > 0  # only the first batch has to show that passes differ
                for _ in which:
                    logits = self._logits(inputs.clone())  # a first layer may work in place
                    first = logits if first is None else first
                    random = random or not torch.equal(first, logits)
                    total.add(rows[part], logits.softmax(1).cpu().numpy())
                if not random:
                    raise NoDropoutError(_why_identical(len(which), mode.calls))

    def probabilities(self, samples: Samples, ids: Ids, on_share: OnShare) -> Floats:
        """Predict class probabilities with dropout off."""
        probs_N_C = np.empty((len(ids), self._classes))
        with torch.no_grad(), evaluating(self._model):
            for part in slices(len(ids), self._config.infer_batch):
                on_share(part.start / len(ids))
                probs_N_C[part] = self._logits(self._read(samples, ids[part])).softmax(1).cpu().numpy()
        return probs_N_C

    def _logits(self, inputs: Tensor) -> Tensor:
        logits = self._model(inputs)
        expected = (len(inputs), self._classes)
        if not isinstance(logits, Tensor) or tuple(logits.shape) != expected:
            got = tuple(logits.shape) if isinstance(logits, Tensor) else f"a {type(logits).__name__}"
            raise ConfigError(
                f"The model must return logits of shape {expected} (samples, classes); it returned {got}."
            )
        check_finite(bool(torch.isfinite(logits).all()), self._config)
        return logits

    def _read(self, samples: Samples, ids: Ids) -> Tensor:
        return torch.from_numpy(samples.read(ids)).to(self._device)


def check_finite(finite: bool, config: Config) -> None:
    """Refuse logits that no probability can be made of."""
    if not finite:
        raise DeepBassError(
            "The model returned NaN or infinite logits: the training diverged. Lower learning_rate "
            f"(now {config.learning_rate:g}), or scale the inputs to about [-1, 1]."
        )


def slices(count: int, size: int) -> list[slice]:
    """Cut a range into parts of one size, the last maybe smaller."""
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


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
