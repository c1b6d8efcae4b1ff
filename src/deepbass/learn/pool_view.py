"""What the unlabelled pool tells a linear head: how its samples vary, and which lie next to which."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from deepbass.core.belief import Floats
from deepbass.core.graph import neighbour_graph, spread
from deepbass.core.labels import Classes, Ids
from deepbass.core.randomness import generator
from deepbass.core.samples import Samples
from deepbass.core.typical import main_directions
from deepbass.learn.heads import LinearHead

MOST_POINTS = 20_000  # of a larger pool a random part speaks for all
DIMENSIONS = 256  # what is beyond is mostly noise, and time
_NEIGHBOURS = 10
_SHOWN = 2_000  # samples that heads are fitted to: more of them change little
_ALPHA, _ROUNDS = 0.9, 25  # how far labels are spread: a known one speaks for its neighbourhood, not for all


class PoolView:
    """Some samples of a pool in few dimensions, with their graph of neighbours. It follows from seed and samples."""

    def __init__(self, pool: Samples, ids: Ids, head: LinearHead, seed: int) -> None:
        rng = generator(seed, 0, "view of the pool")
        self._pool, self._head = pool, head
        self.of = ids
        self.rows = ids if len(ids) <= MOST_POINTS else np.sort(rng.choice(ids, MOST_POINTS, replace=False))
        seen = self.prepared(self.rows)
        wide = seen.shape[1] > DIMENSIONS
        self._directions = torch.from_numpy(main_directions(seen.numpy(), DIMENSIONS, rng)) if wide else None
        self.points = self.reduced(seen)
        lengths = np.linalg.norm(self.points.numpy(), axis=1, keepdims=True)
        self._units_N_D: NDArray[np.float32] = self.points.numpy() / np.maximum(lengths, 1e-9)
        self._graph = neighbour_graph(self._units_N_D, _NEIGHBOURS)
        few = min(_SHOWN, len(self.rows))
        self.shown = np.sort(rng.choice(len(self.rows), few, replace=False))  # places in rows

    def reduced(self, prepared: Tensor) -> Tensor:
        """Project what a head sees onto the pool's main directions."""
        return prepared if self._directions is None else prepared @ self._directions.T

    def widened(self, weight: Tensor) -> Tensor:
        """Turn weights for few dimensions into the same ones for all."""
        return weight if self._directions is None else weight @ self._directions.to(weight.dtype)

    def spread(self, ids: Ids, labels: Classes, classes: int) -> Floats:
        """Spread known labels over the graph: probabilities of every row of the view."""
        return spread(self._graph, self._places(ids), labels, classes, alpha=_ALPHA, rounds=_ROUNDS)

    def prepared(self, ids: Ids) -> Tensor:
        """Read samples as the head sees them."""
        with torch.no_grad():
            head = self._head
            samples = torch.from_numpy(self._pool.read(ids)).to(head.centre.device)
            return head.prepared(samples)[:, head.seen()].cpu().float().contiguous()

    def _places(self, ids: Ids) -> Ids:
        """Find samples among the rows; who is not there is where the nearest one is."""
        places = np.minimum(np.searchsorted(self.rows, ids), len(self.rows) - 1)
        outside = np.flatnonzero(self.rows[places] != ids)
        if len(outside):
            products = self.reduced(self.prepared(ids[outside])).numpy() @ self._units_N_D.T
            places[outside] = products.argmax(1)
        return places
