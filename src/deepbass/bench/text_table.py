"""A table as plain text in cells, and how Markdown writes it."""

from __future__ import annotations

from dataclasses import dataclass

LEFT, RIGHT = "left", "right"


@dataclass(frozen=True)
class Table:
    """What a table says; pages decide what it looks like."""

    title: str
    columns: tuple[tuple[str, str], ...]  # (head, side that it is aligned to)
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()  # below the table

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.title}: {row} has {len(row)} cells, the table {len(self.columns)} columns.")


def markdown(table: Table, level: int = 3) -> str:
    """Write a table with its heading and notes."""
    heads = [head for head, _ in table.columns]
    sides = ["---:" if side == RIGHT else "---" for _, side in table.columns]
    lines = [_line(heads), f"|{'|'.join(sides)}|", *(_line(row) for row in table.rows)]
    notes = [f"\n{escape(note)}" for note in table.notes]
    return "\n".join([f"{'#' * level} {table.title}\n", *lines, *notes, ""])


def escape(text: str) -> str:
    """Keep a text from being taken for Markdown or HTML."""
    for special in "\\`*_[]<>|#~":
        text = text.replace(special, f"\\{special}")
    return " ".join(text.split())


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(escape(cell) for cell in cells)} |"


def plain_text(table: Table) -> str:
    """Write a table for a terminal: title, columns one below another, notes."""
    rows = [tuple(head for head, _ in table.columns), *table.rows]
    widths = [max(len(row[place]) for row in rows) for place in range(len(table.columns))]
    sides = [side for _, side in table.columns]
    lines = [
        "  ".join(
            cell.ljust(width) if side == LEFT else cell.rjust(width)
            for cell, width, side in zip(row, widths, sides, strict=True)
        ).rstrip()
        for row in rows
    ]
    return "\n".join([f"\n{table.title}", *lines, *table.notes])
