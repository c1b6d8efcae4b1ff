"""What docs/scale.md says of one iteration over large pools, from results/large_iteration.json.

    python -m speed.large_page

writes it there.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

from speed import numbers

RESULTS = Path(__file__).parents[1] / "results" / "large_iteration.json"
PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
BEGIN, END = "<!-- one iteration -->\n", "<!-- end of one iteration -->\n"
PASSES, TRAINING = "passes over the pool", "training"

Row = dict[str, Any]


def text(results: dict[str, Any]) -> str:
    """Make the table and what follows from it."""
    by_size: dict[int, list[Row]] = {}
    for row in results["rows"]:
        by_size.setdefault(row["size"], []).append(row)
    copies = results["task"]["copies"]
    sizes = sorted(by_size)
    cells = [_cells(size, by_size[size], copies) for size in sizes]
    head = ["samples", "passes, a sample", "training, a sample shown", "all, a sample", "seconds in all", "memory"]
    small, large = by_size[sizes[0]], by_size[sizes[-1]]
    passes, training, whole = (
        numbers.change(of(large, copies) / of(small, copies)) for of in (_of_passes, _of_training, _of_all)
    )
    before, after = (_peak(by_size[size]) for size in sizes[-2:])
    grown = (after - before) / (sizes[-1] - sizes[-2])
    shared = f" {results['note']}" if results.get("note") else ""
    return "\n\n".join(
        [
            numbers.table(head, cells),
            f"Times are processor time, of all threads. From {sizes[0]:,} to {sizes[-1]:,} samples passes take "
            f"{passes} a sample, training {training} a sample shown, and all {whole} a sample (wanted: within 15 %): "
            f"a small pool shares the passes over known labels and their {copies} copies among fewer. From "
            f"{sizes[-2]:,} to {sizes[-1]:,} samples the process grows by {grown:.0f} bytes a sample, to "
            f"{numbers.megabytes(after)} (wanted: below 2 GB).",
            f"Measured on {results['made']} with {results['rows'][0]['threads']} threads, the smallest pool "
            f"{numbers.times_over(len(small))}.{shared}",
        ]
    )


def _cells(size: int, rows: list[Row], copies: int) -> list[str]:
    return [
        f"{size:,}",
        *(f"{of(rows, copies):.1f} µs" for of in (_of_passes, _of_training, _of_all)),
        f"{median(row['seconds']['all'] for row in rows):,.0f}",
        numbers.megabytes(_peak(rows)),
    ]


def _of_passes(rows: list[Row], copies: int) -> float:
    return float(median(1e6 * row["processor"][PASSES] / row["size"] for row in rows))


def _of_training(rows: list[Row], copies: int) -> float:
    return float(median(1e6 * row["processor"][TRAINING] / _shown(row, copies) for row in rows))


def _of_all(rows: list[Row], copies: int) -> float:
    return float(median(1e6 * row["processor"]["all"] / row["size"] for row in rows))


def _shown(row: Row, copies: int) -> int:
    """Count what an epoch shows: guesses once, known labels in copies."""
    return int(row["size"] - row["known"] + copies * row["known"])


def _peak(rows: list[Row]) -> int:
    return max(int(row["peak_bytes"]) for row in rows)


def page() -> str:
    """Put the text where it belongs on the page."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    return f"{before}{BEGIN}\n{text(results)}\n\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
