"""Run on a cluster: while it lasts, the engines of all learners are made of its workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from deepbass.cluster.address import LOCAL, check_workers
from deepbass.cluster.connection import Cluster, connected
from deepbass.cluster.feature_tasks import features_on
from deepbass.core.errors import ConfigError
from deepbass.learn.engine import REPLACED_BY

if TYPE_CHECKING:
    from deepbass.cluster.crew import Crew

RAY = "ray"


@dataclass(frozen=True)
class OnRay:
    """A cluster that computes, and its workers."""

    cluster: Cluster
    crew: Crew


@contextmanager
def on_ray(
    address: str | None = None, workers: int | None = None, *, on_note: Callable[[str], None] = lambda note: None
) -> Iterator[OnRay]:
    """Attach to a cluster of Ray, or start one on this machine: learners that are made meanwhile use its workers.

    All that trains a network or asks it does so there, with the same results: runs, classifiers, sessions. Without a
    number of ``workers`` there are as many as the cluster has processors, also when it grows. At the end of the block
    the workers are let go, and what goes on does so in this process.
    """
    with connected(address, workers) as cluster:
        from deepbass.cluster.cluster_engine import ClusterEngine
        from deepbass.cluster.crew import Crew
        from deepbass.cluster.object_store import ObjectStore

        on_note(f"Ray: {cluster}.")
        with Crew(cluster.workers if address in (None, LOCAL) else workers, on_note=on_note) as crew:
            before = REPLACED_BY.set(partial(ClusterEngine, crew, ObjectStore(crew.log)))
            try:
                yield OnRay(cluster, crew)
            finally:
                REPLACED_BY.reset(before)


@contextmanager
def computed_by(
    engine: str | None, address: str | None, workers: int | None, on_note: Callable[[str], None] = lambda note: None
) -> Iterator[OnRay | None]:
    """Have learners computed by what was asked for: None: by this process; "ray": by workers of a cluster."""
    if engine not in (None, RAY):
        raise ConfigError(f"engine = {engine!r}: say 'ray' for a cluster, or leave it out.")
    if engine is None:
        if address is not None:
            raise ConfigError(f"address = {address!r} is for a cluster: add engine='ray', or leave it out.")
        check_workers(None, workers)
        yield None
        return
    with on_ray(address, workers, on_note=on_note) as there:
        yield there


@contextmanager
def features_computed_by(there: OnRay | None) -> Iterator[None]:
    """Have features computed on the cluster, too; before its workers are hired, who leave no processor free."""
    if there is None:
        yield
        return
    with features_on(there.cluster):
        yield
