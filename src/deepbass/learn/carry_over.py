"""Keep what a network has learned when its classes change: every tensor that still means the same is taken over.

Which tensors have a row per class is seen from two networks with different numbers of classes: those whose first
dimension differs. Of these, the rows of classes that stay are taken over, and a new class has the row it begins with;
all others are copied as they are. The optimiser's state goes with its weights, and is zero for new rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import safetensors.torch
import torch

from deepbass.core.errors import StoreError
from deepbass.core.foreign import guarded, reason_of
from deepbass.learn.held_back import OF_SAMPLES
from deepbass.learn.learner import LocalLearner
from deepbass.learn.optimisation import TOLD
from deepbass.learn.packed_state import MODEL
from deepbass.learn.teacher import STUDENTS

Tensors = Mapping[str, torch.Tensor]


def carry_over(
    packed: bytes,
    classes_then: int,
    outputs: Sequence[int | None],
    learner: LocalLearner,
    one_more: Callable[[], bytes],
    *,
    same_samples: bool = True,
) -> None:
    """Give a new learner what an earlier one had learned, as that one packed it (`LocalLearner.state`).

    ``outputs`` has, per output of the new network, the output of the earlier one that it goes on from; None: a new
    class. ``one_more`` packs a network with one class more than the new one; it is called only if both have as many.
    ``same_samples`` says whether both speak of the same pool; else what was noted of its samples is forgotten.
    """
    fresh = _unpack(learner.state())
    then = _unpack(packed)
    other = then if classes_then != len(outputs) else _unpack(one_more())
    by_class = {name for name, tensor in fresh.items() if MODEL in name and _differs_in_rows(tensor, other.get(name))}

    def taken_over(name: str, before: torch.Tensor, new: torch.Tensor) -> torch.Tensor | None:
        """Fit what a tensor was into the shape it has now; None: it does not fit."""
        if name not in by_class:
            return before if before.shape == new.shape else None
        if before.shape != (classes_then, *new.shape[1:]):
            return None
        rows = [new[row] if output is None else before[output] for row, output in enumerate(outputs)]
        return torch.stack(rows)

    carried = dict(fresh)
    for name, new in fresh.items():
        if name.endswith(TOLD):
            carried[name] = then.get(name, new)
        elif (fitting := taken_over(name, then.get(name, new), new)) is not None:
            carried[name] = fitting
    carried |= {name: tensor for name, tensor in then.items() if same_samples and name in OF_SAMPLES}
    named = list(enumerate(learner.weight_names()))
    for of, (place, weights) in product(("", *STUDENTS), named):
        name, prefix = f"{of}{MODEL}{weights}", f"{of}adam.{place}."
        if name not in fresh:
            continue
        moments = {key: tensor for key, tensor in then.items() if key.startswith(prefix)}
        none = torch.zeros_like(fresh[name])
        fits = {key: tensor if tensor.ndim == 0 else taken_over(name, tensor, none) for key, tensor in moments.items()}
        whole = {key: tensor for key, tensor in fits.items() if tensor is not None}
        if len(whole) == len(moments):  # Adam wants all that belongs to a weight, or nothing
            carried |= whole
    learner.restore(safetensors.torch.save({name: tensor.contiguous() for name, tensor in carried.items()}))


def _differs_in_rows(tensor: torch.Tensor, other: torch.Tensor | None) -> bool:
    return other is not None and tensor.shape != other.shape and tensor.shape[1:] == other.shape[1:]


def _unpack(packed: bytes) -> dict[str, torch.Tensor]:
    with guarded(lambda cause: StoreError(f"What the model had learned cannot be read: {reason_of(cause)}.")):
        return safetensors.torch.load(packed)
