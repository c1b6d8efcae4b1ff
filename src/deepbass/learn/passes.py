"""Dropout passes over samples, until all passes are made or nothing that is needed can change."""

from __future__ import annotations

import numpy as np

from deepbass.core.belief import BeliefSum, Bools
from deepbass.core.labels import Ids
from deepbass.core.need import Need
from deepbass.learn.engine import Engine, OnShare
from deepbass.learn.torch_engine import slices

_PART = 1 << 14  # rows


def make_passes(
    engine: Engine, ids: Ids, passes: int, seed: int, total: BeliefSum, need: Need, on_share: OnShare
) -> None:
    """Add one or more dropout passes to a sum; samples that are settled are spared the rest."""
    rows, made = np.arange(len(ids)), 0  # samples still open, and passes made over any of them
    for which in _stages(passes) if engine.exits and not need.everything else [range(passes)]:
        if which.start > 0:
            rows = rows[_open(total, ids, rows, passes, need)]
        if not len(rows):
            break
        work, most = len(rows) * len(which), made + len(rows) * (passes - which.start)
        engine.passes(ids, rows, which, seed, total, _share_of(on_share, made / most, work / most))
        made += work


def _open(total: BeliefSum, ids: Ids, rows: Ids, passes: int, need: Need) -> Bools:
    """Tell which rows need a further pass; a part at a time where no row's need hangs on the others."""
    size = max(1, len(rows)) if need.decisions else _PART
    parts = [need.open(total.partial(ids, rows[part], passes)) for part in slices(len(rows), size)]
    return np.concatenate(parts)


def _stages(passes: int) -> list[range]:
    """Cut the passes where samples may be settled: after more than half of them, and then after each."""
    first = passes // 2 + 1  # until then the passes left outweigh those made, and no guess is safe
    return [range(first), *(range(done, done + 1) for done in range(first, passes))]


def _share_of(on_share: OnShare, start: float, width: float) -> OnShare:
    """Show the progress of a part as progress of the whole."""
    return lambda share: on_share(start + width * share)
