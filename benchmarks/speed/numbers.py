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


def change(ratio: float) -> str:
    """Write what a ratio means for a time: 3 % more, 12 % less."""
    return f"{share(abs(ratio - 1))} {'more' if ratio >= 1 else 'less'}"


def times_over(count: int) -> str:
    """Write how often something was done: once, twice, 3 times."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


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
