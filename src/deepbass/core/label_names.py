"""Labels as callers write them, numbered by class: as they are in the data, or by name."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

from deepbass.core.errors import DataError
from deepbass.core.labels import UNKNOWN

NO_LABEL = UNKNOWN
_SHOWN = 12  # classes that an error lists


class LabelNames:
    """The names of classes, to look labels up by: 7, 7.0 and "7" are the class "7"."""

    def __init__(self, classes: Sequence[str]) -> None:
        self.classes = tuple(classes)
        self._numbers = {name: number for number, name in enumerate(self.classes)}
        # where no name is a number, a number is that of a class
        self._by_number = not any(_is_whole(name) for name in self.classes)

    def number(self, label: Any, row: int) -> int:
        """Number a label; NO_LABEL where there is none. ``row`` it is of is for errors."""
        if is_no_label(label):
            return NO_LABEL
        found = self._numbers.get(name_of_label(label))
        if found is not None:
            return found
        if self._by_number and isinstance(label, numbers.Integral) and 0 <= int(label) < len(self.classes):
            return int(label)
        shown = ", ".join(map(repr, self.classes[:_SHOWN])) + (", ..." if len(self.classes) > _SHOWN else "")
        raise DataError(f"Row {row} was given the label {label!r}, which is none of the classes: {shown}.")


def name_of_label(label: Any) -> str:
    """Name a label: a whole number is written without a point."""
    if isinstance(label, numbers.Real) and not isinstance(label, numbers.Integral) and float(label).is_integer():
        return str(int(float(label)))
    return str(label)


def is_no_label(label: Any) -> bool:
    """Tell whether a label is missing: None, NaN, -1, no text, or pandas' mark."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(label, str):
        return label in ("", str(UNKNOWN))
    if isinstance(label, bool) or not isinstance(label, numbers.Real):
        return False
    return math.isnan(label) or label == UNKNOWN


def _is_whole(name: str) -> bool:
    return name.lstrip("-").isdigit()
