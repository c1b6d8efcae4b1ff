"""How long an iteration takes on a cluster, from what was measured on one machine: pure arithmetic, no clock.

A driver has one link to all machines. In a training step it sends the weights to every machine, each worker computes
its share of the batch's blocks of 32 samples, and every block's gradient comes back, to be added in the order of the
blocks; that order is what makes the result the same bits with any number of workers. Inference goes in slabs of 65,536
samples, of which a few bytes a sample come back. `Design` says what could be done otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, log2

BLOCK = 32  # samples whose gradients are added up before all others
SLAB = 65_536  # samples that are inferred and reduced by one message


@dataclass(frozen=True)
class Costs:
    """What was measured, in seconds and bytes."""

    block: float  # seconds for the gradient of a block, on one worker
    sample_pass: float  # seconds for a sample in one dropout pass, on one worker
    weights: int  # bytes of the weights, and of the gradient of one block
    step: float  # seconds of the driver in every step: the optimiser, and putting the weights into the store
    add: float  # seconds of the driver for every block: fetching its gradient from the store, adding it
    message: float  # seconds from a message's sending to its answer, without a network and without work
    slab: float  # seconds of the driver for every slab that comes back
    column: float  # bytes of a sample that come back with a slab
    decide: float  # seconds of the driver for a sample in every iteration: who is admitted, who is asked


@dataclass(frozen=True)
class Network:
    """The way between the driver and all others."""

    latency: float = 0.0  # seconds, one way
    bandwidth: float = float("inf")  # bytes a second, of the driver's link


@dataclass(frozen=True)
class Cluster:
    """Who computes."""

    machines: int = 1
    workers: int = 1  # on each machine, with one thread
    network: Network = Network()
    apart: bool = False  # whether the driver is on a machine of its own; else on one of these, which needs no network
    cores: int | None = None  # that all machines share, in a trial on one machine; None: every worker has its own

    @property
    def all_workers(self) -> int:
        """Count the workers of all machines."""
        return self.machines * self.workers

    @property
    def far(self) -> int:
        """Count the machines that the network lies before."""
        return self.machines if self.apart else self.machines - 1

    @property
    def crowding(self) -> float:
        """Tell how many workers share a core."""
        return 1.0 if self.cores is None else max(1.0, self.all_workers / self.cores)


@dataclass(frozen=True)
class Design:
    """How a step is done; what is not as today is what could be changed."""

    batch: int = 1024
    tree: bool = False  # machines add neighbouring blocks up, in a tree of fixed shape, and one sum comes back

    @property
    def blocks(self) -> int:
        """Count the blocks of a batch."""
        return ceil(self.batch / BLOCK)


@dataclass(frozen=True)
class Step:
    """The parts of a training step, in seconds."""

    compute: float
    wire: float  # bytes over the driver's link, or up the tree
    latency: float  # messages
    driver: float

    @property
    def seconds(self) -> float:
        """Add the parts up: nothing is done at the same time."""
        return self.compute + self.wire + self.latency + self.driver


def training_step(costs: Costs, cluster: Cluster, design: Design) -> Step:
    """Reckon one step on a batch."""
    blocks, network, machines, far = design.blocks, cluster.network, cluster.machines, cluster.far
    working = min(cluster.all_workers, blocks)  # a block is not divided
    compute = ceil(blocks / working) * costs.block * cluster.crowding
    latency = costs.message + 2 * network.latency * (far > 0)
    if not design.tree:
        wire = (min(far, working) + blocks * far / machines) * costs.weights / network.bandwidth
        return Step(compute, wire, latency, costs.step + blocks * costs.add)
    levels = ceil(log2(far + 1))
    # weights go down a tree of machines, and one gradient comes up it; a worker's own blocks are added where they are
    hops = levels * 2 * costs.weights / network.bandwidth
    own = ceil(blocks / working) * cluster.workers * costs.add
    return Step(compute, hops, latency + levels * 2 * (costs.message + network.latency), costs.step + own)


@dataclass(frozen=True)
class Iteration:
    """The parts of an iteration, in seconds."""

    inference: float
    training: float
    decisions: float

    @property
    def seconds(self) -> float:
        """Add the parts up."""
        return self.inference + self.training + self.decisions


def inference(costs: Costs, cluster: Cluster, samples: int, passes: int, slab: int = SLAB) -> float:
    """Reckon the passes over a pool: slabs are handed out to whoever is free, and the driver takes in what comes."""
    slabs, of_one, network = ceil(samples / slab), min(samples, slab), cluster.network
    share = cluster.far / cluster.machines  # of what comes back that comes over the network
    compute = of_one * passes * costs.sample_pass * cluster.crowding
    message = costs.message + (2 * network.latency + of_one * costs.column / network.bandwidth) * (share > 0)
    workers = ceil(slabs / cluster.all_workers) * (compute + message)
    driver = slabs * costs.slab + share * samples * costs.column / network.bandwidth
    return max(workers, driver) + (costs.slab if workers > driver else 0.0)


def iteration(
    costs: Costs, cluster: Cluster, design: Design, samples: int, passes: int = 3, trained_on: float = 1.0
) -> Iteration:
    """Reckon an iteration: passes over the pool, decisions, one epoch over that share of it which has a guess."""
    steps = ceil(samples * trained_on / design.batch)
    return Iteration(
        inference(costs, cluster, samples, passes),
        steps * training_step(costs, cluster, design).seconds,
        samples * costs.decide,
    )


def efficiency(costs: Costs, cluster: Cluster, design: Design, samples: int, passes: int = 3) -> float:
    """Tell what share of the machines' time is put to use: 1 is as many times as fast as there are machines."""
    alone = iteration(costs, replace(cluster, machines=1), design, samples, passes).seconds
    return alone / (cluster.machines * iteration(costs, cluster, design, samples, passes).seconds)


def most_machines(
    costs: Costs, cluster: Cluster, design: Design, samples: int, passes: int = 3, least: float = 0.5
) -> int:
    """Find how many machines pay: the most, of powers of two, of whose time at least a half is put to use."""
    machines = 1
    while machines < 1 << 20 and (
        efficiency(costs, replace(cluster, machines=2 * machines), design, samples, passes) >= least
    ):
        machines *= 2
    return machines
