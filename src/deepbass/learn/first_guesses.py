"""The first guesses, before there is a network to make any: the known labels, spread over a graph of neighbours.

From ten or twenty typical labels they are right far more often than a network that has seen nothing else.
"""

from __future__ import annotations

import numpy as np

from deepbass.core.graph import neighbour_graph, spread
from deepbass.core.labels import Labels
from deepbass.core.samples import Samples
from deepbass.core.typical import DIMENSIONS, reduce

_MOST = 20_000  # samples that the graph links: of a larger pool a random part
_MOST_BYTES = 1 << 28  # that they take
_NEIGHBOURS = 10
_SURE = 0.6  # share of what reaches a sample that is of one class


def first_guesses(pool: Samples, labels: Labels, rng: np.random.Generator) -> Labels:
    """Guess what the neighbours of known labels leave little doubt about; nothing where one class only is known."""
    known, unknown = labels.known, labels.unknown
    if len(np.unique(labels.answer[known])) < 2:
        return labels.guessed(known[:0], known[:0])
    most = max(0, min(_MOST, _MOST_BYTES // (4 * int(np.prod(pool.shape)))) - len(known))
    others = unknown if len(unknown) <= most else np.sort(rng.choice(unknown, most, replace=False))
    ids = np.concatenate([known, others])
    graph = neighbour_graph(reduce(pool.read(ids), DIMENSIONS, rng), _NEIGHBOURS)
    probs_N_C = spread(graph, np.arange(len(known)), labels.answer[known].astype(np.int64), labels.classes)
    sure = probs_N_C.max(1) > _SURE
    return labels.guessed(ids[sure], probs_N_C.argmax(1)[sure])
