"""What changes a network's weights, and how fast: an optimiser and its schedule, built in or the user's own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from deepbass.core.config import Config
from deepbass.core.errors import ConfigError
from deepbass.core.own_parts import OwnParts, check_built_in, name_of_part, quote
from deepbass.learn.packed_state import pack_optimiser, unpack_optimiser, weights_of

MakeOptimizer = Callable[[list[nn.Parameter]], Optimizer]
MakeSchedule = Callable[[Optimizer], LRScheduler]
TOLD = "optimiser.told"  # what is no tensor, as JSON


class Optimisation:
    """An optimiser of a network's weights, whose rates follow a schedule if there is one."""

    def __init__(self, model: nn.Module, config: Config, own: OwnParts | None = None) -> None:
        check_built_in(config, ("optimizer", "schedule"), own)
        own = own or OwnParts()
        self.optimiser = built_in(model, config) if own.optimizer is None else _own_optimiser(own.optimizer, model)
        self.schedule = None if own.schedule is None else _own_schedule(own.schedule, self.optimiser)
        parts = {"optimizer": own.optimizer, "schedule": own.schedule}
        named = [f"{name} = {name_of_part(part)}" for name, part in parts.items() if part is not None]
        self._own = " and ".join(named)  # nothing: all that is no tensor follows from the configuration

    def zero_grad(self) -> None:
        """Forget the gradient."""
        self.optimiser.zero_grad()

    def step(self) -> None:
        """Change the weights by the gradient that is set."""
        self.optimiser.step()

    def end_epoch(self) -> None:
        """Go on in the schedule: an epoch is over."""
        if self.schedule is not None:
            self.schedule.step()

    def tensors(self, prefix: str = "") -> dict[str, Tensor]:
        """Name all that a resume needs, under a prefix."""
        packed = pack_optimiser(self.optimiser, prefix)
        if self._own:
            told = {
                "groups": [{k: v for k, v in group.items() if k != "params"} for group in self.optimiser.param_groups],
                "state": [
                    [place, name, value]
                    for place, weights in enumerate(weights_of(self.optimiser))
                    for name, value in self.optimiser.state[weights].items()
                    if not isinstance(value, Tensor)
                ],
                "schedule": None if self.schedule is None else self.schedule.state_dict(),
            }
            text = json.dumps(self._plain(told)).encode()
            packed[f"{prefix}{TOLD}"] = torch.from_numpy(np.frombuffer(text, dtype=np.uint8).copy())
        return packed

    def take_up(self, tensors: Mapping[str, Tensor], prefix: str = "") -> None:
        """Go on from what was packed under a prefix."""
        unpack_optimiser(tensors, self.optimiser, prefix)
        if self._own and (packed := tensors.get(f"{prefix}{TOLD}")) is not None:
            told = _unplain(json.loads(packed.numpy().tobytes()))
            for group, kept in zip(self.optimiser.param_groups, told["groups"], strict=True):
                group.update(kept)
            for place, name, value in told["state"]:
                self.optimiser.state[weights_of(self.optimiser)[place]][name] = value
            if self.schedule is not None:
                self.schedule.load_state_dict(told["schedule"])

    def _plain(self, value: Any) -> Any:
        """Write what an optimiser or schedule knows as JSON has it; nothing is pickled."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, dict):  # keys may be numbers
            kind = "counter" if isinstance(value, Counter) else "dict"
            return {kind: [[self._plain(key), self._plain(item)] for key, item in value.items()]}
        if isinstance(value, list | tuple):
            return {"tuple" if isinstance(value, tuple) else "list": [self._plain(item) for item in value]}
        raise ConfigError(
            f"{self._own} has {quote(value)} in its state, a {type(value).__name__}, which cannot be kept for a "
            "resume: keep numbers, texts, lists and dictionaries there."
        )


def _unplain(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, items),) = value.items()
    if kind in ("dict", "counter"):
        made = {_unplain(key): _unplain(item) for key, item in items}
        return Counter(made) if kind == "counter" else made
    return (tuple if kind == "tuple" else list)(_unplain(item) for item in items)


def built_in(model: nn.Module, config: Config) -> Optimizer:
    """Make the optimiser that is named; lambda * sum(w^2) on kernels is a weight decay of 2 lambda, 0 elsewhere."""
    learnable = _learnable(model)
    kernels = [weights for weights in learnable if weights.ndim > 1]
    others = [weights for weights in learnable if weights.ndim <= 1]
    groups = [{"params": kernels, "weight_decay": 2 * config.l2}, {"params": others, "weight_decay": 0.0}]
    groups = [group for group in groups if group["params"]]
    # one call a step: the loop over tensors takes ten, and threads of MKL that wait for one another
    fused = True if all(weights.device.type == "cpu" for weights in learnable) else None
    if config.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=config.learning_rate, momentum=0.9, nesterov=True, fused=fused)
    kind = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
    return kind(groups, lr=config.learning_rate, eps=1e-7, fused=fused)  # the epsilon is Keras'


def _own_optimiser(make: MakeOptimizer, model: nn.Module) -> Optimizer:
    made: object = make(_learnable(model))
    if not isinstance(made, Optimizer):
        raise ConfigError(
            f"optimizer = {name_of_part(make)} returned {quote(made)}, which is no torch.optim.Optimizer: return one "
            "of the weights that it is called with, as in lambda weights: torch.optim.SGD(weights, lr=0.1)."
        )
    if isinstance(made, torch.optim.LBFGS):
        raise ConfigError(f"optimizer = {name_of_part(make)}: LBFGS wants the loss again and again in one step.")
    return made


def _own_schedule(make: MakeSchedule, optimiser: Optimizer) -> LRScheduler:
    made: object = make(optimiser)
    if not isinstance(made, LRScheduler) or isinstance(made, ReduceLROnPlateau):
        raise ConfigError(
            f"schedule = {name_of_part(make)} returned {quote(made)}: return an LRScheduler of torch that goes by "
            "epochs alone, as in lambda optimizer: torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)."
        )
    return made


def _learnable(model: nn.Module) -> list[nn.Parameter]:
    learnable = [weights for weights in model.parameters() if weights.requires_grad]
    if not learnable:
        raise ConfigError("The model has no learnable parameters, so there is nothing to train.")
    return learnable
