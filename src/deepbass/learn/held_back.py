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

from deepbass.core.belief import Floats
from deepbass.core.guard import Evidence
from deepbass.core.labels import NO_IDS, Ids, Labels
from deepbass.core.lots import fair
from deepbass.core.opinions import temperature
from deepbass.core.randomness import generator
from deepbass.core.trust import proven, trust

_ONE_OF = 5  # first labels that is kept back
_FEWEST = 50  # first labels of which any are
_TELLING = 10  # fair labels from which on these say how sure the network may be
_TINY = 1e-12  # a probability that is none
_LEFT = 2  # labels of a class that are left to learn from, at least
OF_SAMPLES = ("held.kept", "held.learned", "held.off", "held.begun")  # what is packed of samples, whatever the classes
_NO_ROWS: NDArray[np.int64] = np.empty((0, 4), dtype=np.int64)


class HeldBack:
    """The labels that are kept back for now, and a row for each one that was predicted before it was trained on."""

    def __init__(self) -> None:
        self.kept: Ids = NO_IDS  # from both networks, until the trial is over
        self.learned: Ids = NO_IDS  # what both were trained on
        self._rows = _NO_ROWS  # id, whether it was kept back, right with guesses, right without
        self._logits: Floats = np.empty((0, 2, 0))  # of both networks, with guesses and without, for each of these
        self.off = False  # guesses have been found to harm
        self.proven = False  # they have been found to help
        self.left_out: Ids = NO_IDS  # samples that nobody is asked about and that are never guessed at: an audit's
        self.begun = False  # whether it was there for all that was learned; not so where weights come from elsewhere

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

    def note(self, ids: Ids, kept: bool, labels: Labels, probs_N_C: Floats, plain_N_C: Floats) -> None:
        """Write down what was said of labels, with guesses and without, before these were trained on."""
        right, plain = (said.argmax(1) == labels.answer[ids] for said in (probs_N_C, plain_N_C))
        rows = np.column_stack([ids, np.full(len(ids), kept), right, plain]).astype(np.int64)
        self._rows = np.concatenate([self._rows, rows])
        logits_N_2_C = np.log(np.maximum(np.stack([probs_N_C, plain_N_C], axis=1), _TINY))
        self._logits = np.concatenate([self._logits, logits_N_2_C]) if len(self._logits) else logits_N_2_C

    def evidence(self, labels: Labels) -> Evidence:
        """Sum up the rows that are fair, and weigh the guesses by them."""
        counts = self._fair(labels)
        right, plain = self._rows[counts, 2], self._rows[counts, 3]
        better, worse = int((right > plain).sum()), int((right < plain).sum())
        weight = 0.0 if self.off else trust(better, worse)
        self.proven = not self.off and proven(better, worse)
        self.off = weight == 0  # for good: without guesses the networks are one, and nothing more can be told
        return Evidence("pseudo-labels", int(counts.sum()), float(right.sum()), float(plain.sum()), weight)

    def temperature(self, labels: Labels) -> float:
        """Find what to divide the logits of the network that is used by, so that it is no surer than it is right.

        1 until there is evidence to the contrary; what was asked because the network was in doubt has no say. It is
        never made surer than it is: a few labels that are all predicted right say little of how sure one may be.
        """
        counts = self._fair(labels)
        answers = labels.answer[self._rows[counts, 0]].astype(np.int64)
        if len(answers) < _TELLING:
            return 1.0
        return max(1.0, temperature(self._logits[counts, int(self.off)], answers, np.ones(len(answers))))

    def _fair(self, labels: Labels) -> NDArray[np.bool_]:
        """Tell which rows count: of labels that nobody chose by what a network thinks."""
        ids, kept = self._rows[:, 0], self._rows[:, 1]
        counts: NDArray[np.bool_] = (kept == 1) | np.isin(ids, fair(labels, self.left_out))
        return counts & np.isin(ids, labels.known)  # an answer may have been taken back

    def tensors(self) -> dict[str, Tensor]:
        """Name all that a resume needs."""
        return {
            "held.kept": torch.from_numpy(self.kept),
            "held.learned": torch.from_numpy(self.learned),
            "held.rows": torch.from_numpy(self._rows),
            "held.logits": torch.from_numpy(self._logits),
            "held.off": torch.tensor(self.off),
            "held.begun": torch.tensor(self.begun),
        }

    def take_up(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on from what was packed."""
        self.kept, self.learned, self._rows, self._logits = (
            tensors[f"held.{name}"].numpy().copy() for name in ("kept", "learned", "rows", "logits")
        )
        self.off, self.begun = bool(tensors["held.off"]), bool(tensors["held.begun"])
