"""What the pages of all matrices show alike: tables, what failed, and what it was made with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from xml.etree.ElementTree import Element

from deepbass.bench.cells import CellResult
from deepbass.bench.text_table import LEFT, Table
from deepbass.report.frame import folded, pair, pairs, scrolling_table
from deepbass.report.markup import tag

NO_ERROR = "It left no error."


def table_parts(table: Table, *, titled: bool = True) -> list[Element]:
    """Show a table with its title and notes."""
    sides = ["words" if side == LEFT else "" for _, side in table.columns]
    heads = [tag("th", head, scope="col", class_=side) for (head, _), side in zip(table.columns, sides, strict=True)]
    rows = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            *(tag("td", text, class_=side) for text, side in zip(row[1:], sides[1:], strict=True)),
        )
        for row in table.rows
    ]
    title = [tag("h3", table.title)] if titled else []
    notes = [tag("p", note, class_="note below") for note in table.notes]
    return [*title, scrolling_table(heads, rows, whole=True), *notes]


def failures_section(records: Iterable[CellResult]) -> Element | None:
    """List the cells that failed, each with its whole error behind the first line."""
    failed = [
        folded(f"{record.cell.key}: {first_line(record)}", tag("pre", record.error or NO_ERROR)) for record in records
    ]
    return tag("section", tag("h2", "Failures"), *failed) if failed else None


def versions_section(records: Iterable[CellResult]) -> Element | None:
    """List what the results were made with."""
    made_with = [pair(name, value) for name, value in versions_of(records).items()]
    return tag("section", tag("h2", "Versions"), pairs(made_with)) if made_with else None


def versions_of(records: Iterable[CellResult]) -> dict[str, str]:
    """List what finished runs were made with; where they differ, with how many runs each."""
    seen: dict[str, Counter[str]] = {}
    for record in records:
        for name, value in record.versions.items():
            seen.setdefault(name, Counter())[str(value)] += 1
    return {
        name: next(iter(counts))
        if len(counts) == 1
        else "; ".join(f"{value} ({counted_runs(count)})" for value, count in sorted(counts.items()))
        for name, counts in seen.items()
    }


def first_line(record: CellResult) -> str:
    """Cut the error of a failed cell to its first line."""
    return (record.error or NO_ERROR).strip().partition("\n")[0]


def counted_runs(runs: int) -> str:
    """Write a number of runs."""
    return f"{runs} run{'' if runs == 1 else 's'}"
