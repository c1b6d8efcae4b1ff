"""What the network believes about samples after T dropout passes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepbass.core.labels import Classes, Ids

Floats = NDArray[np.float64]


def entropy(probs_N_C: Floats) -> Floats:
    """Compute the normalised classification entropy H, in [0, 1]."""
    classes = probs_N_C.shape[-1]
    logs_N_C = np.log(np.where(probs_N_C > 0, probs_N_C, 1.0))  # 0 log 0 = 0
    h_N: Floats = -(probs_N_C * logs_N_C).sum(-1) / np.log(classes)
    return h_N.clip(0.0, 1.0)  # rounding may step over an end by 1e-16


@dataclass(frozen=True, eq=False)
class Belief:
    """Statistics of T dropout passes, one row a sample; row i speaks of the sample ``ids[i]``."""

    ids: Ids
    mean_N_C: Floats  # the paper's f~_T: probabilities averaged over the passes
    expected_entropy: Floats  # mean over the passes of each pass's normalised entropy, for BALD
    agreement: Floats  # share of passes that voted for the most voted class, for variation ratios

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
        top_N_2 = np.partition(self.mean_N_C, -2, axis=1)[:, -2:]
        lead_N: Floats = top_N_2[:, 1] - top_N_2[:, 0]
        return lead_N

    @property
    def mutual_information(self) -> Floats:
        """BALD: what one would learn about the weights from the label; H(mean) - mean(H)."""
        return np.maximum(self.entropy - self.expected_entropy, 0.0)

    def about(self, ids: Ids) -> Belief:
        """Select the rows of some samples, by id and in their order."""
        order = np.argsort(self.ids, kind="stable")
        rows = order[np.searchsorted(self.ids, ids, sorter=order)]
        return Belief(self.ids[rows], self.mean_N_C[rows], self.expected_entropy[rows], self.agreement[rows])


class BeliefSum:
    """Add up dropout passes as they come: memory grows with samples and classes, never with passes."""

    def __init__(self, samples: int, classes: int) -> None:
        self._probs_N_C = np.zeros((samples, classes))
        self._entropy_N = np.zeros(samples)
        self._votes_N_C = np.zeros((samples, classes), dtype=np.int32)
        self._passes_N = np.zeros(samples, dtype=np.int64)

    def add(self, rows: slice | Ids, probs_B_C: NDArray[np.floating]) -> None:
        """Count one pass over the samples at ``rows``, which are distinct."""
        probs = probs_B_C.astype(np.float64)
        self._probs_N_C[rows] += probs
        self._entropy_N[rows] += entropy(probs)
        self._votes_N_C[rows] += probs.argmax(1)[:, None] == np.arange(probs.shape[1])
        self._passes_N[rows] += 1

    def belief(self, ids: Ids) -> Belief:
        """Divide the sums by the number of passes."""
        passes_N = self._passes_N
        return Belief(
            ids,
            self._probs_N_C / passes_N[:, None],
            self._entropy_N / passes_N,
            self._votes_N_C.max(1) / passes_N,
        )
