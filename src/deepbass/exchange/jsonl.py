"""Labels as JSON Lines: an object per item, with all that was said about it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from deepbass.core.errors import DataError
from deepbass.exchange.csv_table import columns_of
from deepbass.exchange.records import PSEUDO, ItemRecord, LabelsRead, ReadLabel, Records
from deepbass.exchange.text import excerpt, parse_json
from deepbass.label.contents import Content


def write_jsonl(file: TextIO, records: Records) -> None:
    """Write an object for every item that has a label or that anything was said about."""
    for record in records.items:
        if record.label is not None or record.answers or record.flagged or record.note:
            file.write(json.dumps(_everything(record, records), ensure_ascii=False, allow_nan=False) + "\n")


def _everything(record: ItemRecord, records: Records) -> dict[str, Any]:
    guess, model = record.guess, records.model
    return {
        "item": record.item,
        **columns_of(record),
        **_said(records.content(record)),
        "flagged": record.flagged,
        "unsure": [answer.annotator for answer in record.answers if answer.kind == "unsure"],
        "skipped": [answer.annotator for answer in record.answers if answer.kind == "skip"],
        "answers": [asdict(answer) for answer in record.answers],
        "guess": {**asdict(guess), "model": model.name, "iteration": model.iteration} if guess and model else None,
        "gone": record.gone,
    }


def _said(content: Content | None) -> dict[str, Any]:
    """Tell what a text or row says; its columns stand apart, so that none is taken for one of ours."""
    if content is None:
        return {}
    columns = {"columns": dict(content.columns)} if content.columns else {}
    return {**({"text": content.text} if content.kind == "text" else {}), **columns}


def read_jsonl(file: Path, text: str) -> LabelsRead:
    """Read the label that holds, where people gave one."""
    found = LabelsRead()
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        row = parse_json(file, line, number)
        if not isinstance(row, dict) or not isinstance(row.get("path"), str):
            raise DataError(f"{file}, line {number}: not an object with a path ({excerpt(line)}).")
        label, annotator = row.get("label"), row.get("annotator")
        if row.get("source") == PSEUDO:
            found.skipped["pseudo-labels"] += 1
        elif label is None:
            found.skipped["rows without a label"] += 1
        elif not isinstance(label, str) or not isinstance(annotator, str | None):
            quoted = f"{excerpt(label)} and {excerpt(annotator)}"
            raise DataError(f"{file}, line {number}: label and annotator must be text, not {quoted}.")
        else:
            found.labels.append(ReadLabel(f"line {number}", (row["path"],), label, annotator or None))
    return found
