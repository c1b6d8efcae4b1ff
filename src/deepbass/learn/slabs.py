"""Passes over a large pool, slab by slab: each by itself, and reduced at once to what is read of it.

A slab settles its own samples. The highest scores of a pool are among the highest of its slabs, a threshold is the same
for all, so every decision comes out as if the passes had been made over the whole pool at once. Nor does it matter who
computes which slab, or when.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch

from deepbass.core.belief import BeliefSum
from deepbass.core.need import Need
from deepbass.core.pool_belief import Columns, columns_of
from deepbass.core.randomness import seed_for
from deepbass.core.samples import Samples
from deepbass.learn.engine import Engine, OnShare
from deepbass.learn.passes import make_passes
from deepbass.learn.torch_engine import slices

SLAB = 65_536  # samples; whole chunks of shared masks (torch_engine.CHUNK)


def slabs_of(samples: int, size: int = SLAB) -> list[range]:
    """Cut a pool into slabs, the last maybe smaller."""
    return [range(part.start, part.stop) for part in slices(samples, size)]


def compute_slab(
    engine: Engine,
    pool: Samples,
    classes: int,
    slab: range,
    *,
    passes: int,
    seed: int,
    need: Need,
    device: torch.device,
    on_share: OnShare = lambda share: None,
) -> Columns:
    """Infer the samples ``slab`` of a pool, and reduce what is believed of them to arrays of their length.

    This is all that a worker has to do, wherever it is. What comes out follows from the weights that the engine runs,
    the pool, and these arguments alone; ``seed`` and ``need`` are those of the inference over the whole pool.
    ``need.within(slab)`` does as well, and is what to send: it holds no ids of other slabs. Which columns come back
    hangs on ``need.reads`` (core/pool_belief.py); `gathered` puts slabs together in any order. Zero passes mean one
    with dropout off.
    """
    ids = np.arange(slab.start, slab.stop)
    total = BeliefSum(len(ids), classes, start=slab.start)
    # masks that torch itself draws, one after the other, begin anew with every slab; the others hang on seed and row
    with seeded(device, seed if slab.start == 0 else seed_for(seed, slab.start, "slab")):
        if passes == 0:
            total.add(slice(None), engine.probabilities(pool, ids, on_share))
        else:
            make_passes(engine, ids, passes, seed, total, need.within(slab), on_share)
    return columns_of(total.belief(ids), need.reads)


def compute_slabs(
    engine: Engine,
    pool: Samples,
    classes: int,
    slabs: Sequence[range],
    *,
    passes: int,
    seed: int,
    need: Need,
    device: torch.device,
    on_share: OnShare,
) -> Iterator[tuple[range, Columns]]:
    """Infer one slab after the other, here."""
    for done, slab in enumerate(slabs):

        def on_share_of_slab(share: float, done: int = done) -> None:
            on_share((done + share) / len(slabs))

        found = compute_slab(
            *(engine, pool, classes, slab),
            passes=passes, seed=seed, need=need, device=device, on_share=on_share_of_slab,
        )  # fmt: skip
        yield slab, found


@contextmanager
def seeded(device: torch.device, seed: int) -> Iterator[None]:
    """Draw torch's random numbers from one seed, and leave the caller's generators as they were."""
    devices = [device] if device.type != "cpu" else []
    with (
        torch.random.fork_rng(devices, device_type=device.type if devices else "cuda"),
        torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False),
    ):
        torch.manual_seed(seed)
        yield
