"""Where an iteration's time goes: before, in plain PyTorch, and after, in deepbass.

``python -m speed.profiles SIDE TASK START`` profiles one side in a process of its own and prints JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from speed import machine
from speed.start import Start
from speed.task import Task

_SAMPLES = 6_000  # a part of the pool is enough to see shares

# first found first; names of torch's operators and of autograd's nodes, in lower case
GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("dropout and random numbers", ("dropout", "bernoulli")),
    ("convolution, backward", ("convolutionbackward", "convolution_backward")),
    ("convolution, forward", ("conv",)),
    ("activation", ("leaky_relu", "leakyrelu")),
    ("pooling", ("max_pool", "maxpool")),
    ("optimiser", ("optimizer", "adam")),
)
REST = "the rest of torch"
OUTSIDE = "outside torch's operators"


def measure(task: Task, start: Path) -> dict[str, Any]:
    """Profile both sides, one after the other."""
    found = {"made": date.today().isoformat(), "machine": machine.describe(), "task": asdict(task)}
    for side in ("plain", "deepbass"):
        words = [sys.executable, "-m", "speed.profiles", side, json.dumps(asdict(task)), str(start)]
        done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
        found[side] = json.loads(done.stdout.splitlines()[-1])
    return found


def group_of(names: list[str]) -> str:
    """Name the group of an operator by itself and by all that it was called from."""
    spelled = " ".join(names).lower()
    return next((group for group, words in GROUPS if any(word in spelled for word in words)), REST)


def operators(work: Callable[[], object]) -> dict[str, float]:
    """Run some work under torch's profiler and share its time out among groups of operators."""
    import time

    from torch.profiler import ProfilerActivity, profile

    work()
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        begin = time.perf_counter()
        work()
        seconds = time.perf_counter() - begin
    groups: defaultdict[str, float] = defaultdict(float)
    for event in seen.events() or []:
        names, caller = [event.name], event.cpu_parent
        while caller is not None:
            names.append(caller.name)
            caller = caller.cpu_parent
        groups[group_of(names)] += event.self_cpu_time_total / 1e6
    outside = max(0.0, seconds - sum(groups.values()))
    total = sum(groups.values()) + outside
    return {name: taken / total for name, taken in sorted({**groups, OUTSIDE: outside}.items(), key=lambda kv: -kv[1])}


def _plain(task: Task, start: Start) -> dict[str, Any]:
    from speed.plain import Plain

    work = Plain(task, start).profiled(min(_SAMPLES, task.samples))
    return {name: {"operators": operators(piece)} for name, piece in work.items()}


def _deepbass(task: Task, start: Start) -> dict[str, Any]:
    import numpy as np

    from speed.lines import lines
    from speed.ours import Ours, all_guessed

    ours = Ours(task, start, switches={})
    learner, labels = ours.learner_and_labels()
    samples = min(_SAMPLES, task.samples)
    some = np.where(np.arange(task.samples) < samples, np.maximum(labels.answer, labels.guess), -1)
    guesses = all_guessed(some)
    work: dict[str, Callable[[], object]] = {
        "pass": lambda: learner.infer(np.arange(samples), passes=task.passes_pool, seed=1),
        "epoch": lambda: learner.train(guesses, epochs=1, copies=1, seed=1),
    }
    return {name: {"operators": operators(piece), "lines": lines(piece)} for name, piece in work.items()}


if __name__ == "__main__":
    profile_of = {"plain": _plain, "deepbass": _deepbass}[sys.argv[1]]
    print(json.dumps(profile_of(Task.of(json.loads(sys.argv[2])), Start.read(Path(sys.argv[3])))))
