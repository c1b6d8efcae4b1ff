"""Labels as a table: CSV, a row a label; or JSON Lines, an object an item with all that was said about it.

Cells are data, exactly as they are. A spreadsheet may take a cell that begins with = + - @ for a formula: import the
file as text there. Putting a mark in front, as some do, would change class names for every other reader.
"""

from __future__ import annotations

import csv
import json
from dataclasses import asdict
from typing import Any, TextIO

from deepbass.label.records import Record, Records

COLUMNS = ("path", "label", "source", "annotator", "created_at", "iteration", "entropy", "confidence")


def write_csv(file: TextIO, records: Records) -> None:
    """Write a row for every label. Entropy and confidence are those of pseudo-labels: people's have none."""
    writer = csv.writer(file)  # quotes whatever has commas, quotes or line ends in it
    writer.writerow(COLUMNS)
    writer.writerows([row[column] for column in COLUMNS] for row in map(_row, records.labelled()))


def write_jsonl(file: TextIO, records: Records) -> None:
    """Write an object for every item that has a label or that anything was said about."""
    for record in records.items:
        if record.label is not None or record.answers or record.flagged:
            file.write(json.dumps(_everything(record, records), ensure_ascii=False, allow_nan=False) + "\n")


def _row(record: Record) -> dict[str, Any]:
    guess = record.guess if record.is_pseudo else None
    return {
        "path": record.path,
        "label": record.label,
        "source": record.source,
        "annotator": record.annotator,
        "created_at": record.created_at,
        "iteration": record.iteration,
        "entropy": _short(guess.entropy) if guess else None,
        "confidence": _short(guess.confidence) if guess else None,
    }


def _everything(record: Record, records: Records) -> dict[str, Any]:
    guess, model = record.guess, records.model
    return {
        "item": record.item,
        **_row(record),
        "flagged": record.flagged,
        "unsure": [answer.annotator for answer in record.answers if answer.kind == "unsure"],
        "skipped": [answer.annotator for answer in record.answers if answer.kind == "skip"],
        "answers": [asdict(answer) for answer in record.answers],
        "guess": {**asdict(guess), "model": model.name, "iteration": model.iteration} if guess and model else None,
        "gone": record.gone,
    }


def _short(number: float) -> float:
    """Keep the digits that a single-precision number has."""
    return float(f"{number:.7g}")
