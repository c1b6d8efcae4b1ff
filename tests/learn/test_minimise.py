"""The search for a minimum: it finds it, by gradients that are those of autograd, and leaves threads as they were."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from deepbass.learn import pool_heads
from deepbass.learn.minimise import minimise, one_thread
from deepbass.learn.pool_heads import Head


def test_the_minimum_of_a_bowl_is_its_bottom() -> None:
    bottom, steep = torch.tensor([[1.0, -2.0], [3.0, 0.5]]).double(), torch.tensor([[1.0, 100.0], [0.1, 7.0]]).double()

    def bowl(weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        off = weight - bottom
        return 0.5 * (steep * off.square()).sum() + 0.5 * (bias - 4).square().sum(), steep * off, bias - 4

    weight, bias = minimise(bowl, torch.zeros(2, 2).double(), torch.zeros(2).double(), steps=100, tolerance=1e-9)
    torch.testing.assert_close(weight, bottom, atol=1e-6, rtol=0)
    torch.testing.assert_close(bias, torch.full((2,), 4.0).double(), atol=1e-6, rtol=0)


def test_a_sure_head_is_where_autograd_finds_no_way_down() -> None:
    rng = np.random.default_rng(0)
    points, known = (torch.from_numpy(rng.normal(size=(count, 6)).astype(np.float32)) for count in (200, 20))
    labels, weights = rng.integers(0, 3, 20), rng.uniform(0.5, 1.5, 20)
    expected = np.array([0.5, 0.3, 0.2])
    start = Head(torch.zeros(3, 6), torch.zeros(3))
    found = pool_heads._sure(points, known, labels, weights, start, 1.0, expected)

    def by_autograd(head: Head) -> tuple[float, float]:
        weight, bias = (part.clone().requires_grad_() for part in head)
        wrong = F.cross_entropy(known @ weight.T + bias, torch.from_numpy(labels), reduction="none")
        probs = torch.softmax(points @ weight.T + bias, 1)
        sizes = probs.mean(0)
        value = (
            (torch.from_numpy(weights).float() * wrong).mean()
            - (probs * probs.log()).sum(1).mean()
            + (sizes * (sizes.log() - torch.from_numpy(expected).float().log())).sum()
            + 0.5 * weight.square().sum() / 20
        )
        value.backward()  # type: ignore[no-untyped-call]
        assert weight.grad is not None
        assert bias.grad is not None
        return float(value.detach()), float(max(weight.grad.abs().max(), bias.grad.abs().max()))

    (before, steep), (after, flat) = by_autograd(start), by_autograd(found)
    assert after < before
    assert steep > 1e-2
    assert flat < 1e-4


def test_threads_are_as_many_as_before() -> None:
    before = torch.get_num_threads()
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
