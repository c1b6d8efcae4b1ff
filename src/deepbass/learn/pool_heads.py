"""Linear heads that learn from the unlabelled pool as well, each in its own way.

``neighbours``: known labels are spread over the graph of nearest neighbours, and the head learns what they say.
``clear cuts``: the head is moved until it is sure about the pool, while its classes keep the sizes that the graph finds
(information maximisation: Krause, Perona, Gomes, 2010). ``even cuts``: the same with classes of one size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from deepbass.core.belief import Floats
from deepbass.core.labels import Classes, Ids
from deepbass.learn.heads import fit, half_way, weights_of
from deepbass.learn.minimise import minimise
from deepbass.learn.pool_view import PoolView

WAYS = ("known labels alone", "neighbours", "clear cuts", "even cuts")
_POOL_COUNTS = 5.0  # how many times what the known labels count, all in all, the neighbours' guesses do
_SMOOTH = 0.5  # how far class sizes are drawn to even ones: a graph that misses a class must not forbid it
_STEPS = 60
_TOLERANCE = 1e-5


class Head(NamedTuple):
    """Weights, classes x dimensions, and bias."""

    weight: Tensor
    bias: Tensor

    def logits(self, inputs: Tensor) -> Tensor:
        """Map inputs to logits."""
        return inputs @ self.weight.T + self.bias


def pool_heads(view: PoolView, ids: Ids, labels: Classes, plain: Head, strength: float) -> list[Head]:
    """Fit one head in each way but the plain one, from the plain one on, in the view's dimensions."""
    classes = len(plain.bias)
    start = Head(view.reduced(plain.weight.float()), plain.bias.float())
    known = view.reduced(view.prepared(ids))
    weights = weights_of(labels, 0, 1)
    spread_N_C = view.spread(ids, labels, classes)
    unlabelled = view.shown[~np.isin(view.rows[view.shown], ids)]
    points = view.points[unlabelled]
    if not len(points):
        return [start] * (len(WAYS) - 1)
    guesses = spread_N_C.argmax(1)
    neighbours = _guessed(points, guesses[unlabelled], known, labels, weights, start, strength)
    sizes = np.bincount(guesses, minlength=classes) / len(guesses)
    even = np.full(classes, 1 / classes)
    smooth = (sizes + _SMOOTH * even) / (1 + _SMOOTH)
    return [
        neighbours,
        *(_sure(points, known, labels, weights, start, strength, expected) for expected in (smooth, even)),
    ]


def _guessed(
    points: Tensor, guesses: Classes, known: Tensor, labels: Classes, weights: Floats, start: Head, strength: float
) -> Head:
    """Fit a head to known labels and to guesses about the pool, which count for more in all and less in each."""
    each = half_way(guesses)
    counts = np.concatenate([weights, _POOL_COUNTS * len(labels) * each / each.sum()])
    answers = torch.from_numpy(np.concatenate([labels, guesses]))
    inputs = torch.cat([known, points])
    weight, bias = fit(
        inputs, answers, torch.from_numpy(counts).float(), strength, *start, steps=_STEPS, tolerance=_TOLERANCE
    )
    return Head(weight, bias)


def _sure(
    points: Tensor,
    known: Tensor,
    labels: Classes,
    weights: Floats,
    start: Head,
    strength: float,
    expected: Floats,
) -> Head:
    """Fit a head to known labels that is sure about the pool, its classes as large as expected."""
    answers, counts = torch.from_numpy(labels)[:, None], torch.from_numpy(weights).float()[:, None] / len(labels)
    log_expected = torch.from_numpy(np.log(expected)).float()
    shrink = 1.0 / (strength * len(labels))

    def objective(weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        logs = F.log_softmax(known @ weight.T + bias, 1)
        wrong = -(counts * logs.gather(1, answers)).sum()
        off = (counts * logs.exp()).scatter_add(1, answers, -counts)
        logs = F.log_softmax(points @ weight.T + bias, 1)
        probs = logs.exp()
        sizes = probs.mean(0)
        excess = sizes.clamp_min(1e-9).log() - log_expected
        unsure, uneven = -(probs * logs).sum(1).mean(), (sizes * excess).sum()
        pull = excess - logs  # by a probability, but for what is the same for all classes of a sample
        pulled = probs * (pull - (probs * pull).sum(1, keepdim=True)) / len(points)
        value = wrong + unsure + uneven + 0.5 * shrink * weight.square().sum()
        by_weight = off.T @ known + pulled.T @ points + shrink * weight
        return value, by_weight, off.sum(0) + pulled.sum(0)

    return Head(*minimise(objective, start.weight, start.bias, steps=_STEPS, tolerance=_TOLERANCE))
