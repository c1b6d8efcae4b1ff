"""What is known of guesses from labels that were kept from them: who was right before a label was learned from.

Two networks go on side by side, one that also learns from guesses and one that does not. Before a label is trained on,
both are asked for it. What counts are labels that nobody chose by what either network thinks: some of the first ones,
which are kept back for a while, and later ones that were drawn by lot (core/lots.py).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from deepbass.core.guard import Evidence
from deepbass.core.labels import NO_IDS, Ids, Labels
from deepbass.core.lots import fair
from deepbass.core.randomness import generator
from deepbass.core.trust import trust

_ONE_OF = 5  # first labels that is kept back
_FEWEST = 50  # first labels of which any are
_LEFT = 2  # labels of a class that are left to learn from, at least
_NO_ROWS: NDArray[np.int64] = np.empty((0, 4), dtype=np.int64)


class HeldBack:
    """The labels that are kept back for now, and a row for each one that was predicted before it was trained on."""

    def __init__(self) -> None:
        self.kept: Ids = NO_IDS  # from both networks, until the trial is over
        self.learned: Ids = NO_IDS  # what both were trained on
        self._rows = _NO_ROWS  # id, whether it was kept back, right with guesses, right without
        self.off = False  # guesses have been found to harm

    def keep_some(self, labels: Labels, seed: int) -> None:
        """Keep back some of the first labels, and none that its class can hardly do without."""
        known = generator(seed, 0, "kept back").permutation(labels.known)
        if len(known) < _FEWEST:
            return
        left = np.bincount(labels.answer[known], minlength=labels.classes)
        kept: list[int] = []
        for id_ in known:
            class_ = labels.answer[id_]
            if len(kept) < len(known) // _ONE_OF and left[class_] > _LEFT:
                left[class_] -= 1
                kept.append(int(id_))
        self.kept = np.sort(np.array(kept, dtype=np.int64))

    def end_trial(self) -> None:
        """Give back what was kept."""
        self.kept = NO_IDS

    def new(self, labels: Labels) -> Ids:
        """List the known labels that neither network has learned from, but for what is kept back."""
        return np.setdiff1d(labels.known, np.union1d(self.learned, self.kept))

    def note(self, ids: Ids, kept: bool, right: NDArray[np.bool_], plain: NDArray[np.bool_]) -> None:
        """Write down who was right about labels, with guesses and without, before these were trained on."""
        rows = np.column_stack([ids, np.full(len(ids), kept), right, plain]).astype(np.int64)
        self._rows = np.concatenate([self._rows, rows])

    def evidence(self, labels: Labels) -> Evidence:
        """Sum up the rows that are fair, and weigh the guesses by them."""
        ids, kept, right, plain = self._rows.T
        counts = (kept == 1) | np.isin(ids, fair(labels))
        counts &= np.isin(ids, labels.known)  # an answer may have been taken back
        right, plain = right[counts], plain[counts]
        better, worse = int((right > plain).sum()), int((right < plain).sum())
        weight = 0.0 if self.off else trust(better, worse)
        self.off = weight == 0  # for good: without guesses the networks are one, and nothing more can be told
        return Evidence("pseudo-labels", int(counts.sum()), float(right.sum()), float(plain.sum()), weight)

    def tensors(self) -> dict[str, Tensor]:
        """Name all that a resume needs."""
        return {
            "held.kept": torch.from_numpy(self.kept),
            "held.learned": torch.from_numpy(self.learned),
            "held.rows": torch.from_numpy(self._rows),
            "held.off": torch.tensor(self.off),
        }

    def take_up(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on from what was packed."""
        self.kept, self.learned, self._rows = (
            tensors[f"held.{name}"].numpy().copy() for name in ("kept", "learned", "rows")
        )
        self.off = bool(tensors["held.off"])
