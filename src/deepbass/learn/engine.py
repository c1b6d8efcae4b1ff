"""What the learner asks of whatever runs its model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from deepbass.core.belief import BeliefSum, Floats
from deepbass.core.config import Config
from deepbass.core.labels import Classes, Ids
from deepbass.core.need import Need
from deepbass.core.own_parts import OwnParts
from deepbass.core.pool_belief import Columns
from deepbass.core.samples import Samples

OnShare = Callable[[float], None]  # the share of the work that is done
_READ_AT_A_TIME = 1024  # samples
PREDICTION = 0  # the seed of the masks that all predictions are made with


class Engine(Protocol):
    """Forward and backward passes of one model over one pool."""

    name: str  # of the path that the results come from

    @property
    def exits(self) -> bool:
        """Whether passes can be made over a part of the samples with the masks they have among all, and it pays."""

    def passes(self, ids: Ids, rows: Ids, which: range, seed: int, total: BeliefSum, on_share: OnShare) -> None:
        """Add the dropout passes numbered ``which`` over the samples ``ids[rows]`` to those rows of a sum.

        With ``exits``, the masks of a sample in a pass follow from (seed, its id, its row counted from ``total.start``,
        number of the pass) alone: never from the other rows, nor from the passes that are made in the same call.
        """

    def probabilities(self, samples: Samples, ids: Ids, on_share: OnShare) -> Floats:
        """Predict class probabilities with dropout off."""

    def mean(self, inputs: NDArray[np.float32], passes: int) -> Floats:
        """Predict class probabilities as the mean over dropout passes whose masks are the same for every sample, ever.

        So a sample's prediction hangs on nothing but the sample; a model without dropout makes one pass.
        """

    def predictions(self, samples: Samples, ids: Ids, passes: int, on_share: OnShare) -> Floats:
        """Predict class probabilities of some samples as `mean` does; with no passes, with dropout off."""

    def each(self, inputs: NDArray[np.float32], passes: int) -> Floats:
        """Predict class probabilities in each of these passes, T x N x C: a pass is one network for all samples.

        A model without dropout makes one pass.
        """

    def training(self, seed: int) -> AbstractContextManager[None]:
        """Make the model ready for backward(); everything is back as it was afterwards."""

    def backward(self, inputs: NDArray[np.float32], classes: Classes) -> None:
        """Set the gradient of the mean loss (eq. 1) over some samples as the network sees them, with dropout.

        The inputs, one row per sample, are the engine's to keep: a first layer that works in place may overwrite them.
        """

    def backward_on(self, ids: Ids, classes: Classes) -> None:
        """Set the gradient of the mean loss over some samples of the pool as they are, with dropout."""


@runtime_checkable
class SpreadEngine(Engine, Protocol):
    """An engine of many workers: each computes whole slabs of the pool (learn/slabs.py), reduced where they are."""

    def compute_slabs(
        self, slabs: Sequence[range], passes: int, seed: int, need: Need, on_share: OnShare
    ) -> Iterator[tuple[range, Columns]]:
        """Compute slabs, in whatever order they come."""


def predict_in_parts(engine: Engine, samples: Samples, ids: Ids, passes: int, on_share: OnShare) -> Floats:
    """Predict as `Engine.predictions` promises, a part of the samples at a time."""
    if not passes or not len(ids):
        return engine.probabilities(samples, ids, on_share)
    parts = []
    for start in range(0, len(ids), _READ_AT_A_TIME):
        on_share(start / len(ids))
        parts.append(engine.mean(samples.read(ids[start : start + _READ_AT_A_TIME]), passes))
    return np.concatenate(parts)


# puts another engine in the place of one of this process, as the workers of a cluster are: of the engine, its model,
# its pool, how many classes, the configuration, and the caller's own parts
Replace = Callable[["Engine", Any, Samples, int, Config, OwnParts | None], "Engine"]
REPLACED_BY: ContextVar[Replace | None] = ContextVar("REPLACED_BY", default=None)
