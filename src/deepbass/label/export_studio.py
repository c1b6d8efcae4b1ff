"""Labels as tasks of Label Studio: people's words as annotations, the model's as predictions.

A task's image is ``/data/local-files/?d=SOURCE/PATH``, where SOURCE is the name of the source's folder: start Label
Studio with LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true and LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT set to the folder
that SOURCE lies in, and add SOURCE as local storage. Or give the address below which the images are served:
``url_prefix``.

Its labelling interface needs ``<Image name="image" value="$image"/>`` and ``<Choices name="label" toName="image">``. An
annotator stands as an e-mail address, the one way in which Label Studio takes names; where nobody has that address, it
takes the file with ALLOW_IMPORT_TASKS_WITH_UNKNOWN_EMAILS=true only.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from deepbass.label.records import Answer, Record, Records
from deepbass.label.said import BROUGHT

FROM_NAME, TO_NAME = "label", "image"
LOCAL_FILES = "/data/local-files/?d="


def default_prefix(source: str) -> str:
    """Tell what the addresses of images begin with: the folder that the names of a source are below."""
    path = Path(source)
    folder = path if path.is_dir() or not path.suffix else path.parent
    return f"{LOCAL_FILES}{quote(folder.name)}/"


def write_studio(file: TextIO, records: Records, url_prefix: str) -> None:
    """Write a task for every item, without label or with; those not in the source any more if something was said."""
    file.write("[")
    between = "\n"
    for record in records.items:
        if not record.gone or record.answers:
            file.write(between + json.dumps(_task(record, records, url_prefix), ensure_ascii=False))
            between = ",\n"
    file.write("\n]\n")


def _task(record: Record, records: Records, url_prefix: str) -> dict[str, Any]:
    predictions = []
    if record.is_pseudo and record.guess and records.model:
        predictions.append(
            {
                "model_version": f"{records.model.name}/{records.model.iteration}",
                "score": round(record.guess.confidence, 6),
                "result": _choice(record, record.guess.label),
            }
        )
    return {
        "id": record.item + 1,  # Label Studio counts from one
        "data": {"image": url_prefix + quote(record.path), "path": record.path},
        "meta": {"flagged": record.flagged},
        "annotations": [_annotation(record, answer) for answer in _counting(record.answers)],
        "predictions": predictions,
    }


def _counting(answers: tuple[Answer, ...]) -> list[Answer]:
    """Leave out labels brought along where somebody gave one here: there nobody would know which of them holds."""
    here = any(answer.label is not None and answer.source not in BROUGHT for answer in answers)
    return [answer for answer in answers if answer.label is None or not here or answer.source not in BROUGHT]


def _annotation(record: Record, answer: Answer) -> dict[str, Any]:
    return {
        "completed_by": {"email": answer.annotator},
        "result": [] if answer.label is None else _choice(record, answer.label),
        "was_cancelled": answer.label is None,  # skipped, or looked at in vain
        "ground_truth": answer.kind == "settle",
        "created_at": answer.created_at,
        "lead_time": answer.seconds,
    }


def _choice(record: Record, label: str) -> list[dict[str, Any]]:
    return [
        {
            "id": f"item{record.item}",
            "type": "choices",
            "from_name": FROM_NAME,
            "to_name": TO_NAME,
            "value": {"choices": [label]},
        }
    ]
