"""Several opinions made one, each weighed by how it did on known labels that it was kept from.

Nothing that is learned from unlabelled samples may be believed without evidence: the same trick wins ten points on one
kind of data and costs four on another. So every way of learning predicts known labels that it did not see, and its
weight is what makes these labels most probable (stacking: Wolpert, 1992).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepbass.core.belief import Floats
from deepbass.core.labels import Classes

PLAIN = 0  # the first opinion: known labels alone
_LEAST = 0.05  # a share below this is chance, and counts as none
_PRIOR = 1.0  # labels that each opinion has for it before any is seen
BAR = 1.0  # standard errors by which others must predict labels better than the plain opinion, or it stands alone
_ROUNDS = 100
_TEMPERATURES = np.exp(np.linspace(np.log(0.25), np.log(8.0), 31))
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Weighing:
    """How much each opinion counts, and what the evidence for it was."""

    shares_M: Floats  # sum to 1
    factors_M: Floats  # of each opinion's logits in the sum of all, which is the logits of the one opinion
    labels: int  # that were kept back
    right: int  # of them, by the one opinion; where it was refused, as it would have been
    plain: int  # of them, by the first alone


def alike(opinions: int) -> Weighing:
    """Weigh all opinions alike: there is no evidence."""
    even_M = np.full(opinions, 1 / opinions)
    return Weighing(even_M, even_M, 0, 0, 0)


def weigh(logits_M_N_C: NDArray[np.floating], labels_N: Classes, weights_N: Floats) -> Weighing:
    """Weigh opinions about samples by the labels of these, which none of them had seen, and which count by weight.

    Each is cooled or heated first until it is as sure as it is right; then shares are those of a mixture under which
    the labels are most probable. Unless all of that predicts them better than the plain opinion by more than chance
    would have it, and as many of them right, that one stands alone.
    """
    opinions, count = logits_M_N_C.shape[:2]
    if not count:
        return alike(opinions)
    heats_M = np.array([temperature(logits_N_C, labels_N, weights_N) for logits_N_C in logits_M_N_C])
    cooled_M_N_C = logits_M_N_C / heats_M[:, None, None]
    shares_M = _mixture(_of_truth(cooled_M_N_C, labels_N), weights_N)
    shares_M = np.where(shares_M < _LEAST, 0.0, shares_M)
    shares_M /= shares_M.sum()
    pooled_N_C = np.einsum("m,mnc->nc", shares_M, cooled_M_N_C)
    heat = temperature(pooled_N_C, labels_N, weights_N)
    plain_N_C = cooled_M_N_C[PLAIN]
    right, plain = (int((each.argmax(1) == labels_N).sum()) for each in (pooled_N_C, plain_N_C))
    gains_N = weights_N * (_logs(pooled_N_C / heat, labels_N) - _logs(plain_N_C, labels_N))
    if right < plain or gains_N.sum() <= BAR * np.sqrt(count) * gains_N.std():
        shares_M, heat = np.eye(opinions)[PLAIN], 1.0
    return Weighing(shares_M, shares_M / (heats_M * heat), count, right, plain)


def temperature(logits_N_C: NDArray[np.floating], labels_N: Classes, weights_N: Floats) -> float:
    """Find what to divide logits by, so that the labels are most probable; 1 is believed in as much as one label is."""
    losses = [_loss(logits_N_C / heat, labels_N, weights_N) + 0.5 * np.log(heat) ** 2 for heat in _TEMPERATURES]
    return float(_TEMPERATURES[int(np.argmin(losses))])


def softmax(logits: NDArray[np.floating]) -> Floats:
    """Turn logits into probabilities over the last axis."""
    powers = np.exp(np.asarray(logits, dtype=np.float64) - logits.max(-1, keepdims=True))
    probs: Floats = powers / powers.sum(-1, keepdims=True)
    return probs


def _mixture(truth_M_N: Floats, weights_N: Floats) -> Floats:
    """Find the shares of a mixture by expectation maximisation, given what each member gave the truth."""
    shares_M = np.full(len(truth_M_N), 1 / len(truth_M_N))
    for _ in range(_ROUNDS):
        owed_M_N = shares_M[:, None] * truth_M_N
        shares_M = (owed_M_N / owed_M_N.sum(0)) @ weights_N + _PRIOR
        shares_M /= shares_M.sum()
    return shares_M


def _of_truth(logits_M_N_C: Floats, labels_N: Classes) -> Floats:
    truth_M_N: Floats = softmax(logits_M_N_C)[:, np.arange(len(labels_N)), labels_N] + 1e-6
    return truth_M_N


def _loss(logits_N_C: NDArray[np.floating], labels_N: Classes, weights_N: Floats) -> float:
    return -float(weights_N @ _logs(logits_N_C, labels_N))


def _logs(logits_N_C: NDArray[np.floating], labels_N: Classes) -> Floats:
    """Tell the logarithm of the probability that each label was given."""
    logs_N: Floats = np.log(softmax(logits_N_C)[np.arange(len(labels_N)), labels_N] + _TINY)
    return logs_N
