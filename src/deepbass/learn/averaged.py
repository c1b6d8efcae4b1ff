"""A student and its teacher: a network that is trained, and the moving average of its weights that is asked.

Mean teacher (Tarvainen and Valpola, 2017): the average wavers less than the student, so its guesses are better.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from deepbass.learn.engine import Engine
from deepbass.learn.optimisation import Optimisation
from deepbass.learn.packed_state import pack, unpack

_WARM_UP = 10  # steps over which the average forgets how it began: it counts as this many steps, not more


class Averaged:
    """A student with its optimiser, and its teacher."""

    def __init__(
        self,
        teacher: nn.Module,
        decay: float,
        engine_of: Callable[[nn.Module], Engine],
        optimised: Callable[[nn.Module], Optimisation],
        asked: Engine | None = None,
    ) -> None:
        """Begin with a student equal to the teacher; ``asked`` runs the teacher, if something does already."""
        self.teacher, self.student = teacher, copy.deepcopy(teacher)
        self.asked = asked or engine_of(self.teacher)
        self.trained = engine_of(self.student)
        self._optimisation = optimised(self.student)
        self._decay, self._steps = decay, 0

    def zero_grad(self) -> None:
        """Make ready for a batch, whose gradient `trained` will set."""
        self._optimisation.zero_grad()

    def step(self) -> None:
        """Move the student by the gradient that was set, and the teacher after it."""
        self._optimisation.step()
        self._steps += 1
        kept = decay_at(self._steps, self._decay)
        with torch.no_grad():
            for mean, weights in zip(self.teacher.parameters(), self.student.parameters(), strict=True):
                mean.lerp_(weights, 1 - kept)
            for buffer, counted in zip(self.teacher.buffers(), self.student.buffers(), strict=True):
                buffer.copy_(counted)

    def end_epoch(self) -> None:
        """Go on in the schedule of the student's optimiser."""
        self._optimisation.end_epoch()

    def become(self, other: Averaged) -> None:
        """Take over all that another one of the same kind has learned."""
        self.take_up({name: tensor.clone() for name, tensor in other.tensors("").items()}, "")

    def tensors(self, prefix: str) -> dict[str, Tensor]:
        """Name all that a resume needs."""
        return {
            **pack(self.teacher, f"{prefix}teacher."),
            **pack(self.student, f"{prefix}student."),
            **self._optimisation.tensors(f"{prefix}student."),
            f"{prefix}steps": torch.tensor(self._steps),
        }

    def take_up(self, tensors: Mapping[str, Tensor], prefix: str) -> None:
        """Go on from what was packed under a prefix."""
        unpack(tensors, self.teacher, f"{prefix}teacher.")
        unpack(tensors, self.student, f"{prefix}student.")
        self._optimisation.take_up(tensors, f"{prefix}student.")
        self._steps = int(tensors[f"{prefix}steps"])


def decay_at(step: int, decay: float) -> float:
    """Tell how much of the average is kept at a step, from 1 on: less at first, so that the beginning is forgotten."""
    return min(decay, step / (step + _WARM_UP))
