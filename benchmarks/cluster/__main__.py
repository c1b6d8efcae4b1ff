"""Measure a cluster on this machine: what every part costs, two workers against one, and slow networks.

    python -m cluster [--rounds 7]      (in benchmarks/; `make bench-ray` runs it)

Two single-threaded workers and one take turns, round by round, so that whatever else the machine does falls on both;
medians of rounds are compared. Then one to four workers train and infer over networks with delays put in, and what the
cost model says of them is written beside. Writes benchmarks/results/cluster.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from cluster.cost_model import SLAB, Cluster, Costs, Design, Network, inference, training_step
from cluster.features_once import in_a_process
from cluster.trial import PASSES, Task, Workers, mnist_task, workers
from deepbass.cluster.connection import connected
from deepbass.cluster.crew_log import WorkDone
from deepbass.core.need import every_pass
from deepbass.learn.slabs import compute_slab

RESULTS = Path(__file__).parents[1] / "results" / "cluster.json"
NETWORKS = {
    "loopback": Network(),
    "10 ms": Network(0.01, 1.25e9),
    "50 ms": Network(0.05, 1.25e9),
    "1 Gbit/s": Network(0.001, 1.25e8),
}


class Clock:
    """Collects times of parts, by the wall's clock and by the processor's: only this is blind to other work."""

    def __init__(self) -> None:
        self._took: dict[str, list[tuple[float, float]]] = {}

    @contextmanager
    def part(self, name: str, of: int = 1) -> Iterator[None]:
        """Time a part, which is so many units."""
        start = time.perf_counter(), time.process_time()
        yield
        took = (time.perf_counter() - start[0]) / of, (time.process_time() - start[1]) / of
        self._took.setdefault(name, []).append(took)

    def wall(self, name: str) -> float:
        """Tell the median by the wall's clock."""
        return median(wall for wall, _ in self._took[name])

    def processor(self, name: str) -> float:
        """Tell the median of processor time."""
        return median(computed for _, computed in self._took[name])


def time_alone(task: Task, rounds: int) -> Clock:
    """Measure what needs no cluster: blocks, passes, adding, the optimiser, reduced slabs, decisions."""
    engine, rng, clock = task.alone(), np.random.default_rng(0), Clock()
    optimiser = torch.optim.Adam(task.model.parameters(), lr=1e-4)
    blocks = task.config.batch_size // 32
    with engine.training(0):
        for number in range(rounds):
            ids = rng.choice(len(task.pool), task.config.batch_size, replace=False)
            with clock.part("block", blocks):
                found = engine.blocks(task.pool.read(ids), task.truth[ids], 0, number)
            with clock.part("add", blocks):
                engine.set_gradient(found.sum(0))
            with clock.part("optimiser"):
                optimiser.step()
    entropy = rng.random(SLAB * 16)
    for _ in range(rounds):
        slab, need = range(task.slab), every_pass()
        with clock.part("sample_pass", len(slab) * PASSES):
            compute_slab(engine, task.pool, 10, slab, passes=PASSES, seed=0, need=need, device=torch.device("cpu"))
        with clock.part("decide", len(entropy)):
            np.argpartition(entropy, 1000)
            np.flatnonzero(entropy < 0.5)
        guess, whole = np.zeros(SLAB, np.uint8), np.empty((3, SLAB))
        with clock.part("slab"):
            whole[:] = guess, entropy[:SLAB], entropy[:SLAB]
    return clock


def measure_costs(task: Task, one: Workers, rounds: int) -> tuple[Costs, Costs]:
    """Measure all constants of the model, for machines with nothing else to do, and for this one as it is now."""
    clock, message = time_alone(task, rounds), median(one.messages(50))
    blocks, beyond, worked = task.config.batch_size // 32, [], []
    for _ in range(rounds):
        (step,) = one.train(1)
        worked.append(one.at_work().seconds)
        beyond.append((step - worked[-1] - message, one.driver_seconds[0]))

    def costs(tell: Callable[[str], float], block: float, driver: float) -> Costs:
        # what the driver does beyond the optimiser and adding: gradients and weights through the object store
        store = max(0.0, driver - tell("optimiser") - blocks * tell("add"))
        return Costs(
            block=block,
            sample_pass=tell("sample_pass"),
            weights=task.weights,
            step=tell("optimiser") + store / 2,
            add=tell("add") + store / 2 / blocks,
            message=message,
            slab=tell("slab"),
            column=1 + 2 + 8 + 8,
            decide=tell("decide"),
        )

    walls, computes = zip(*beyond, strict=True)
    alone = costs(clock.processor, clock.processor("block"), median(computes))
    return alone, costs(clock.wall, median(worked) / blocks, median(walls))


def two_against_one(hired: Workers, rounds: int, steps: int, slabs: int) -> dict[str, Any]:
    """Let one worker and two take turns; return medians, their ratio, and where time was lost."""
    took: dict[str, dict[int, list[float]]] = {"inference": {1: [], 2: []}, "training": {1: [], 2: []}}
    done: dict[str, dict[int, list[WorkDone]]] = {"inference": {1: [], 2: []}, "training": {1: [], 2: []}}
    for _ in range(rounds):
        for count in (1, 2):
            hired.use(count)
            took["inference"][count].append(hired.infer(slabs))
            done["inference"][count].append(hired.at_work())
            took["training"][count].append(sum(hired.train(steps)))
            done["training"][count].append(hired.at_work())
    return {what: _compared(took[what], done[what]) for what in took}


def _compared(took: dict[int, list[float]], done: dict[int, list[WorkDone]]) -> dict[str, Any]:
    one, two = median(took[1]), median(took[2])
    work_one, work_two = (median(tally.seconds for tally in done[count]) for count in (1, 2))
    return {
        "seconds": {"1": round(one, 3), "2": round(two, 3)},
        "efficiency": round(one / (2 * two), 3),
        # of the time of two workers: more work than one has to do (they slow one another down), and nothing to do
        "lost": {
            "slower work": round((work_two - work_one) / (2 * two), 3),
            "waiting": round(1 - work_two / (2 * two), 3),
            "waiting of one": round(1 - work_one / one, 3),
        },
        "of_two": {"messages": done[2][-1].messages, "sent": done[2][-1].sent, "received": done[2][-1].received},
        "rounds": {str(count): [round(value, 3) for value in values] for count, values in took.items()},
    }


def features(rounds: int, count: int) -> dict[str, Any]:
    """Let a cluster of one worker and one of two take turns at the features of texts."""
    took: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):
        for number, seconds in took.items():
            seconds.append(in_a_process(number, count))
    one, two = median(took[1]), median(took[2])
    return {
        "seconds": {"1": round(one, 3), "2": round(two, 3)},
        "efficiency": round(one / (2 * two), 3),
        "rounds": {str(number): [round(value, 3) for value in values] for number, values in took.items()},
    }


def slow_networks(hired: Workers, costs: Costs, steps: int, most: int, cores: int) -> list[dict[str, Any]]:
    """Train and infer over slowed networks, and reckon the same."""
    task, found = hired.task, []
    design = Design(task.config.batch_size)
    for name, network in NETWORKS.items():
        for count in range(1, most + 1):
            hired.use(count, network)
            step, slabs = median(hired.train(steps)), hired.infer(count)
            cluster = Cluster(count, 1, network, apart=True, cores=cores)
            found.append(
                {
                    "network": name,
                    "workers": count,
                    "step": round(step, 4),
                    "step_reckoned": round(training_step(costs, cluster, design).seconds, 4),
                    "inference": round(slabs, 3),
                    "inference_reckoned": round(inference(costs, cluster, count * task.slab, PASSES, task.slab), 3),
                }
            )
            print(found[-1], flush=True)
    return found


def main() -> None:
    """Measure and write down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=12, help="of a round of training")
    parser.add_argument("--slabs", type=int, default=4, help="of a round of inference; an even number")
    parser.add_argument("--slab", type=int, default=SLAB, help="samples of a slab; fewer for a quick trial")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--feature-rounds", type=int, default=3, help="each of which starts two clusters")
    parser.add_argument("--texts", type=int, default=2000, help="of a round of features")
    parser.add_argument("--workers", type=int, default=4, help="at most, over slowed networks")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ.setdefault("RAY_worker_niceness", "0")  # else whatever runs beside has more say over workers than driver
    found_in = str(Path(__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [found_in, os.environ.get("PYTHONPATH")]))
    cores, load_before = os.cpu_count() or 1, os.getloadavg()[0]
    most = options.workers
    with tempfile.TemporaryDirectory() as folder, connected(None, most):
        task = mnist_task(Path(folder), max(options.slabs, most), options.slab, options.batch)
        with workers(task, most) as hired:
            hired.use(1)
            costs, here = measure_costs(task, hired, 3 * options.rounds)
            print(costs, here, sep="\n", flush=True)
            compared = two_against_one(hired, options.rounds, options.steps, options.slabs)
            print(json.dumps(compared, indent=1), flush=True)
            slowed = slow_networks(hired, here, options.steps, most, cores)
    result = {
        "machine": {"cores": cores, "processor": platform.machine(), "python": platform.python_version()},
        "load": round(load_before, 1),
        "settings": {name: value for name, value in vars(options).items() if name != "out"} | {"passes": PASSES},
        "costs": asdict(costs),  # in seconds of processor time where something is computed
        "costs_here": asdict(here),  # by the clock, with whatever else the machine did: what the check goes by
        "two_against_one": compared,
        "slowed": slowed,
    }
    options.out.write_text(json.dumps(result, indent=1) + "\n")  # all so far is worth keeping
    if options.feature_rounds:
        compared["features"] = features(options.feature_rounds, options.texts)
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
