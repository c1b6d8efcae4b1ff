"""How numbers are written on the page and in the claim."""

from __future__ import annotations

import math

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def seconds(value: float) -> str:
    """Write seconds with three digits at most: 0.82 s, 11.8 s, 361 s."""
    if value < 1:
        return f"{value:.2f} s"
    return f"{value:.1f} s" if value < 100 else f"{value:.0f} s"


def times(value: float) -> str:
    """Write how many times faster; cut off rather than rounded, so that nothing is claimed that was not measured."""
    if value < 10:
        return f"{math.floor(10 * value) / 10:.1f}"
    return f"{math.floor(value)}"


def share(value: float) -> str:
    """Write a share in percent."""
    return f"{100 * value:.0f} %"


def megabytes(value: float) -> str:
    """Write bytes as megabytes."""
    return f"{value / 1e6:,.0f} MB"


def cores(count: int) -> str:
    """Write the number of cores in a word."""
    word = _WORDS[count] if count < len(_WORDS) else str(count)
    return f"{word} core" if count == 1 else f"{word} cores"


def table(head: list[str], rows: list[list[str]]) -> str:
    """Lay a table out in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
