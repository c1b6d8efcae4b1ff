"""An engine whose passes are known beforehand."""

from __future__ import annotations

from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

from deepbass.core.belief import Belief, BeliefSum, Floats
from deepbass.core.labels import Classes, Ids
from deepbass.core.need import Need
from deepbass.core.samples import Samples
from deepbass.learn.engine import OnShare
from deepbass.learn.passes import make_passes


class Replay:
    """Plays the passes of a tensor T x N x C, by sample id, and counts what it plays."""

    name = "replay"

    def __init__(self, probs_T_N_C: Floats, *, exits: bool = True) -> None:
        self.exits = exits
        self.calls: list[tuple[range, list[int]]] = []
        self._probs_T_N_C = probs_T_N_C

    @property
    def made(self) -> int:
        """How many passes were made over any sample."""
        return sum(len(which) * len(ids) for which, ids in self.calls)

    def passes(self, ids: Ids, rows: Ids, which: range, seed: int, total: BeliefSum, on_share: OnShare) -> None:
        self.calls.append((which, ids[rows].tolist()))
        for done, pass_ in enumerate(which):
            on_share(done / len(which))
            total.add(rows, self._probs_T_N_C[pass_, ids[rows]])

    def probabilities(self, samples: Samples, ids: Ids, on_share: OnShare) -> Floats:
        raise NotImplementedError

    def mean(self, inputs: NDArray[np.float32], passes: int) -> Floats:
        raise NotImplementedError

    def predictions(self, samples: Samples, ids: Ids, passes: int, on_share: OnShare) -> Floats:
        raise NotImplementedError

    def each(self, inputs: NDArray[np.float32], passes: int) -> Floats:
        raise NotImplementedError

    def training(self, seed: int) -> AbstractContextManager[None]:
        raise NotImplementedError

    def backward(self, inputs: NDArray[np.float32], classes: Classes) -> None:
        raise NotImplementedError

    def backward_on(self, ids: Ids, classes: Classes) -> None:
        raise NotImplementedError

    def infer(self, ids: Ids, need: Need, on_share: OnShare = lambda share: None) -> Belief:
        """Believe what is needed."""
        passes, _, classes = self._probs_T_N_C.shape
        total = BeliefSum(len(ids), classes)
        make_passes(self, ids, passes, 0, total, need, on_share)
        return total.belief(ids)
