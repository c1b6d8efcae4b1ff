"""Features computed on a cluster: shards of rows as tasks, whose results come back in order and are kept as ever."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.cluster.connection import Cluster
from deepbass.cluster.in_order import AHEAD, RETRIES, results_in_order
from deepbass.cluster.parcels import Parcel, pack_row, unpack_sample
from deepbass.core.own_model import is_code
from deepbass.core.raw_samples import RawSamples
from deepbass.data.raw_images import HasFiles
from deepbass.features.checked import CheckedBatch, compute_checked, prepare_checked
from deepbass.features.extractor import Extractor
from deepbass.features.feature_array import SPREAD_BY
from deepbass.features.saved_extractor import pack_extractor, unpack_extractor

_MOST = 16  # batches of a shard

_Sample = tuple[int, str, Parcel]  # its row, its name, and what it takes to read it


@contextmanager
def features_on(cluster: Cluster, *, beside: bool = False) -> Iterator[None]:
    """Let features that are opened meanwhile be computed on a cluster; ``beside`` others who hold its processors."""
    before = SPREAD_BY.set(FeatureTasks(cluster, beside))
    try:
        yield
    finally:
        SPREAD_BY.reset(before)


@dataclass(frozen=True)
class FeatureTasks:
    """What computes batches of rows on a cluster."""

    cluster: Cluster
    beside: bool = False  # others hold the processors: take none, and no more than one task for each

    @property
    def side_by_side(self) -> int:
        """How many batches are computed at a time."""
        return self.cluster.workers

    def __call__(
        self, samples: RawSamples, extractor: Extractor, batches: list[NDArray[np.int64]]
    ) -> Iterator[CheckedBatch]:
        """Compute batches of rows, each as a single process would."""
        import ray

        named = samples.file(int(batches[0][0])) if isinstance(samples, HasFiles) and batches else None
        if named is not None:
            self.cluster.can_see([named.path.parent])
        ahead = self.side_by_side * (1 if self.beside else AHEAD)
        size = max(1, min(_MOST, len(batches) // (2 * ahead)))
        packed = ray.put(pack_extractor(extractor))
        code = extractor.name if is_code(extractor.name) else None
        task = ray.remote(num_cpus=0 if self.beside else 1, max_retries=RETRIES)(_compute_shard)
        tasks = (
            task.remote(packed, code, [_packed(samples, batch) for batch in batches[start : start + size]])
            for start in range(0, len(batches), size)
        )
        for shard in results_in_order(tasks, ahead):
            yield from shard


def _packed(samples: RawSamples, rows: NDArray[np.int64]) -> list[_Sample]:
    return [(row, samples.name(row), pack_row(samples, row)) for row in rows.tolist()]


def _compute_shard(packed: bytes, named: str | None, batches: list[list[_Sample]]) -> list[CheckedBatch]:
    """Compute some batches on a worker."""
    import torch

    torch.set_num_threads(1)  # a worker has one processor; and the bits are those of one thread wherever it is
    extractor = _extractor(packed, named)
    return [_compute(extractor, batch) for batch in batches]


def _compute(extractor: Extractor, batch: list[_Sample]) -> CheckedBatch:
    samples = {row: (name, parcel) for row, name, parcel in batch}

    def read(row: int) -> Any:
        return unpack_sample(samples[row][1])

    ready, unread = prepare_checked(extractor, list(samples), read, lambda row: samples[row][0])
    if not ready:
        return [], np.empty((0, extractor.width), np.float32), unread
    rows, features, failed = compute_checked(extractor, ready)
    return rows, features, {**unread, **failed}


@lru_cache(maxsize=1)
def _extractor(packed: bytes, named: str | None) -> Extractor:
    """Make the extractor once in a worker: the next shards are mostly of the same."""
    return unpack_extractor(packed, "what the driver sent", named=named)
