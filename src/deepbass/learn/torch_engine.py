"""Run any nn.Module through torch: the path that every model can take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from deepbass.core.belief import BeliefSum, Floats
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError, DeepBassError, NoDropoutError
from deepbass.core.labels import Classes, Ids
from deepbass.core.own_parts import OwnParts, check_built_in, name_of_part, own_training, quote
from deepbass.core.randomness import seed_for
from deepbass.core.samples import Samples
from deepbass.learn.dropout import McDropout, QuickDropout, dropout_on, evaluating, training
from deepbass.learn.engine import PREDICTION, OnShare, predict_in_parts
from deepbass.learn.hoist import Forward, Hoist, Tally, agrees, opaque, random_state

Loss = Callable[[Tensor, Tensor], Tensor]  # of logits and classes
CHUNK = 2048  # rows that share the masks of a pass, in whatever batches they come


@dataclass(frozen=True)
class _Traits:
    """What a model's dropout passes allow."""

    hoists: bool = False  # what comes before the first dropout can be done once for all passes over a batch
    exits: bool = False  # passes can be made over some of the rows, and it pays


class TorchEngine:
    """Forward and backward passes of a model over its pool, a batch at a time."""

    name = "torch"

    def __init__(
        self,
        model: nn.Module,
        pool: Samples,
        classes: int,
        config: Config,
        device: torch.device,
        *,
        hoist: bool = True,
        loss: Loss | None = None,
    ) -> None:
        self._model, self._pool, self._classes, self._config, self._device = model, pool, classes, config, device
        self._shared = config.masks == "shared"
        self._masks = torch.Generator(device)  # draws the shared ones and nothing else
        self._loss = loss  # the user's own, in the place of the cross-entropy
        self._hoist = hoist  # until a batch tells against it
        self._masks_shared: bool | None = None  # whether all that predictions draw is; None: not known yet

    @property
    def exits(self) -> bool:
        """Whether passes over some rows have the masks they have among all, and it pays to make them."""
        return self._traits.exits

    @contextmanager
    def training(self, seed: int) -> Iterator[None]:
        """Make the model ready for backward(); everything is back as it was afterwards."""
        with training(self._model), QuickDropout(seed):
            yield

    def backward(self, inputs: NDArray[np.float32], classes: Classes) -> None:
        """Set the gradient of the mean cross-entropy (eq. 1), or of the user's own loss, over some samples."""
        logits = self._logits(torch.from_numpy(inputs).to(self._device))
        target = torch.from_numpy(classes).to(self._device)
        loss = F.cross_entropy(logits, target) if self._loss is None else _mean_loss(self._loss, logits, target)
        loss.backward()  # type: ignore[no-untyped-call]

    def backward_on(self, ids: Ids, classes: Classes) -> None:
        """Set the gradient over some samples of the pool, as they are."""
        self.backward(self._pool.read(ids), classes)

    def passes(self, ids: Ids, rows: Ids, which: range, seed: int, total: BeliefSum, on_share: OnShare) -> None:
        """Add some dropout passes over ``ids[rows]`` to those rows of a sum."""
        self._hoist = self._hoist and self._traits.hoists  # asked before the first pass: it takes passes of its own
        done = 0
        with self._dropout_on() as mode:
            for chunk, part in self._batches(rows, total.start):
                on_share(done / len(rows))
                mode.batch = len(part)
                inputs = self._read(self._pool, ids[part])
                differ = self._add(inputs, [self._forward(seed, chunk, t) for t in which], part, total)
                if done == total.start == 0 and len(which) > 1 and not differ:  # the first batch is enough to show it
                    raise NoDropoutError(_why_identical(len(which), mode.calls))
                done += len(part)

    def probabilities(self, samples: Samples, ids: Ids, on_share: OnShare) -> Floats:
        """Predict class probabilities with dropout off."""
        probs_N_C = np.empty((len(ids), self._classes))
        with torch.no_grad(), evaluating(self._model):
            for part in slices(len(ids), self._config.infer_batch):
                on_share(part.start / len(ids))
                probs_N_C[part] = self._logits(self._read(samples, ids[part])).softmax(1).cpu().numpy()
        return probs_N_C

    def mean(self, inputs: NDArray[np.float32], passes: int) -> Floats:
        """Predict class probabilities as the mean over dropout passes with the same masks for every sample."""
        total = np.zeros((len(inputs), self._classes))
        for part, passes_made in self._fixed_passes(inputs, passes):
            for probs_B_C in passes_made:
                total[part] += probs_B_C
            total[part] /= len(passes_made)
        return total

    def predictions(self, samples: Samples, ids: Ids, passes: int, on_share: OnShare) -> Floats:
        """Predict class probabilities of some samples as `mean` does; with no passes, with dropout off."""
        return predict_in_parts(self, samples, ids, passes, on_share)

    def each(self, inputs: NDArray[np.float32], passes: int) -> Floats:
        """Predict class probabilities in each of these passes, T x N x C."""
        parts = [np.stack(made) for _, made in self._fixed_passes(inputs, passes)]
        probs_T_N_C: Floats = np.concatenate(parts, axis=1).astype(np.float64)
        return probs_T_N_C

    def _fixed_passes(
        self, inputs: NDArray[np.float32], passes: int
    ) -> Iterator[tuple[slice, list[NDArray[np.float32]]]]:
        """Make the passes whose masks never change, over a part of the samples after the other."""
        with (
            self._generators_kept(),
            torch.no_grad(),
            dropout_on(self._model, shared=True, generator=self._masks) as mode,
        ):
            # what draws masks that cannot be shared, such as LSTM, has to see samples one by one
            size = self._config.infer_batch if self._shares_all(inputs, mode) else 1
            for part in slices(len(inputs), size):
                mode.batch = part.stop - part.start
                yield part, self._passes_over(torch.from_numpy(inputs[part]).to(self._device), passes, mode)

    def _passes_over(self, inputs: Tensor, passes: int, mode: McDropout) -> list[NDArray[np.float32]]:
        mode.calls, made = 0, list[NDArray[np.float32]]()
        for t in range(passes):
            self._reseed(PREDICTION, 0, t)
            given = inputs if t == passes - 1 else inputs.clone()  # a first layer may work in place
            made.append(self._logits(given).softmax(1).cpu().numpy())
            if not mode.calls:  # no dropout: all passes are the same
                break
        return made

    def _shares_all(self, inputs: NDArray[np.float32], mode: McDropout) -> bool:
        """Tell whether all that a pass draws is shared by its samples."""
        if self._masks_shared is None and len(inputs) > 1:
            mode.batch = 2
            self._reseed(PREDICTION, 0, 0)
            before = random_state(self._device)
            self._logits(torch.from_numpy(inputs[:2].copy()).to(self._device))
            self._masks_shared = torch.equal(before, random_state(self._device))
        return self._masks_shared is not False

    @contextmanager
    def _generators_kept(self) -> Iterator[None]:
        devices = [self._device] if self._device.type != "cpu" else []
        with torch.random.fork_rng(devices, device_type=self._device.type if devices else "cuda"):
            yield

    @contextmanager
    def _dropout_on(self) -> Iterator[McDropout]:
        # no inference mode: hoisting has to see how often a tensor was written to
        with torch.no_grad(), dropout_on(self._model, shared=self._shared, generator=self._masks) as mode:
            yield mode

    def _batches(self, rows: Ids, start: int) -> Iterator[tuple[int, Ids]]:
        """Cut rows into batches, each within one chunk; masks of every sample's own know no chunks."""
        chunks_R = (start + rows) // CHUNK if self._shared else np.zeros_like(rows)
        for chunk in np.unique(chunks_R):
            members = rows[chunks_R == chunk]
            for part in slices(len(members), self._config.infer_batch):
                yield int(chunk), members[part]

    def _forward(self, seed: int, chunk: int, t: int) -> Forward:
        """Make pass t over a batch. With shared masks its draws follow from seed, chunk and t alone."""
        if not self._shared:
            return self._logits

        def forward(inputs: Tensor) -> Tensor:
            self._reseed(seed, chunk, t)
            return self._logits(inputs)

        return forward

    def _reseed(self, seed: int, chunk: int, t: int) -> None:
        self._masks.manual_seed(seed_for(seed, t, f"masks of chunk {chunk}"))
        # What draws masks that cannot be shared, such as LSTM, takes torch's own generators. torch.manual_seed would
        # do, but formats a stack trace for devices that are not there: 200 microseconds instead of 1.
        others = seed_for(seed, t, f"other draws of chunk {chunk}")
        torch.default_generator.manual_seed(others)
        if self._device.type != "cpu":
            getattr(torch, self._device.type).manual_seed(others)

    def _add(self, inputs: Tensor, forwards: list[Forward], rows: Ids, total: BeliefSum) -> bool:
        """Add passes over one batch to its rows of a sum, and tell whether they differ."""
        batch = Hoist(inputs, on=self._hoist and len(forwards) > 1)
        first: Tensor | None = None
        differ = False
        for forward in forwards:
            logits = batch.run(forward)
            first = logits if first is None else first
            differ = differ or not torch.equal(first, logits)
            total.add(rows, logits.softmax(1).cpu().numpy())
        self._hoist = self._hoist and (batch.on or len(forwards) == 1)
        return differ

    @cached_property
    def _traits(self) -> _Traits:
        """Find out what the passes allow, on a few samples: from the calls that are made, never from their time."""
        if not self._shared or opaque(self._model):
            return _Traits()
        with self._generators_kept(), self._dropout_on() as mode:
            exits = all(self._exits(mode, count) for count in (2, 3))  # a length of another kind is not 2 and then 3
            mode.batch = 3
            hoists = self._hoist and agrees(self._few(3), [self._forward(0, 0, t) for t in range(5)])
        return _Traits(hoists, exits)

    def _exits(self, mode: McDropout, count: int) -> bool:
        """Tell whether all draws of a pass are shared, and less than half of its work precedes the first dropout.

        That work is done again in every stage of passes over fewer and fewer rows.
        """
        mode.batch = count
        self._reseed(0, 0, 0)
        with Tally() as tally:
            self._model(self._few(count))
        drawn = random_state(self._device)
        self._reseed(0, 0, 0)
        return torch.equal(drawn, random_state(self._device)) and 2 * tally.before < tally.all

    def _few(self, count: int) -> Tensor:
        return self._read(self._pool, np.arange(count) % len(self._pool))

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


def own_loss(config: Config, own: OwnParts | None) -> Loss | None:
    """Find the user's own loss; None: the cross-entropy."""
    check_built_in(config, ("loss",), own)
    return own.loss if own is not None else None


def _mean_loss(loss: Loss, logits: Tensor, target: Tensor) -> Tensor:
    """Call the user's own loss, which returns a number for every sample, or their mean."""
    found: object = loss(logits, target)
    if not isinstance(found, Tensor) or found.shape not in ((), (len(target),)) or not found.requires_grad:
        got = f"a tensor of shape {tuple(found.shape)}" if isinstance(found, Tensor) else quote(found)
        raise ConfigError(
            f"loss = {name_of_part(loss)} returned {got} for logits of shape {tuple(logits.shape)}: return a tensor "
            f"that was computed from them, of shape ({len(target)},), one number for every sample, or their mean."
        )
    return found.mean()


def check_finite(finite: bool, config: Config) -> None:
    """Refuse logits that no probability can be made of."""
    if not finite:
        own = " and ".join(f"{name} = {getattr(config, name)}" for name in own_training(config))
        raise DeepBassError(
            "The model returned NaN or infinite logits: the training diverged. "
            + (f"It was trained with {own}: look there first. " if own else "")
            + f"Lower learning_rate (now {config.learning_rate:g}), or scale the inputs to about [-1, 1]."
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
        "p > 0 (torch.jit.script hides it: pass the plain module), or have it added in front of the last layer by "
        "deepbass.with_dropout(model), or do without by passes_pool = passes_known = 0."
    )
