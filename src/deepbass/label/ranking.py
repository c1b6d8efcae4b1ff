"""What the trainer leaves for the people's side at the end of an iteration: what the model thinks of every sample.

It is a file of the checkpoint, so that weights and ranking belong together and one commit makes both count.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

RANKING_FILE = "ranking.safetensors"


@dataclass(frozen=True, eq=False)
class Ranking:
    """Arrays have one value an item id; what the model has not seen (broken, new) has guess -1 and score -inf."""

    guess: NDArray[np.int16]  # likeliest class by the mean of the dropout passes; -1: none
    confidence: NDArray[np.float32]  # its probability
    entropy: NDArray[np.float32]  # 0 certain .. 1 all classes alike
    score: NDArray[np.float32]  # of the acquisition policy: the higher, the more useful is an answer
    member: NDArray[np.bool_]  # whether the guess is trained on
    predicted: NDArray[np.int16]  # by the very weights of this checkpoint, dropout off; -1 where not asked for (audit)
    snapshots: NDArray[np.int16]  # [k, items] guesses when ``snapshot_labels[k]`` labels were known, oldest first
    snapshot_labels: NDArray[np.int32]
    known: int  # labels that the weights were trained with

    def pack(self) -> bytes:
        """Write the arrays as safetensors."""
        return safetensors.numpy.save({field.name: np.asarray(getattr(self, field.name)) for field in fields(self)})

    @classmethod
    def unpack(cls, packed: bytes) -> Ranking:
        """Read the arrays again."""
        arrays: dict[str, Any] = safetensors.numpy.load(packed)
        return cls(**{**arrays, "known": int(arrays["known"])})
