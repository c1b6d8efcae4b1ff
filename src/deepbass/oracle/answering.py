"""Whoever a caller lets answer: an object that can be asked, a function, an array or a mapping, spoken to in rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from deepbass.core.errors import ConfigError, DataError
from deepbass.core.label_names import NO_LABEL, LabelNames
from deepbass.core.labels import NO_ANSWERS, Answers, Ids
from deepbass.core.loop import Oracle
from deepbass.core.row_map import RowMap

# rows -> a label for each, a mapping of rows to labels, or Answers; None: nothing has arrived
Answer = Callable[[Ids], ArrayLike | Sequence[Any] | Mapping[int, Any] | Answers | None]
AnyOracle = Oracle | Answer | Mapping[int, Any] | ArrayLike


class Answering:
    """An oracle of the loop, made of whatever answers about rows, with labels as they are in the data or by name.

    A label of -1, None, NaN or no text is no answer; in `Answers`, and there alone, -1 takes an earlier answer back.
    """

    def __init__(self, who: Any, rows: RowMap, classes: Sequence[str]) -> None:
        """Take whoever is to be asked about a pool; ``classes`` are their names, in order."""
        self._rows, self._names = rows, LabelNames(classes)
        self._open: set[int] = set()  # ids that were asked for and have no answer yet
        self._ask = self._understood(who)

    def ask(self, ids: Ids) -> Answers:
        """Put questions in rows, and number what has arrived, also to earlier questions, by id and class."""
        rows = self._rows.rows[ids]
        answers = self._numbered(rows, self._ask(rows))
        self._open = (self._open | set(ids.tolist())) - set(answers.ids.tolist())
        return answers

    def _understood(self, who: Any) -> Callable[[Ids], Any]:
        if callable(getattr(who, "ask", None)):
            asked: Callable[[Ids], Any] = who.ask
            return asked
        if isinstance(who, Mapping):
            return lambda rows: {row: who[row] for row in rows.tolist() if row in who}
        if callable(who):
            # a function has no memory: it is called again for what is due, and not for nothing
            return lambda rows: who(rows) if len(rows) or self._open else None
        labels = _listed(who)
        if labels is None:
            raise ConfigError(
                f"oracle = {type(who).__name__} cannot be asked: give a function of rows, an object with ask(rows), an "
                "array with a label for every row, or a mapping of rows to labels."
            )
        if len(labels) != self._rows.total:
            raise DataError(
                f"oracle has {len(labels)} labels, but the data has {self._rows.total} rows: give one for every row, "
                "with -1 where there is none."
            )
        return lambda rows: [labels[row] for row in rows.tolist()]

    def _numbered(self, rows: Ids, found: Any) -> Answers:
        if found is None:
            return NO_ANSWERS
        if isinstance(found, Answers):  # may take back, and speak of earlier questions
            said, labels = np.asarray(found.ids, dtype=np.int64), _listed(found.classes)
            if labels is None or len(labels) != len(said):
                raise DataError(f"The oracle gave {found!r}: Answers have one label for each row.")
            classes = [self._names.number(label, row) for row, label in zip(said.tolist(), labels, strict=True)]
            return Answers(self._rows.ids(said), np.array(classes, dtype=np.int64))
        pairs = [(row, self._names.number(label, row)) for row, label in self._pairs(rows, found)]
        there = [(row, class_) for row, class_ in pairs if class_ != NO_LABEL]
        ids = self._rows.ids(np.array([row for row, _ in there], dtype=np.int64))
        return Answers(ids, np.array([class_ for _, class_ in there], dtype=np.int64))

    def _pairs(self, rows: Ids, found: Any) -> Iterator[tuple[int, Any]]:
        if isinstance(found, Mapping):
            yield from ((_row(row), label) for row, label in found.items())
            return
        labels = _listed(found)
        if labels is None:
            raise DataError(
                f"The oracle answered {found!r} to {len(rows)} rows: return a label for each, a mapping of rows to "
                "labels, or None."
            )
        if len(labels) != len(rows):
            raise DataError(
                f"The oracle answered with {len(labels)} labels to {len(rows)} rows: return one for each, None where "
                "there is none yet, or a mapping of rows to labels."
            )
        yield from zip(rows.tolist(), labels, strict=True)


def _listed(values: Any) -> list[Any] | None:
    """List labels in whatever they are held; None for what is no list of them."""
    if isinstance(values, str | bytes) or np.ndim(values) != 1:
        return None
    return list(values.tolist()) if hasattr(values, "tolist") else list(values)


def _row(row: Any) -> int:
    if isinstance(row, bool) or not isinstance(row, int | np.integer):
        raise DataError(f"The oracle answered about {row!r}, which is no row: rows are whole numbers from 0.")
    return int(row)
