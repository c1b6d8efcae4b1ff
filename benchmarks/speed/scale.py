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

from speed import machine
from speed.crew import Worker
from speed.large_pool import write_pool
from speed.task import Task

WORKS = ("infer", "train")


def measure(task: Task, start: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """Do each size once in whole, for its memory, and then all sizes in turn on slices of one length."""
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        say(f"writing a pool of {max(task.scale_sizes):,} samples")
        path = write_pool(Path(folder), max(task.scale_sizes))
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
