"""What the neighbours of known labels say of pictures: an opinion that no network has a part in.

Before there is a network, they make the first guesses: from ten or twenty typical labels these are right far more often
than those of a network that has seen nothing else. Later they bear a network's guesses out, or do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from deepbass.core.belief import Floats
from deepbass.core.graph import neighbour_graph, spread
from deepbass.core.labels import UNKNOWN, Classes, Ids, Labels
from deepbass.core.randomness import generator
from deepbass.core.samples import Samples
from deepbass.core.typical import DIMENSIONS, main_directions, squares
from deepbass.core.unrolled import Points

_MOST = 20_000  # samples that the graph links: of a larger pool a random part
_MOST_BYTES = 1 << 28  # that they take
_NEIGHBOURS = 10
SURE = 0.6  # share of what reaches a sample that is of one class


class SecondOpinion:
    """Some samples of a pool, each linked with its nearest. They follow from the pool and a seed alone.

    ``ways`` are the same samples as they are seen in one way or in several, and what these say counts alike.
    """

    def __init__(self, ways: Sequence[Samples], seed: int) -> None:
        rng = generator(seed, 0, "neighbours")
        count = len(ways[0])
        most = max(1, min(_MOST, _MOST_BYTES // (4 * max(math.prod(way.shape) for way in ways))))
        self.ids: Ids = np.arange(count) if count <= most else np.sort(rng.choice(count, most, replace=False))
        self._linked = [_Linked(way, self.ids, rng) for way in ways]

    def first_guesses(self, labels: Labels) -> Labels:
        """Guess what the neighbours of known labels leave little doubt about; nothing where one class only is known.

        Of each class there is the same share of what they say is of it, the surest ones: some classes lie close
        together and others apart, and a network that is shown many of one and few of the other would not forget it.
        """
        known = labels.known
        if len(np.unique(labels.answer[known])) < 2:
            return labels.guessed(known[:0], known[:0])
        probs_N_C = self._spread(labels)
        surest_N, guess_N = probs_N_C.max(1), probs_N_C.argmax(1)
        open_ = np.flatnonzero(labels.answer[self.ids] == UNKNOWN)
        share = float((surest_N[open_] > SURE).mean()) if len(open_) else 0.0
        by_class = [open_[guess_N[open_] == class_] for class_ in range(labels.classes)]
        surest = [ones[np.argsort(-surest_N[ones], kind="stable")[: round(share * len(ones))]] for ones in by_class]
        chosen = np.sort(np.concatenate(surest))
        return labels.guessed(self.ids[chosen], guess_N[chosen])

    def of_all(self, labels: Labels) -> Classes:
        """Tell what known labels make of every sample of the pool; of those that are not linked, nothing."""
        said: Classes = np.full(len(labels), UNKNOWN, dtype=np.int64)
        said[self.ids] = self._spread(labels).argmax(1)
        return said

    def probabilities(self, labels: Labels, ids: Ids) -> Floats:
        """Tell how probable known labels make every class of some samples; of those that are not linked, all alike."""
        probs_N_C = np.full((len(ids), labels.classes), 1 / labels.classes)
        if len(np.unique(labels.answer[labels.known])) > 1:
            _, here, there = np.intersect1d(ids, self.ids, assume_unique=True, return_indices=True)
            probs_N_C[here] = self._spread(labels)[there]
        return probs_N_C

    def _spread(self, labels: Labels) -> Floats:
        said: Floats = np.mean([linked.spread(labels) for linked in self._linked], axis=0)
        return said


class _Linked:
    """Samples and their nearest, by one way to see them."""

    def __init__(self, pool: Samples, ids: Ids, rng: np.random.Generator) -> None:
        self._pool, self._ids = pool, ids
        seen = self._flat(ids)
        self._centre = seen.mean(0)
        wide = seen.shape[1] > DIMENSIONS
        self._directions = main_directions(seen - self._centre, DIMENSIONS, rng) if wide else None
        self._points = self._placed(seen)
        self._graph = neighbour_graph(self._points, _NEIGHBOURS)

    def spread(self, labels: Labels) -> Floats:
        known = labels.known
        return spread(self._graph, self._place(known), labels.answer[known].astype(np.int64), labels.classes)

    def _place(self, ids: Ids) -> Ids:
        """Find samples among those that are linked; who is not there is where the nearest one is."""
        places = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        outside = np.flatnonzero(self._ids[places] != ids)
        if len(outside):
            places[outside] = squares(self._placed(self._flat(ids[outside])), self._points).argmin(1)
        return places

    def _placed(self, flat: Points) -> Points:
        centred: Points = flat - self._centre
        return centred if self._directions is None else centred @ self._directions.T

    def _flat(self, ids: Ids) -> Points:
        flat: Points = self._pool.read(ids).reshape(len(ids), -1).astype(np.float32, copy=False)
        return flat
