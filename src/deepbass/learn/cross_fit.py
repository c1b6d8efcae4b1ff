"""What every way of learning is worth: known labels in turn are kept from all of them, and predicted."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from deepbass.core.labels import Classes, Ids
from deepbass.core.opinions import Weighing, weigh
from deepbass.learn.heads import fit, folds_of, half_way, weights_of
from deepbass.learn.pool_heads import WAYS, Head, pool_heads
from deepbass.learn.pool_view import PoolView

FOLDS = 4


def cross_fit(
    view: PoolView,
    ids: Ids,
    labels: Classes,
    inputs: Tensor,
    classes: int,
    strength: float,
    rng: np.random.Generator,
) -> Weighing:
    """Weigh plain learning and what learns from the pool, too, by known labels that were kept from both.

    ``inputs`` are the labelled samples as the head sees them. A label that is the only one of its class tells nothing:
    without it the class is unheard of.
    """
    folds = folds_of(labels, FOLDS, rng)
    logits_M_N_C = np.zeros((len(WAYS), len(ids), classes))
    telling = np.zeros(len(ids), dtype=np.bool_)
    for fold in np.unique(folds):
        kept, rest = folds == fold, folds != fold
        if len(np.unique(labels[rest])) < 2:
            continue
        heads = _fitted(view, ids[rest], labels[rest], inputs[torch.from_numpy(rest)], classes, strength)
        plain, *others = heads
        logits_M_N_C[0, kept] = plain.logits(inputs[torch.from_numpy(kept)]).cpu().numpy()
        points = view.reduced(view.prepared(ids[kept]))
        for way, head in enumerate(others, start=1):
            logits_M_N_C[way, kept] = head.logits(points).numpy()
        telling |= kept & np.isin(labels, labels[rest])
    told = labels[telling]
    return weigh(logits_M_N_C[:, telling], told, half_way(told))


def _fitted(view: PoolView, ids: Ids, labels: Classes, inputs: Tensor, classes: int, strength: float) -> list[Head]:
    """Fit one head in every way."""
    weights = torch.from_numpy(weights_of(labels, 0, 1)).to(inputs)
    zero = inputs.new_zeros(classes, inputs.shape[1]), inputs.new_zeros(classes)
    answers = torch.from_numpy(labels).to(inputs.device)
    plain = Head(*fit(inputs, answers, weights, strength, *zero, steps=60, tolerance=1e-5))
    return [plain, *pool_heads(view, ids, labels, Head(plain.weight.cpu(), plain.bias.cpu()), strength)]
