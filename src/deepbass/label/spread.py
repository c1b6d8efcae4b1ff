"""Choose what to ask before there is a model: samples that look as unlike one another as possible."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from deepbass.core.randomness import generator
from deepbass.data.parallel import in_order, usable_threads
from deepbass.label.items import Items, Unpicturable

LOOKED_AT = 600  # samples at most: enough to meet every class that is not rare, and done in seconds


def spread(
    items: Items, ids: Sequence[int], count: int, seed: int, side: int = 16, names: Sequence[str] | None = None
) -> list[int]:
    """Order some of the ids so that each looks as unlike all before it as can be (farthest first).

    Small grey thumbnails of a random part are compared. What was not looked at follows, and what cannot be seen comes
    last, both in random order. The first is drawn by ``seed``; asking for more only adds to the end. ``names`` is the
    list that ids are places in, if it is not that of ``items`` itself.
    """
    known = items.names if names is None else names
    shuffled: list[int] = generator(seed, 0, "spread").permutation(np.unique(np.asarray(ids, dtype=np.int64))).tolist()
    part, rest = shuffled[:LOOKED_AT], shuffled[LOOKED_AT:]

    def seen(id_: int) -> NDArray[np.uint8] | None:
        try:
            return items.thumbnail(known[id_], side)
        except Unpicturable:
            return None

    with ThreadPoolExecutor(usable_threads()) as threads:
        looks = dict(zip(part, in_order(threads, seen, part), strict=True))
    visible = {id_: look for id_, look in looks.items() if look is not None}
    unseen = [id_ for id_ in part if id_ not in visible]
    candidates = list(visible)
    order = _farthest_first(np.array([look.ravel() for look in visible.values()], dtype=np.float32), count)
    return [*(candidates[place] for place in order), *rest, *unseen][:count]


def _farthest_first(points_N_D: NDArray[np.float32], count: int) -> list[int]:
    """Start with the first point, then always take the one that is farthest from those taken."""
    taken: list[int] = []
    distance_N = np.full(len(points_N_D), np.inf)
    while len(taken) < min(count, len(points_N_D)):
        taken.append(int(np.argmax(distance_N)))  # the first of equals
        distance_N = np.minimum(distance_N, ((points_N_D - points_N_D[taken[-1]]) ** 2).sum(axis=1))
        distance_N[taken] = -1.0  # so that twins of what was taken still come before it
    return taken
