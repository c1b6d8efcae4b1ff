"""Time all sides in turn, round by round, and keep every finished round."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from speed import machine, same
from speed.crew import Worker
from speed.plan import DEVICES, OURS, ROUND, Entrant, present
from speed.table import ratios
from speed.task import Task

Say = Callable[[str], None]
Results = dict[str, Any]


def measure(task: Task, start: Path, wanted: list[str] | None, say: Say, save: Callable[[Results], None]) -> Results:
    """Set all sides up, check that they agree, and time them; ``save`` gets the results after every round."""
    entrants, left_out = present(wanted)
    results: Results = {
        "made": date.today().isoformat(),
        "machine": machine.describe(),
        "task": asdict(task),
        "left_out": left_out,
    }
    for name, why in left_out.items():
        say(f"left out: {name} ({why})")
    with ExitStack() as stack:
        crew = _set_up(entrants, task, start, stack, say)
        results["left_out"].update({name: "the same as deepbass here" for name in entrants if name not in crew})
        results["about"] = {name: worker.about for name, worker in crew.items()}
        results["same_answers"] = same.check(crew, task)
        say("every side gives the same answers")
        results["idle_processor_share"] = _idle(list(crew.values()))
        results["seconds"] = {}
        for number in range(task.rounds):
            _round(crew, number, task.rounds, results["seconds"], say)
            results["ratios"] = ratios(results)
            save(results)
    return results


def _set_up(entrants: dict[str, Entrant], task: Task, start: Path, stack: ExitStack, say: Say) -> dict[str, Worker]:
    crew: dict[str, Worker] = {}
    for name, entrant in entrants.items():
        say(f"setting up {name}")
        crew[name] = stack.enter_context(Worker(entrant.side, task, start, **entrant.settings))
    for name in DEVICES[1:-1]:  # a version without a switch has nothing to show for it
        if name in crew and OURS in crew and crew[name].about["settings"] == crew[OURS].about["settings"]:
            crew.pop(name).close()
    return crew


def _round(crew: dict[str, Worker], number: int, rounds: int, seconds: dict[str, Any], say: Say) -> None:
    # every other round goes backwards: what warms or slows the machine as time goes by hits both neighbours alike
    order = ROUND if number % 2 == 0 else tuple(reversed(ROUND))
    for name, piece in order:
        if name not in crew:
            continue
        timed = crew[name].do(piece)
        row = seconds.setdefault(name, {}).setdefault(piece, {"how": timed.how, "times": timed.times, "rounds": []})
        row["rounds"].append(timed.seconds)
        if timed.facts:
            row.setdefault("facts", []).append(timed.facts)
        say(f"round {number + 1} of {rounds}: {name}, {piece}: {timed.seconds:.2f} s ({timed.how})")


def _idle(crew: list[Worker]) -> float:
    """Measure how much of one processor the waiting sides use together: it should be nothing."""
    time.sleep(0.5)  # the threads of the last one asked may still be on their way to sleep
    before, start = sum(worker.processor_seconds() for worker in crew), time.perf_counter()
    time.sleep(2.0)
    used = sum(worker.processor_seconds() for worker in crew) - before
    return round(used / (time.perf_counter() - start), 4)
