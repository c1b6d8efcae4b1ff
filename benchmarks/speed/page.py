"""Write docs/speed.md and its picture from benchmarks/results/. A test fails when page and results differ.

The words stand in page.md; this file fills in what was measured.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import median
from typing import Any

from speed import numbers
from speed.plan import ENTRANTS, OURS
from speed.profiles import GROUPS, OUTSIDE, REST
from speed.scale import WORKS, growth, rest_bytes
from speed.table import Row, devices, parts, rows, users_rows

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGE, PICTURE = ROOT / "docs" / "speed.md", ROOT / "docs" / "images" / "speed.svg"

Results = dict[str, Any]

_TEMPLATE = Path(__file__).with_name("page.md")
_QUICK = "**These numbers come from a smoke test on a few samples and mean nothing. Run `make bench`.**"


def read(name: str, folder: Path = RESULTS) -> Results:
    """Read one of the result files: speed, scale, startup or profile."""
    path = folder / f"{name}.json"
    if not path.exists():
        part = "sides" if name == "speed" else name
        raise SystemExit(f"There is no {path}, which the page needs: run python -m speed {part} --out {folder} first.")
    found: Results = json.loads(path.read_text(encoding="utf-8"))
    return found


def page(folder: Path = RESULTS) -> str:
    """Make the text of the page."""
    speed = read("speed", folder)
    filled = {
        "warning": _QUICK if speed["task"]["quick"] else "",
        "claim": claim(speed),
        "table": _table(rows(speed)),
        "parts": _parts(speed),
        "asking": _asking(speed),
        "users": _table(users_rows(speed)),
        "timed": _timed(speed),
        "same": _same(speed),
        "scale": _scale(read("scale", folder)),
        "startup": _startup(read("startup", folder)),
        "profile": _profile(read("profile", folder)),
        "lines": _lines(read("profile", folder)),
        "machine": _machine(speed),
    }
    text = re.sub(r"\{\{(\w+)\}\}", lambda place: filled[place[1]], _TEMPLATE.read_text(encoding="utf-8"))
    return re.sub(r"\n{3,}", "\n\n", text)


def claim(speed: Results) -> str:
    """Say in one line what was measured, for the README."""
    ours = parts(speed, OURS)
    assert ours is not None
    faster = [
        f"{numbers.times(row.ratio)} times faster than {row.against}"
        for row in rows(speed)
        if row.what == "one whole iteration"
    ]
    compared = f": {', '.join(faster)}, with the same answers." if faster else "."
    took, cores = numbers.seconds(ours["iteration"]), numbers.cores(speed["about"][OURS]["threads"])
    return f"One MNIST iteration takes {took} on {cores}{compared}"


def write(folder: Path = RESULTS, page_path: Path = PAGE, picture_path: Path = PICTURE) -> None:
    """Write the page and the picture."""
    from speed.picture import draw

    picture_path.parent.mkdir(parents=True, exist_ok=True)
    page_path.write_text(page(folder), encoding="utf-8")
    draw(read("speed", folder), picture_path)


def _table(measured: list[Row]) -> str:
    floors = any(row.floor is not None for row in measured)
    head = ["", "against", "deepbass", "the other", "times faster", *(["floor", "aim", ""] if floors else [])]
    return numbers.table(head, [_cells(row, floors) for row in measured])


def _cells(row: Row, floors: bool) -> list[str]:
    if row.at_most:
        ratio = f"takes {row.ratio:.2f} times as long ({row.lowest:.2f} to {row.highest:.2f})"
        goals = [f"at most {row.floor:g}", f"below {row.aim:g}"]
    else:
        write_ = numbers.times
        ratio = f"**{write_(row.ratio)}** ({write_(row.lowest)} to {write_(row.highest)})"
        goals = ["" if goal is None else f"{goal:g}" for goal in (row.floor, row.aim)]
    cells = [row.what, row.against, numbers.seconds(row.ours), numbers.seconds(row.theirs), ratio]
    return [*cells, *goals, row.verdict] if floors else cells


def _parts(speed: Results) -> str:
    """Take everybody's iteration apart."""
    task = speed["task"]
    head = [
        "",
        f"{task['passes_pool']} passes over {task['samples']:,}",
        f"{task['passes_known']} passes over {task['known']}",
        f"an epoch of {task['samples'] - task['known'] + task['known'] * task['copies']:,}",
        "whole iteration",
    ]
    others = [(ENTRANTS[name].title, found) for name in ("plain", "keras") if (found := parts(speed, name))]
    own = [(title, found) for title, found, _ in devices(speed)]
    return numbers.table(
        head,
        [
            [title, *(numbers.seconds(found[part]) for part in ("pool", "known", "epoch", "iteration"))]
            for title, found in [*others, *own]
        ],
    )


def _asking(speed: Results) -> str:
    """Tell what an iteration that asks takes, and whether early exit changed a pseudo-label."""
    measured = speed["seconds"][OURS]
    said = f"An iteration that also asks for labels takes {numbers.seconds(median(measured['asking']['rounds']))}."
    every = speed["seconds"].get("every-pass")
    if every is None:
        return said
    labels = [side["iteration"]["facts"][0]["pseudo_labels"] for side in (measured, every)]
    same = "the same" if labels[0] == labels[1] else "not the same"
    return f"{said} With and without early exit the pseudo-labels were {same}, sample by sample."


def _timed(speed: Results) -> str:
    """List what was timed in part and counted several times."""
    listed = [
        f"- {ENTRANTS[side].title}, {piece}: {row['how']}, counted {row['times']} times"
        for side, pieces in speed["seconds"].items()
        for piece, row in pieces.items()
        if row["times"] > 1
    ]
    ways = [
        f"- {ENTRANTS[side].title}, {what}: its quickest way here was {about[what]}"
        for side, about in speed["about"].items()
        for what in ("infer", "fit")
        if what in about
    ]
    return "\n".join([*listed, *ways])


def _same(speed: Results) -> str:
    checked = speed["same_answers"]
    sides = checked["sides"].values()
    off = max((side["dropout_off"] for side in sides if "dropout_off" in side), default=0.0)
    apart = max((side["standard_errors"] for side in sides), default=0.0)
    return (
        f"On {checked['samples']} samples all sides' probabilities agree with deepbass's to {off:.0e} with dropout "
        f"off, and their means over {checked['passes']} passes lie at most {apart:.1f} standard errors apart."
    )


def _scale(scale: Results) -> str:
    names = {"infer": f"{scale['task']['scale_passes']} dropout passes", "train": "one training epoch"}
    cells, sentences = [], []
    for work in WORKS:
        mine = [row for row in scale["rows"] if row["work"] == work]
        for row in mine:
            slices = row["slices"]
            cells.append(
                [
                    f"{names[work]}, {row['size']:,} samples",
                    f"{1e6 * row['seconds'] / row['size']:.1f} µs",
                    f"{median(slices):.1f} µs ({min(slices):.1f} to {max(slices):.1f})",
                    numbers.megabytes(row["peak_bytes"]),
                    numbers.megabytes(row["results_bytes"]),
                    numbers.megabytes(rest_bytes(row)),
                ]
            )
        grown = growth(mine)
        sentences.append(
            f"{names[work].capitalize()}: the times a sample of the slices lie within "
            f"{numbers.share(grown['time'] - 1)} of each other (wanted: 15 %); the memory beyond the results grows by "
            f"{numbers.share(grown['memory'] - 1)} from the smallest to the largest pool, "
            f"{grown['extra_bytes_a_sample']:.0f} bytes a sample (wanted: 10 %)."
        )
    head = ["", "a sample, in whole", "a sample, slices", "peak memory", "of it results", "the rest"]
    return "\n\n".join([numbers.table(head, cells), *sentences])


def _startup(startup: Results) -> str:
    taken = startup["seconds"]
    torch = "imports torch" if startup["import_imports_torch"] else "does not import torch"
    return (
        f"`import deepbass` {torch}. `deepbass --help` is there after {taken['help']:.2f} s, of which Python itself "
        f"takes {taken['python']:.2f} s (median of {startup['times']})."
    )


def _profile(profile: Results) -> str:
    columns = [(side, part) for part in ("pass", "epoch") for side in ("plain", "deepbass")]
    head = ["", *(f"{ENTRANTS['plain'].title if side == 'plain' else side}, {part}" for side, part in columns)]
    groups = [*(group for group, _ in GROUPS), REST, OUTSIDE]
    cells = [
        [group, *(numbers.share(profile[side][part]["operators"].get(group, 0.0)) for side, part in columns)]
        for group in groups
    ]
    return numbers.table(head, cells)


def _lines(profile: Results) -> str:
    titles = {"pass": "Dropout passes over the pool", "epoch": "A training epoch"}
    found = []
    for part, title in titles.items():
        listed = profile["deepbass"][part]["lines"]
        cells = [[numbers.share(share), f"`{line.replace('|', chr(92) + '|')}`"] for line, share in listed.items()]
        found.append(numbers.table([title, "line"], cells))
    return "\n\n".join(found)


def _machine(speed: Results) -> str:
    machine = speed["machine"]
    caches = ", ".join(f"{name} {size}" for name, size in machine.get("caches", {}).items())
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    threads = {about["threads"] or machine["cores"] for about in speed["about"].values()}
    listed = [
        f"{machine['processor']}, {numbers.cores(machine['cores'])}, {machine.get('memory_gb', '?')} GB of memory",
        f"instructions: {', '.join(machine.get('flags', [])) or 'unknown'}; caches: {caches or 'unknown'}",
        f"{machine['system']}, Python {machine['python']}, {versions}",
        f"threads of every side: {', '.join(str(count) for count in sorted(threads))}",
        f"measured on {speed['made']}, rounds: {speed['task']['rounds']}; load of the machine before the start: "
        f"{machine.get('load_before', '?')}; processor share of all waiting sides together: "
        f"{speed['idle_processor_share']:.1%}",
    ]
    return "\n".join(f"- {line}" for line in listed)


if __name__ == "__main__":
    write()
