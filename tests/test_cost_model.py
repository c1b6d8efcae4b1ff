"""Laws of the cost model, which hold whatever was measured."""

from __future__ import annotations

import importlib
from dataclasses import replace
from math import isclose
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("cluster.cost_model")


@pytest.fixture
def costs(model: Any) -> Any:
    return model.Costs(
        block=0.02,
        sample_pass=1e-5,
        weights=400_000,
        step=0.002,
        add=1e-4,
        message=5e-4,
        slab=1e-3,
        column=19,
        decide=1e-8,
    )


def test_without_a_network_one_worker_takes_what_its_parts_take(model: Any, costs: Any) -> None:
    step = model.training_step(costs, model.Cluster(), model.Design(1024))
    assert isclose(step.seconds, 32 * (0.02 + 1e-4) + 0.002 + 5e-4)
    assert step.wire == 0
    pool = model.inference(costs, model.Cluster(), model.SLAB, 3)
    assert isclose(pool, model.SLAB * 3 * 1e-5 + 5e-4 + 1e-3)


def test_more_machines_never_compute_longer_and_never_put_more_than_their_time_to_use(model: Any, costs: Any) -> None:
    network = model.Network(1e-4, 1.25e9)
    for design in (model.Design(1024), model.Design(65_536), model.Design(65_536, tree=True)):
        computes = [
            model.training_step(costs, model.Cluster(m, 8, network), design).compute for m in (1, 3, 10, 99, 999)
        ]
        assert computes == sorted(computes, reverse=True)
        for machines in (1, 2, 8, 64, 512):
            cluster = model.Cluster(machines, 8, network)
            assert 0 < model.efficiency(costs, cluster, design, 10**8) <= 1.0001


def test_a_slower_network_is_slower_and_a_free_one_costs_nothing(model: Any, costs: Any) -> None:
    def seconds(network: Any) -> float:
        found: float = model.iteration(costs, model.Cluster(4, 8, network), model.Design(), 10**7).seconds
        return found

    free, near, far, thin = map(
        seconds, (model.Network(), model.Network(1e-4, 1e9), model.Network(1e-2, 1e9), model.Network(1e-4, 1e7))
    )
    assert free < near < far
    assert near < thin


def test_workers_that_share_the_cores_of_one_machine_gain_nothing(model: Any, costs: Any) -> None:
    design = model.Design(1024)
    two, four = (model.training_step(costs, model.Cluster(count, 1, cores=2, apart=True), design) for count in (2, 4))
    assert isclose(two.compute, four.compute)


def test_bytes_of_blocks_end_the_scaling_and_a_tree_moves_the_end(model: Any, costs: Any) -> None:
    cluster = model.Cluster(1, 8, model.Network(1e-4, 1.25e9))
    today, tree = (
        model.most_machines(costs, cluster, design, 10**9)
        for design in (model.Design(65_536), model.Design(65_536, tree=True))
    )
    assert today < tree
    slower = replace(cluster, network=model.Network(1e-4, 1.25e8))
    assert model.most_machines(costs, slower, model.Design(65_536), 10**9) <= today
