"""What a text or a row has to say: plain data of a bounded size, which a page shows as it is and never interprets."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from deepbass.core.raw_samples import Cell, Kind

LONGEST = 200_000  # characters of a text, or of all cells of a row together
COLUMNS = 500  # of a row
CELL = 20_000  # characters of a cell
SHORT_TEXT, SHORT_COLUMNS, SHORT_CELL = 500, 6, 80  # the same in lists, where only the beginning is shown

Column = tuple[str, Cell]  # its name and what stands in it


@dataclass(frozen=True)
class Content:
    """A text with the columns that stand beside it, or the columns of a row."""

    kind: Kind
    text: str = ""
    columns: tuple[Column, ...] = ()

    def as_json(self, *, short: bool = False) -> dict[str, Any]:
        """Describe it for the page, whole or in ``short``; what is cut says how long it was."""
        longest = SHORT_TEXT if short else LONGEST
        columns = _fitting(self.columns, SHORT_COLUMNS, SHORT_CELL) if short else _fitting(self.columns, COLUMNS, CELL)
        if self.kind == "row":
            return {"kind": "row", "cells": columns, "columns": len(self.columns)}
        return {
            "kind": "text",
            "text": self.text[:longest],
            "beside": [] if short else columns,
            "characters": len(self.text),
        }


def plain(cell: object) -> Cell:
    """Make a cell one of those that JSON has: what is not a number is nothing, what is infinite stands as a word."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return str(cell)
    if math.isnan(cell):
        return None
    return cell if math.isfinite(cell) else str(cell)


def _fitting(columns: Iterable[Column], most: int, longest: int) -> list[list[Cell]]:
    """Take columns while there is room for them, each cut to a length."""
    found: list[list[Cell]] = []
    room = LONGEST
    for name, cell in columns:
        if len(found) == most or room <= 0:
            break
        pair = [_cut(name, longest), _cut(cell, min(longest, room)) if isinstance(cell, str) else cell]
        room -= sum(len(part) for part in pair if isinstance(part, str))
        found.append(pair)
    return found


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"
