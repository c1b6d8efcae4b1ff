"""Neighbours are found exactly, and labels reach whoever is linked with them, copies included."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from deepbass.core.graph import nearest, neighbour_graph, spread


def clouds(count: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw two far-off clouds of points."""
    of = np.arange(count) % 2
    points = np.random.default_rng(seed).normal(size=(count, 3)) + 100.0 * of[:, None]
    return points.astype(np.float32), of


@pytest.mark.parametrize("count", [2, 12, 33, 700])
def test_the_nearest_are_those_of_a_full_search(count: int) -> None:
    points = np.random.default_rng(count).normal(size=(count, 4)).astype(np.float32)
    all_N_N = np.linalg.norm(points[:, None].astype(float) - points[None], axis=2)
    np.fill_diagonal(all_N_N, np.inf)
    k = min(5, count - 1)
    near, distances = nearest(points, 5)
    np.testing.assert_array_equal(np.sort(near, 1), np.sort(np.argsort(all_N_N, 1)[:, :k], 1))
    np.testing.assert_allclose(distances, np.take_along_axis(all_N_N, near, 1), rtol=1e-4)


@pytest.mark.parametrize("k", [1, 5, 1000])
def test_a_graph_is_symmetric_has_weights_up_to_one_and_links_nobody_with_itself(k: int) -> None:
    points, _ = clouds()
    graph = neighbour_graph(points, k)
    dense = graph.toarray()
    np.testing.assert_array_equal(dense, dense.T)
    assert (dense.diagonal() == 0).all()
    assert dense.min() == 0
    assert 0 < dense.max() <= 1
    assert ((dense > 0).sum(1) >= min(k, len(points) - 1)).all()  # more than there are is all there are


def test_labels_stay_in_their_cloud_and_fill_it() -> None:
    points, of = clouds()
    probs = spread(neighbour_graph(points, 5), np.array([0, 1]), np.array([2, 0]), 3)
    np.testing.assert_array_equal(probs.argmax(1), np.where(of == 0, 2, 0))
    np.testing.assert_allclose(probs.sum(1), 1)
    assert (probs[:, 1] == 0).all()  # nobody has heard of it


def test_a_label_of_any_copy_reaches_all_copies_and_their_neighbours() -> None:
    points, of = clouds()
    many = np.concatenate([points, np.repeat(points[:1], 50, axis=0)])  # more copies than neighbours are linked
    probs = spread(neighbour_graph(many, 5), np.array([len(many) - 1, 1]), np.array([0, 1]), 2)
    np.testing.assert_array_equal(probs.argmax(1), [*of, *[0] * 50])
    np.testing.assert_allclose(probs.sum(1), 1)


@pytest.mark.parametrize("count", [1, 2, 40])
def test_samples_that_are_all_the_same_are_of_one_mind(count: int) -> None:
    graph = neighbour_graph(np.ones((count, 4), np.float32), 10)
    assert graph.shape == (count, count)
    probs = spread(graph, np.array([count - 1]), np.array([1]), 2)
    np.testing.assert_allclose(probs, np.tile([0.0, 1.0], (count, 1)))


def test_who_has_no_neighbour_keeps_its_own_label_or_is_in_doubt() -> None:
    graph = sparse.csr_matrix((3, 3))
    probs = spread(graph, np.array([1]), np.array([3]), 4)
    np.testing.assert_allclose(probs, np.array([[0.25] * 4, [0.0, 0.0, 0.0, 1.0], [0.25] * 4]))


def test_a_class_with_many_labels_spreads_no_more_than_one_with_few() -> None:
    line = np.arange(21, dtype=np.float32)[:, None]
    probs = spread(neighbour_graph(line, 2), np.array([0, 1, 2, 3, 20]), np.array([0, 0, 0, 0, 1]), 2)
    assert probs[17].argmax() == 1
    assert probs[5].argmax() == 0


def test_spreading_is_the_sum_of_its_formula() -> None:
    points, _ = clouds(20)
    graph = neighbour_graph(points, 4)
    dense = graph.toarray()
    scale = 1 / np.sqrt(dense.sum(1))
    step = dense * scale[:, None] * scale[None]
    start = np.zeros((20, 2))
    start[[0, 2], 0], start[1, 1] = 0.5, 1.0
    total = start.copy()
    for _ in range(7):
        total = 0.8 * step @ total + 0.2 * start
    got = spread(graph, np.array([0, 2, 1]), np.array([0, 0, 1]), 2, alpha=0.8, rounds=7)
    np.testing.assert_allclose(got, total / total.sum(1, keepdims=True))
