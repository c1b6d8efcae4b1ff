"""Work on many items side by side, in threads, with the results in order and memory in bounds."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

THREADS = 16  # more would wait for one another: a part of the work on an image holds Python's lock
BATCH = 8  # items a thread takes at once: one at a time, small images are slower than without threads
AHEAD = 2  # batches per thread that may be waiting, however many items there are

T = TypeVar("T")
R = TypeVar("R")


def usable_threads() -> int:
    """Count the processors that this process may use, up to as many as are of use."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors, THREADS)


def in_order(threads: ThreadPoolExecutor, function: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
    """Apply a function to items side by side and give the results in the items' order."""
    most = AHEAD * usable_threads()
    waiting: deque[Future[list[R]]] = deque()
    for start in range(0, len(items), BATCH):
        waiting.append(threads.submit(_each, function, items[start : start + BATCH]))
        if len(waiting) > most:
            yield from waiting.popleft().result()
    while waiting:
        yield from waiting.popleft().result()


def _each(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    return [function(item) for item in items]
