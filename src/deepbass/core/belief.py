"""What the network believes about samples after T dropout passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from deepbass.core.labels import Classes, Ids

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
# probabilities of some samples, by id, in each of so many passes, T x N x C: a pass is one network for all of them
Each = Callable[[Ids, int], Floats]

_TINY = 1e-300
ROWS = "mean_N_C"  # the name of all probabilities, for who says what is read of a belief


def entropy(probs_N_C: Floats) -> Floats:
    """Compute the normalised classification entropy H, in [0, 1]."""
    classes = probs_N_C.shape[-1]
    logs_N_C = np.log(probs_N_C + _TINY)  # 0 log 0 = 0, and no other probability is changed by so little
    h_N: Floats = np.einsum("...c,...c->...", probs_N_C, logs_N_C) / -np.log(classes)
    return h_N.clip(0.0, 1.0)  # rounding may step over an end by 1e-16


def lead(values_N_C: Floats) -> Floats:
    """Compute how far the highest value of a row is above the next."""
    top_N_2 = np.partition(values_N_C, -2, axis=1)[:, -2:]
    lead_N: Floats = top_N_2[:, 1] - top_N_2[:, 0]
    return lead_N


@dataclass(frozen=True, eq=False)
class Belief:
    """Statistics of T dropout passes, one row per sample; row i speaks of the sample ``ids[i]``."""

    ids: Ids
    mean_N_C: Floats  # the paper's f~_T: probabilities averaged over the passes
    expected_entropy: Floats  # mean over the passes of each pass's normalised entropy, for BALD
    agreement: Floats  # share of passes that voted for the most voted class, for variation ratios
    passes: Ids  # how many passes each row is over: fewer where the rest could not have changed a decision
    each: Each | None = None  # asks the network again about a few samples; None: there is none to be asked

    @property
    def guess(self) -> Classes:
        """The pseudo-label psi: the class with the highest mean probability."""
        guess_N: Classes = self.mean_N_C.argmax(1)
        return guess_N

    @property
    def entropy(self) -> Floats:
        """H(f~_T): how far the mean is from any one class."""
        return entropy(self.mean_N_C)

    @property
    def confidence(self) -> Floats:
        """The highest mean probability."""
        best_N: Floats = self.mean_N_C.max(1)
        return best_N

    @property
    def margin(self) -> Floats:
        """The lead of the most probable class over the next."""
        return lead(self.mean_N_C)

    @property
    def mutual_information(self) -> Floats:
        """BALD: what one would learn about the weights from the label; H(mean) - mean(H)."""
        return np.maximum(self.entropy - self.expected_entropy, 0.0)

    def about(self, ids: Ids) -> Belief:
        """Select the rows of some samples, by id and in their order."""
        rows = self._rows_of(ids)
        return Belief(
            self.ids[rows],
            self.mean_N_C[rows],
            self.expected_entropy[rows],
            self.agreement[rows],
            self.passes[rows],
            self.each,
        )

    def renamed(self, ids: Ids, each: Each | None) -> Belief:
        """Name the samples otherwise."""
        return replace(self, ids=ids, each=each)

    def _rows_of(self, ids: Ids) -> Ids:
        order = np.argsort(self.ids, kind="stable")
        rows: Ids = order[np.searchsorted(self.ids, ids, sorter=order)]
        return rows


@dataclass(frozen=True, eq=False)
class Partial:
    """Sums over the passes that were made so far, out of ``passes``; row i speaks of the sample ``ids[i]``."""

    ids: Ids
    probs_N_C: Floats
    entropy_N: Floats
    votes_N_C: NDArray[np.uint16]
    done_N: Ids
    passes: int

    @property
    def left(self) -> Ids:
        """How many passes are still to come."""
        left_N: Ids = self.passes - self.done_N
        return left_N

    @property
    def lead(self) -> Floats:
        """How far the most probable class is ahead of the next."""
        return lead(self.probs_N_C)

    def at(self, rows: Bools) -> Partial:
        """Select some rows."""
        return Partial(
            self.ids[rows],
            self.probs_N_C[rows],
            self.entropy_N[rows],
            self.votes_N_C[rows],
            self.done_N[rows],
            self.passes,
        )


class BeliefSum:
    """Add up dropout passes as they come: memory grows with samples and classes, never with passes."""

    def __init__(self, samples: int, classes: int, start: int = 0) -> None:
        """Begin with nothing; ``start`` is the row, among all that are inferred, of the first one here."""
        self.start = start
        self._probs_N_C = np.zeros((samples, classes))
        self._entropy_N = np.zeros(samples)
        self._votes_N_C = np.zeros((samples, classes), dtype=np.uint16)
        self._passes_N = np.zeros(samples, dtype=np.int64)

    def add(self, rows: slice | Ids, probs_B_C: NDArray[np.floating]) -> None:
        """Count one pass over the samples at ``rows``, which are distinct."""
        probs = probs_B_C.astype(np.float64)
        self._probs_N_C[rows] += probs
        self._entropy_N[rows] += entropy(probs)
        who = np.arange(len(self._passes_N))[rows] if isinstance(rows, slice) else rows
        self._votes_N_C[who, probs.argmax(1)] += 1
        self._passes_N[rows] += 1

    def merge(self, rows: Ids, other: Partial) -> None:
        """Count passes over the samples at ``rows`` that were added up elsewhere."""
        self._probs_N_C[rows] += other.probs_N_C
        self._entropy_N[rows] += other.entropy_N
        self._votes_N_C[rows] += other.votes_N_C
        self._passes_N[rows] += other.done_N

    def partial(self, ids: Ids, rows: Ids, passes: int) -> Partial:
        """Tell what is known of ``ids[rows]`` before all of ``passes`` are made."""
        return Partial(
            ids[rows],
            self._probs_N_C[rows],
            self._entropy_N[rows],
            self._votes_N_C[rows],
            self._passes_N[rows],
            passes,
        )

    def belief(self, ids: Ids) -> Belief:
        """Divide the sums by the number of passes, in place: the sum is used up, and a large pool is not held twice."""
        passes_N = self._passes_N
        self._probs_N_C /= passes_N[:, None]
        self._entropy_N /= passes_N
        return Belief(ids, self._probs_N_C, self._entropy_N, self._votes_N_C.max(1) / passes_N, passes_N)
