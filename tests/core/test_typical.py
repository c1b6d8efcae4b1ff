"""Typical samples: one of every cluster, the densest there, distinct, and the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from deepbass.core.typical import k_means, reduce, typical


def blobs(sizes: list[int], width: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw far-off clouds of points of these sizes."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(len(sizes)), sizes)
    return (rng.normal(size=(len(sizes), width))[of] * 50 + rng.normal(size=(len(of), width))).astype(np.float32), of


@pytest.mark.parametrize("seed", range(5))
def test_every_cluster_has_its_turn_before_any_has_two(seed: int) -> None:
    points, of = blobs([200, 100, 50, 10])
    chosen = typical(points, 4, np.random.default_rng(seed))
    assert sorted(of[chosen]) == [0, 1, 2, 3]
    assert of[chosen].tolist() == sorted(of[chosen])  # the largest first


def test_what_is_chosen_is_dense_distinct_and_decided_by_the_seed() -> None:
    points, _ = blobs([300])
    first = typical(points, 1, np.random.default_rng(0))
    middle = points.mean(0)
    from_middle = np.linalg.norm(points - middle, axis=1)
    assert from_middle[first[0]] < np.quantile(from_middle, 0.1)
    many = typical(points, 120, np.random.default_rng(1))
    assert len(set(many.tolist())) == 120
    np.testing.assert_array_equal(many, typical(points, 120, np.random.default_rng(1)))


@pytest.mark.parametrize("count", [1, 7, 30])
def test_copies_and_points_without_spread_are_chosen_from_all_the_same(count: int) -> None:
    same = np.ones((30, 4), np.float32)
    assert sorted(typical(same, count, np.random.default_rng(0)))[:1] >= [0]
    assert len(set(typical(same, count, np.random.default_rng(0)).tolist())) == count
    thrice = np.repeat(blobs([5, 5])[0], 3, axis=0)
    assert len(set(typical(thrice, count, np.random.default_rng(0)).tolist())) == count


def test_clusters_that_are_far_apart_are_found() -> None:
    points, of = blobs([40, 40, 40])
    clusters = k_means(points, 3, np.random.default_rng(0))
    assert len({(a, b) for a, b in zip(clusters.tolist(), of.tolist(), strict=True)}) == 3


def test_a_reduction_keeps_the_main_directions() -> None:
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(300, 3)).astype(np.float32) @ rng.normal(size=(3, 200)).astype(np.float32)
    reduced = reduce(flat, 3, np.random.default_rng(0))
    centred = flat - flat.mean(0)
    np.testing.assert_allclose(reduced @ reduced.T, centred @ centred.T, rtol=1e-2, atol=1)


def test_a_curved_cluster_is_one() -> None:
    rng = np.random.default_rng(0)
    turn = rng.uniform(0, 2 * np.pi, 900)
    ring = np.repeat([1.0, 6.0, 11.0], 300)  # three rings around one middle: no centre tells them apart
    points = np.column_stack([ring * np.cos(turn), ring * np.sin(turn)]).astype(np.float32)
    points += rng.normal(scale=0.1, size=points.shape).astype(np.float32)
    chosen = typical(points, 3, np.random.default_rng(0))
    assert sorted(ring[chosen]) == [1.0, 6.0, 11.0]
