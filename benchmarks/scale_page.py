"""Fill in what was measured in docs/scale.md: what stands between two marks there is written from benchmarks/results/.

    python -m scale_page      (in benchmarks/; `make bench-items` and `make bench-ray` run it at their end)

A test fails when page and results differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster import reckoned

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE, PICTURE = ROOT / "docs" / "scale.md", ROOT / "docs" / "images" / "cluster-cost.svg"

Results = dict[str, Any]


def read(name: str) -> Results:
    """Read a result file."""
    found: Results = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def page(text: str) -> str:
    """Write the page's measured parts anew."""
    return re.sub(
        r"(<!-- measured: (\w+) -->\n).*?(<!-- end -->)",
        lambda place: f"{place[1]}{SECTIONS[place[2]]().strip()}\n{place[3]}",
        text,
        flags=re.DOTALL,
    )


def items() -> str:
    """Tell how a project of a million items does."""
    found = read("items")
    kinds = {"texts": "texts, of a CSV file", "pictures": "pictures of 8 x 8, of a mapped array"}
    of_kinds = [found[kind] for kind in kinds]
    rows: list[tuple[str, Callable[[Results], str]]] = [
        ("made, until the first question is asked", lambda of: _took(of["made"])),
        ("opened again, until the first question", lambda of: _took(of["opened"])),
        ("the same with the answers below", lambda of: _took(of["opened_with_answers"])),
        ("an answer saved, and the next question given", lambda of: _waits(of["answer"])),
        ("the server's processor time for that, and for showing it", lambda of: f"{of['processor_ms']:.1f} ms"),
        ("the panel", lambda of: _waits(of["panel"])),
        ("an item shown", lambda of: _waits(of["look"])),
        ("most memory of the server", lambda of: f"{max(of['made']['peak_mb'], of['opened']['peak_mb']):,} MB"),
        ("the trainer, until it has the list of all", lambda of: _took(of["trainer_open"])),
        ("the first model, from the start of the server", lambda of: _first_model(of["first_model"])),
        ("an answer saved, while a model is trained", lambda of: _waits(of["with_model"]["answer"])),
        ("the panel, then", lambda of: _waits(of["with_model"]["panel"])),
        ("most memory of the server, then", lambda of: f"{of['with_model']['peak_mb']:,} MB"),
        ("most memory of the trainer", lambda of: f"{of['first_model'].get('peak_mb', 0):,} MB"),
    ]
    lines = [f"| {found['settings']['items']:,} items | {' | '.join(kinds.values())} |", "|---|---|---|"]
    lines += [f"| {title} | {' | '.join(tell(of) for of in of_kinds)} |" for title, tell in rows]
    return "\n".join(
        [
            f"Measured by `make bench-items` with the real server on {found['machine']['cores']} cores, one person who "
            f"gives {found['settings']['answers']:,} answers many times faster than people do, and a load of "
            f"{found['load']:g} by other work when it began. Of waits, half are below the first number and 99 of 100 "
            "below the second.",
            "",
            *lines,
        ]
    )


def _took(of: Results) -> str:
    computed = f" ({of['processor_seconds']:.1f} s of processor time)" if "processor_seconds" in of else ""
    return f"{of['seconds']:.1f} s{computed}"


def _waits(of: Results) -> str:
    return f"{of['p50']:.1f} ms, {of['p99']:.1f} ms"


def _first_model(of: Results) -> str:
    return f"{of['seconds']:.0f} s" if of["there"] else f"not within {of['seconds']:.0f} s"


def _of_cluster(tell: Callable[[Results], str]) -> Callable[[], str]:
    return lambda: tell(read("cluster"))


SECTIONS: dict[str, Callable[[], str]] = {
    "items": items,
    "two_workers": _of_cluster(reckoned.measured),
    "constants": _of_cluster(reckoned.constants),
    "iterations": _of_cluster(reckoned.table),
    "ends": _of_cluster(reckoned.ends),
    "slowed": _of_cluster(reckoned.checked),
}


def main() -> None:
    """Write the page and its picture."""
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    reckoned.draw(read("cluster"), PICTURE)


if __name__ == "__main__":
    main()
