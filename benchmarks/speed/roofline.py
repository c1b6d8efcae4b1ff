"""The machine's own limit: how long its quickest matrix multiplication would take for one forward pass."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from deepbass.core.belief import Floats
from deepbass.core.labels import Ids
from deepbass.learn.models import paper_cnn
from speed.start import CLASSES, Start
from speed.task import Task
from speed.timed import Timed

_SIZES = (384, 768, 1024, 1536, 2048)
_SECONDS, _QUICK_SECONDS = 0.6, 0.02  # for each size


def forward_flops() -> int:
    """Count the multiplications and additions of one image's way through the paper's network, by layer shapes."""
    model = paper_cnn((1, 28, 28), CLASSES).eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.zeros(1, 1, 28, 28))
    return int(counter.get_total_flops())


class Roofline:
    """Matrix multiplication in its own process."""

    def __init__(self, task: Task, start: Start) -> None:
        self._task = task
        self._seconds = _QUICK_SECONDS if task.quick else _SECONDS
        self._best(self._seconds / 4)

    @property
    def about(self) -> dict[str, Any]:
        """Threads, and the work of one image."""
        return {"threads": torch.get_num_threads(), "flops_an_image": forward_flops()}

    @property
    def pieces(self) -> dict[str, Callable[[], Timed]]:
        """One forward pass over the pool."""
        return {"pass": self._pass}

    def answers(self, what: str, ids: Ids, passes: int) -> Floats:
        """Refuse: a multiplication has no answers."""
        raise ValueError("A matrix multiplication has no answers: ask another side.")

    def _pass(self) -> Timed:
        size, flops_a_second = self._best(self._seconds)
        seconds = forward_flops() * self._task.samples / flops_a_second
        facts = {"gflops_a_second": flops_a_second / 1e9, "size": size}
        return Timed(seconds, how=f"computed from torch.mm, best of {len(_SIZES)} sizes", facts=facts)

    def _best(self, seconds: float) -> tuple[int, float]:
        rates = {size: _rate(size, seconds) for size in _SIZES}
        size = max(rates, key=lambda size: rates[size])
        return size, rates[size]


def _rate(size: int, seconds: float) -> float:
    """Measure the floating-point operations a second of the quickest of many multiplications of one size."""
    a, b, out = torch.rand(size, size), torch.rand(size, size), torch.empty(size, size)
    multiply = partial(torch.mm, a, b, out=out)
    multiply()
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        multiply()
        best = min(best, time.perf_counter() - begin)
    return 2 * size**3 / best
