"""Choose what to ask before there is a model: samples that look unlike one another."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from deepbass.core.labels import Ids
from deepbass.core.randomness import generator
from deepbass.data.parallel import in_order, usable_threads
from deepbass.label.items import Items, Unpicturable

LOOKED_AT = 600  # samples at most: enough to meet every class that is not rare, and done in seconds
_TRIALS = 4  # points drawn for each that is taken


def spread(
    items: Items, ids: Sequence[int] | Ids, count: int, seed: int, side: int = 16, names: Sequence[str] | None = None
) -> list[int]:
    """Order some of the ids so that they soon cover all that there is to see (as the seeding of k-means++ does).

    Small grey thumbnails of a random part, or the words of texts and rows, are compared. What was not looked at
    follows, and what cannot be seen comes last, both in random order. Drawn by ``seed``; asking for more only adds
    to the end. ``names`` is the list that ids are places in, if it is not that of ``items`` itself.
    """
    known = items.names if names is None else names
    shuffled: list[int] = generator(seed, 0, "spread").permutation(np.unique(np.asarray(ids, dtype=np.int64))).tolist()
    part, rest = shuffled[:LOOKED_AT], shuffled[LOOKED_AT:]

    def seen(id_: int) -> NDArray[np.float32] | None:
        try:
            return items.look(known[id_], side)
        except Unpicturable:
            return None

    with ThreadPoolExecutor(usable_threads()) as threads:
        looks = dict(zip(part, in_order(threads, seen, part), strict=True))
    visible = {id_: look for id_, look in looks.items() if look is not None}
    unseen = [id_ for id_ in part if id_ not in visible]
    candidates = list(visible)
    points = np.array(list(visible.values()), dtype=np.float32)
    order = _seeding(points, count, generator(seed, 0, "spread, seen"))
    return [*(candidates[place] for place in order), *rest, *unseen][:count]


def _seeding(points_N_D: NDArray[np.float32], count: int, rng: np.random.Generator) -> list[int]:
    """Order points as k-means++ draws its centres: the farther from those taken, the likelier to be next.

    Of a few drawn, the one that leaves the others nearest to some centre is taken. Always taking the farthest would ask
    about oddities: on MNIST it takes twice the labels that a random order does until every class has three.
    """
    taken: list[int] = []
    distance_N = np.ones(len(points_N_D))
    while len(taken) < min(count, len(points_N_D)):
        if not distance_N.any():  # only twins of what was taken are left
            distance_N = np.ones(len(points_N_D))
            distance_N[taken] = 0.0
        drawn = rng.choice(len(points_N_D), _TRIALS, p=distance_N / distance_N.sum())
        nearer = [((points_N_D - points_N_D[place]) ** 2).sum(axis=1, dtype=np.float64) for place in drawn]
        if taken:
            nearer = [np.minimum(distance_N, distances) for distances in nearer]
        best = int(np.argmin([distances.sum() for distances in nearer]))
        taken.append(int(drawn[best]))
        distance_N = nearer[best]
        distance_N[taken] = 0.0
    return taken
