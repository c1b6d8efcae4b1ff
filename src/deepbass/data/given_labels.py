"""Labels that are given in Python, of any type: which rows have one, and of which class they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DataError
from deepbass.core.label_names import LabelNames, is_no_label, name_of_label
from deepbass.core.labels import Classes, Ids


@dataclass(frozen=True, eq=False)
class GivenLabels:
    """Labels of some rows, and the classes that there are, in order and as they were written."""

    classes: NDArray[Any]
    rows: Ids
    numbers: Classes  # of the rows' classes
    total: int

    @property
    def names(self) -> tuple[str, ...]:
        """The classes' names."""
        return tuple(name_of_label(class_) for class_ in self.classes.tolist())


def given_labels(y: NDArray[Any], classes: Sequence[Any] | None = None) -> GivenLabels:
    """Sort labels out: -1, None, NaN and no text are unknown.

    ``classes`` are those that there are, where ``y`` may not show them all.
    """
    rows = np.array([row for row, label in enumerate(y.tolist()) if not is_no_label(label)], dtype=np.int64)
    known = y[rows]
    there = _sorted(known) if classes is None else _named(classes)
    names = LabelNames([name_of_label(class_) for class_ in there.tolist()])
    if len(set(names.classes)) < len(names.classes):
        raise DataError(f"Two classes have one name: {', '.join(map(repr, there.tolist()))}. Rename one of them.")
    numbers = [names.number(label, row) for row, label in zip(rows.tolist(), known.tolist(), strict=True)]
    return GivenLabels(there, rows, np.array(numbers, dtype=np.int64), len(y))


def _sorted(known: NDArray[Any]) -> NDArray[Any]:
    try:
        classes: NDArray[Any] = np.unique(known)
    except TypeError as error:
        raise DataError(
            f"The labels are of unlike types and cannot be put in order ({error}): use one type."
        ) from error
    return classes


def _named(classes: Sequence[Any]) -> NDArray[Any]:
    named = np.asarray(classes)
    if named.ndim != 1 or len(named) < 2:
        raise DataError(f"classes = {classes!r}: give the labels that there are, two or more, as in ['cat', 'dog'].")
    return named
