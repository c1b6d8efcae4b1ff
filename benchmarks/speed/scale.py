"""Does it scale? Time and memory on pools of growing size that lie on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from speed import machine
from speed.crew import Worker
from speed.task import Task, mnist

WORKS = ("infer", "train")


def measure(task: Task, start: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """Do each size once in whole, for its memory, and then all sizes in turn on slices of one length."""
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder) / "pool.npy"
        say(f"writing a pool of {max(task.scale_sizes):,} samples")
        write_pool(path, task)
        crew: dict[tuple[int, str], Worker] = {}
        for size in task.scale_sizes:
            for work in WORKS:
                worker = stack.enter_context(Worker("scale", task, start, path=str(path), size=size, work=work))
                timed = worker.do("whole")
                say(f"{size:,} samples, {work}: {timed.seconds:.1f} s")
                rows[f"{work} {size}"] = {
                    "work": work,
                    "size": size,
                    "seconds": timed.seconds,
                    **timed.facts,
                    "slices": [],
                }
                crew[size, work] = worker
        for _ in range(max(3, task.rounds)):
            for (size, work), worker in crew.items():
                timed = worker.do("slice")
                rows[f"{work} {size}"]["slices"].append(1e6 * timed.seconds / timed.facts["samples"])
    return {
        "made": date.today().isoformat(),
        "machine": machine.describe(),
        "task": asdict(task),
        "rows": list(rows.values()),
    }


def write_pool(path: Path, task: Task) -> None:
    """Repeat MNIST with shifts and noise, until it is large."""
    pool = mnist(task).pool
    images = np.round(pool.read(np.arange(len(pool))) * 256).astype(np.uint8)
    rng, size = np.random.default_rng(0), max(task.scale_sizes)
    samples = np.lib.format.open_memmap(path, "w+", np.uint8, (size, *images.shape[1:]))
    for first in range(0, size, len(images)):
        count = min(len(images), size - first)
        shifted = np.roll(images[:count], rng.integers(-2, 3, 2), axis=(2, 3))
        noise = rng.integers(0, 8, shifted.shape, dtype=np.uint8)
        samples[first : first + count] = np.minimum(shifted, 247) + noise
    samples.flush()


def rest_bytes(row: dict[str, Any]) -> int:
    """Take the results of the samples away from the peak: this should not grow with the pool."""
    return int(row["peak_bytes"] - row["results_bytes"])


def growth(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Compare the largest pool with the smallest, for one kind of work."""
    small, large = min(rows, key=lambda row: row["size"]), max(rows, key=lambda row: row["size"])
    slices = [median(row["slices"]) for row in rows]
    return {
        "time": max(slices) / min(slices),
        "whole_time": (large["seconds"] / large["size"]) / (small["seconds"] / small["size"]),
        "memory": rest_bytes(large) / max(rest_bytes(small), 1),
        "extra_bytes_a_sample": (rest_bytes(large) - rest_bytes(small)) / (large["size"] - small["size"]),
    }
