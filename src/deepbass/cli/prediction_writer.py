"""Predictions as lines of CSV or JSON, written as they are made."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from deepbass.runs.predictor import Prediction

FORMATS = ("csv", "jsonl")
_COLUMNS = ("name", "class", "confidence", "entropy")


class PredictionWriter:
    """Writes a line a sample: name, class, confidence, entropy, then the probability of each class.

    With ``top``, only of the so many most probable ones.
    """

    def __init__(self, file: TextIO, kind: str, classes: Sequence[str], top: int | None) -> None:
        self._file, self._classes, self._top = file, classes, top
        self._csv = csv.writer(file) if kind == "csv" else None
        if self._csv is not None:
            ranks = range(1, min(top or 0, len(classes)) + 1)
            named = [f"p_{name}" for name in classes]
            self._csv.writerow([*_COLUMNS, *(named if top is None else _ranked(ranks))])

    def write(self, prediction: Prediction) -> None:
        """Write one prediction."""
        probs_C = prediction.probs_C
        assert probs_C is not None
        best = int(probs_C.argmax())
        row = [prediction.name, self._classes[best], _short(probs_C[best]), _short(prediction.entropy)]
        numbers = probs_C.tolist()
        order = sorted(range(len(numbers)), key=lambda place: -numbers[place])[: self._top] if self._top else None
        pairs = [(self._classes[place], _short(numbers[place])) for place in order or range(len(numbers))]
        if self._csv is None:
            told = dict(zip(_COLUMNS, row, strict=True))
            self._file.write(json.dumps({**told, "probabilities": dict(pairs)}, ensure_ascii=False) + "\n")
        elif self._top is None:
            self._csv.writerow([*row, *(probability for _, probability in pairs)])
        else:
            self._csv.writerow([*row, *(cell for pair in pairs for cell in pair)])


def _ranked(ranks: range) -> list[str]:
    return [column for rank in ranks for column in (f"class_{rank}", f"p_{rank}")]


def _short(number: float) -> float:
    """Keep the digits that a single-precision number has."""
    return float(f"{number:.7g}")
