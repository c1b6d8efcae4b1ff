"""A network that is slower than loopback, put in where messages are: a worker waits for the way there and back, and
the driver's one link takes its time for every byte of weights and of results.

Real queues (`tc netem`) would be nearer to life, but not every kernel has them, and nobody but root may set them up.
"""

from __future__ import annotations

import time
from typing import Any

import ray

from cluster.cost_model import Network
from deepbass.cluster.cluster_worker import ClusterWorker, Done, Ticket
from deepbass.cluster.crew import Crew, Member
from deepbass.cluster.crew_log import size_of
from deepbass.cluster.object_store import ObjectStore


class FarWorker(ClusterWorker):
    """A worker that messages take a while to reach, and to come back from."""

    _latency = 0.0

    def move(self, latency: float) -> None:
        """Be so many seconds away."""
        self._latency = latency

    def work(self, what: str, engine: Ticket, weights: Ticket, *args: Any) -> Done:
        """Do a piece of work, after the time that it takes to come here and to go back."""
        if self._latency:
            time.sleep(2 * self._latency)
        return super().work(what, engine, weights, *args)


class SlowStore(ObjectStore):
    """Takes as long to hand out weights, which are a dictionary of arrays, as the link takes for all to have them."""

    machines, bandwidth = 1, float("inf")

    def ticket(self, thing: Any) -> Ticket:
        """Put something into the store."""
        if isinstance(thing, dict):
            time.sleep(self.machines * size_of(thing) / self.bandwidth)
        return super().ticket(thing)


class SlowCrew(Crew):
    """Workers behind a network that can be changed, of whom some may have a rest."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self._actor: Any = ray.remote(FarWorker)
        self.store = SlowStore(self.log)
        self._bandwidth = float("inf")
        self._all: list[Member] = []

    def use(self, count: int, network: Network) -> None:
        """Let the first so many work, over a network."""
        if not self._all:
            most = self.wanted or 1
            assert self.gather(most, seconds=600) == most, f"there are no {most} workers"
            self._all = list(self.members)
        self.wanted, self.members = count, self._all[:count]
        self._free = list(self.members)
        self.store.machines, self.store.bandwidth, self._bandwidth = count, network.bandwidth, network.bandwidth
        ray.get([member.actor.move.remote(network.latency) for member in self.members])

    def close(self) -> None:
        """Let all go, those at rest too."""
        self.members = self._all or self.members
        super().close()

    def _done(self, reference: Any, member: Member, task: Any) -> Done | None:
        """Fetch a result, which the driver's link takes its time for."""
        found = super()._done(reference, member, task)
        if found is not None:
            time.sleep(size_of(found.result) / self._bandwidth)
        return found
