"""What the trainer leaves for the people's side at the end of an iteration: what the model thinks of every sample.

It is a file of the checkpoint, so that weights and ranking belong together and one commit makes both count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from deepbass.core.errors import StoreError
from deepbass.core.foreign import decoding
from deepbass.label.class_list import ClassList
from deepbass.store.names import RANKING_FILE

_KIND = re.compile(r"np\.([a-z0-9]+)")  # in a field's type


@dataclass(frozen=True, eq=False)
class Ranking:
    """Arrays have one value per item id; what the model has not seen (broken, new) has guess -1 and score -inf.

    Classes stand by their ids in the project, whatever the order of the network's outputs is.
    """

    guess: NDArray[np.int16]  # likeliest class by the mean of the dropout passes; -1: none
    confidence: NDArray[np.float32]  # its probability
    second: NDArray[np.int16]  # the next likeliest class; -1: none, or written by a version that kept none
    second_confidence: NDArray[np.float32]
    entropy: NDArray[np.float32]  # 0 certain .. 1 all classes alike
    score: NDArray[np.float32]  # of the acquisition policy: the higher, the more useful is an answer
    member: NDArray[np.bool_]  # whether the guess is trained on
    predicted: NDArray[np.int16]  # by the very weights of this checkpoint, dropout off; -1 where not asked for (audit)
    snapshots: NDArray[np.int16]  # [k, items] guesses when ``snapshot_labels[k]`` labels were known, oldest first
    snapshot_labels: NDArray[np.int32]
    known: int  # labels that the weights were trained with

    def resolved(self, classes: ClassList) -> Ranking:
        """Tell the same in terms of the classes that there are now; there is no guess of one that was removed.

        A prediction of a removed class stays: it is measured with audit answers, and wrong about all of them.
        """
        highest = max(int(array.max(initial=-1)) for array in (self.guess, self.second, self.predicted, self.snapshots))
        ids = range(max(classes.ever, 1 + highest))  # whoever read the classes first may not know the newest
        now = [classes.resolve(class_) for class_ in ids]
        if now == list(ids):  # none was merged or removed, and there may be millions of items
            return self
        meant = np.array([*(-1 if class_ is None else class_ for class_ in now), -1], np.int16)
        scored = np.where(meant < 0, np.array([*ids, -1], np.int16), meant)
        guess, second = meant[self.guess], meant[self.second]
        second = np.where(second == guess, np.int16(-1), second)  # both were merged into one
        return replace(
            self, guess=guess, second=second, predicted=scored[self.predicted], snapshots=meant[self.snapshots]
        )

    def pack(self) -> bytes:
        """Write the arrays as safetensors."""
        return safetensors.numpy.save({field.name: np.asarray(getattr(self, field.name)) for field in fields(self)})

    @classmethod
    def unpack(cls, packed: bytes) -> Ranking:
        """Read the arrays again."""
        with decoding(RANKING_FILE, "ranking", "The trainer writes it again with its next iteration.", StoreError):
            arrays: dict[str, Any] = safetensors.numpy.load(packed)
            items = len(arrays["guess"])
            arrays.setdefault("second", np.full(items, -1, np.int16))  # earlier versions kept none
            arrays.setdefault("second_confidence", np.zeros(items, np.float32))
            ranking = cls(**{**arrays, "known": int(arrays["known"])})
            ranking._check()
            return ranking

    def _check(self) -> None:
        """Refuse arrays that do not belong together."""
        items, snapshots = self.guess.shape, self.snapshot_labels.shape
        shapes = {"snapshots": (*snapshots, *items), "snapshot_labels": snapshots, "known": ()}
        for field in fields(self):
            array, (kind,) = np.asarray(getattr(self, field.name)), _KIND.findall(str(field.type)) or ["int64"]
            if array.dtype != kind or array.shape != shapes.get(field.name, items) or len(items + snapshots) != 2:
                raise ValueError(f"{field.name} has {array.dtype} values of shape {array.shape}")
