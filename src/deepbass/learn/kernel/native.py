"""Find and call the compiled chain, which is built at installation where there is a C++ compiler."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from deepbass.learn.kernel.stages import Stage

Array = NDArray[Any]
Floats32 = NDArray[np.float32]

_HERE = Path(__file__).parent
_WIDTHS = {"AVX512": ("avx512", "avx2", "base"), "AVX2": ("avx2", "base")}  # by torch's name of what the processor can
BLOCK = 32  # samples whose gradients are added up in one go; fixed, so that rounding does not hang on threads


def widths() -> list[str]:
    """List the builds that are there and that this processor can run, the quickest first."""
    names = _WIDTHS.get(torch.backends.cpu.get_cpu_capability(), ("base",))
    return [name for name in names if build(name) is not None]


@cache
def build(name: str) -> ctypes.CDLL | None:
    """Load the build for one width of registers: base, avx2 or avx512."""
    for path in _HERE.glob(f"chain-{name}.*"):
        try:
            return ctypes.CDLL(str(path))
        except OSError:  # built for another system: do without
            continue
    return None


class Chain:
    """A chain of stages with its weights, run by several threads."""

    def __init__(self, library: ctypes.CDLL, stages: list[Stage], threads: int) -> None:
        self._library = library
        self._count = len(stages)
        self._stages = (Stage * len(stages))(*stages)
        self.classes = int(stages[-1].outs)
        packed, grads, work = (np.zeros(1, dtype=np.int64) for _ in range(3))
        library.chain_sizes(self._stages, self._count, *map(_at, (packed, grads, work)))
        self._packed: Floats32 = np.zeros(packed[0], dtype=np.float32)
        self._sums = [np.empty(grads[0], dtype=np.float32) for _ in range(threads)]
        self._work = [np.zeros(work[0], dtype=np.float32) for _ in range(threads)]  # borders must be and stay zero
        self._others = ThreadPoolExecutor(threads - 1, thread_name_prefix="deepbass") if threads > 1 else None

    def load(self, parameters: Floats32) -> None:
        """Take up weights and biases, stage after stage, each as torch orders them."""
        self._library.chain_pack(self._stages, self._count, _at(parameters), _at(self._packed))

    def infer(self, samples: Floats32, ids: Array, seed: int, passes: range | None) -> Floats32:
        """Compute logits, (sample, pass, class); the masks depend on (seed, id, pass). None: dropout off."""
        start, stop = (passes.start, passes.stop) if passes is not None else (-1, 0)
        logits = np.empty((len(samples), len(passes) if passes is not None else 1, self.classes), dtype=np.float32)
        samples, ids = _plain(samples, np.float32), _plain(ids, np.int64)
        following = np.zeros(1, dtype=np.int64)

        def work(thread: int) -> None:
            self._library.chain_infer(
                *(self._stages, self._count, _at(self._packed), _at(samples), _at(ids)),
                *(ctypes.c_int64(len(samples)), ctypes.c_uint64(seed), start, stop),
                *(_at(logits), _at(self._work[thread]), _at(following)),
            )

        self._everywhere(work)
        return logits

    def gradients(
        self, samples: Floats32, labels: Array, seed: int, step: int, parameters: int
    ) -> tuple[Floats32, Floats32]:
        """Compute the gradient of the mean cross-entropy with dropout, and the logits; masks: (seed, row, step)."""
        blocks, logits = self.block_gradients(samples, labels, seed, step, parameters)
        return blocks.sum(0), logits

    def block_gradients(
        self,
        samples: Floats32,
        labels: Array,
        seed: int,
        step: int,
        parameters: int,
        *,
        first: int = 0,
        whole: int | None = None,
    ) -> tuple[Floats32, Floats32]:
        """Compute what every block of 32 adds to the gradient, and the logits.

        The samples may be a part of a batch of ``whole`` rows, from row ``first`` on, which begins a block: they have
        the masks and the weight that they have in it. The gradient is the sum of the blocks in their order.
        """
        logits = np.empty((len(samples), self.classes), dtype=np.float32)
        blocks = np.empty((-(-len(samples) // BLOCK), parameters), dtype=np.float32)
        samples, labels = _plain(samples, np.float32), _plain(labels, np.int64)
        following = np.zeros(1, dtype=np.int64)

        def work(thread: int) -> None:
            self._library.chain_gradients(
                *(self._stages, self._count, _at(self._packed), _at(samples), _at(labels)),
                *map(ctypes.c_int64, (len(samples), first, len(samples) if whole is None else whole, BLOCK)),
                *(ctypes.c_uint64(seed), ctypes.c_int64(step)),
                *(_at(blocks), ctypes.c_int64(parameters), _at(logits)),
                *(_at(self._work[thread]), _at(self._sums[thread]), _at(following)),
            )

        self._everywhere(work)
        return blocks, logits

    def masks(self, seed: int, sample: int, number: int) -> Floats32:
        """Show the masks that a sample meets in a pass (or step), dropout after dropout, flat: 0 or the scale."""
        sizes = [
            bool(s.cut) * s.outs * (1 if s.linear else s.height * s.width)
            + bool(s.cut_after) * s.outs * (s.height // 2) * (s.width // 2)
            for s in self._stages
        ]
        out = np.empty(sum(sizes), dtype=np.float32)
        key = (ctypes.c_uint64(seed), ctypes.c_int64(sample), ctypes.c_int64(number))
        self._library.chain_masks(self._stages, self._count, *key, _at(out), _at(self._work[0]))
        return out

    def _everywhere(self, work: Any) -> None:
        """Run one piece of work on all threads; ctypes lets go of the interpreter while it runs."""
        waiting = [self._others.submit(work, thread) for thread in range(1, len(self._work))] if self._others else []
        work(0)
        for other in waiting:
            other.result()


def _plain(array: Array, dtype: type) -> Array:
    return np.ascontiguousarray(array, dtype=dtype)


def _at(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
