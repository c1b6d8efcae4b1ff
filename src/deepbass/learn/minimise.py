"""The minimum of a smooth function of a head's weights, by L-BFGS.

Heads are small and fitted by the thousand, so what counts is the time of one look at the function: gradients are
written out, because autograd would take several times as long as what there is to compute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController
from torch import Tensor

ValueAndGradient = Callable[[Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]
_REMEMBERED = 20  # steps that the shape of the function is learned from


def minimise(
    function: ValueAndGradient, weight: Tensor, bias: Tensor, *, steps: int, tolerance: float
) -> tuple[Tensor, Tensor]:
    """Find weight and bias, from a first guess on, where ``function`` is least.

    It is given both, and tells its value and its gradient by both. The search is over when no part of the gradient is
    above the ``tolerance``, or after so many ``steps``.
    """
    from scipy.optimize import minimize

    size = weight.numel()

    def parts(flat: NDArray[np.float64]) -> tuple[Tensor, Tensor]:
        both = torch.from_numpy(flat).to(weight)
        return both[:size].view_as(weight), both[size:]

    def looked_at(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, by_weight, by_bias = function(*parts(flat))
        return float(value), torch.cat([by_weight.flatten(), by_bias]).double().cpu().numpy()

    start = torch.cat([weight.flatten(), bias]).double().cpu().numpy()
    options = {"maxiter": steps, "maxfun": 2 * steps, "gtol": tolerance, "ftol": tolerance / 1e5, "maxcor": _REMEMBERED}
    with torch.no_grad(), one_thread():
        found = minimize(looked_at, start, method="L-BFGS-B", jac=True, options=options)
    return parts(found.x)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute by one thread for a while: there is too little to do for threads that wait for one another."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with _libraries().limit(limits=1, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(threads)


@cache
def _libraries() -> ThreadpoolController:
    """Find the libraries that have threads of their own besides torch's, scipy's among them."""
    import scipy.optimize  # noqa: F401

    return ThreadpoolController()
