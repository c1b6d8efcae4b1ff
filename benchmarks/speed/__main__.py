"""Measure how fast deepbass is, next to others: ``make bench``, or ``python -m speed --help`` in benchmarks/."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from speed import measure, page, profiles, scale, startup
from speed.numbers import seconds, times
from speed.plan import ENTRANTS
from speed.start import made
from speed.table import devices, rows, users_rows
from speed.task import QUICK, Task

PARTS = ("sides", "scale", "startup", "profile", "page")


def main() -> None:
    """Measure what is asked for, keep it as JSON, and write the page."""
    options = _options()
    task = replace(QUICK if options.quick else Task(), whole=options.whole)
    if options.rounds:
        task = replace(task, rounds=options.rounds)
    # a smoke test must not overwrite what was measured
    out = options.out or (Path(tempfile.mkdtemp(prefix="deepbass-speed-")) if options.quick else page.RESULTS)
    out.mkdir(parents=True, exist_ok=True)
    console, begin = Console(highlight=False), time.monotonic()
    if not console.is_terminal:
        console.width = 120

    def say(words: str) -> None:
        console.print(f"[dim]{time.monotonic() - begin:6.0f} s[/dim]  {words}")

    def save(name: str, results: dict[str, Any]) -> None:
        text = json.dumps(results, indent=1, ensure_ascii=False)
        (out / f"{name}.json").write_text(text + "\n", encoding="utf-8")

    if {"sides", "scale", "profile"} & set(options.parts):
        start = made(task, again=options.fresh_start)
        say(f"every side starts from {start}")
    if "sides" in options.parts:
        results = measure.measure(task, start, options.only, say, lambda results: save("speed", results))
        _show(console, results)
    if "scale" in options.parts:
        save("scale", scale.measure(task, start, say))
    if "startup" in options.parts:
        save("startup", startup.measure(3 if task.quick else 7))
    if "profile" in options.parts:
        say("profiling")
        save("profile", profiles.measure(task, start))
    if "page" in options.parts:
        if out == page.RESULTS:
            page.write()
        else:
            page.write(out, out / "speed.md", out / "images" / "speed.svg")
        console.print(page.claim(page.read("speed", out)))
    say(f"results are in {out}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m speed", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all if left out")
    parser.add_argument("--quick", action="store_true", help="a smoke test on a few samples; its times mean nothing")
    parser.add_argument("--whole", action="store_true", help="time the slow sides in whole, which takes an hour")
    parser.add_argument("--rounds", type=int, help="three if left out")
    parser.add_argument("--only", nargs="+", choices=list(ENTRANTS), help="these sides only")
    parser.add_argument("--fresh-start", action="store_true", help="train the common starting state again")
    parser.add_argument("--out", type=Path, help="where to put the results instead of benchmarks/results")
    options = parser.parse_args()
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"unknown part {unknown[0]!r}: choose from {', '.join(PARTS)}")
    options.parts = options.parts or list(PARTS)
    return options


def _show(console: Console, results: dict[str, Any]) -> None:
    """Print the ratios."""
    table = Table("", "against", "deepbass", "the other", "ratio", "rounds", "floor", "aim", "", box=None)
    for row in [*rows(results), *users_rows(results)]:
        goals = ["" if goal is None else f"{goal:g}" for goal in (row.floor, row.aim)]
        ratio = f"{row.ratio:.2f} as long" if row.at_most else f"{times(row.ratio)} x faster"
        spread = f"{row.lowest:.2f} to {row.highest:.2f}"
        table.add_row(row.what, row.against, seconds(row.ours), seconds(row.theirs), ratio, spread, *goals, row.verdict)
    console.print(table)
    table = Table("whole iteration", "", "times faster", box=None)
    for title, found, faster in devices(results):
        table.add_row(title, seconds(found["iteration"]), times(faster))
    console.print(table)


if __name__ == "__main__":
    main()
