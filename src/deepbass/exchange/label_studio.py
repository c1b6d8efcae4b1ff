"""Labels as tasks of Label Studio: people's answers as annotations, the model's guesses as predictions.

A task's image is ``/data/local-files/?d=SOURCE/PATH``, where SOURCE is the name of the source's folder: start Label
Studio with LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true and LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT set to the folder
that SOURCE lies in, and add SOURCE as local storage. Or give the address below which the images are served:
``url_prefix``.

Its labelling interface needs ``<Image name="image" value="$image"/>`` and ``<Choices name="label" toName="image">``;
for texts and rows it is ``<Text name="text" value="$text"/>`` or ``<Table name="row" value="$row"/>``: see `interface`.
An annotator stands as an e-mail address, the one way in which Label Studio takes names; where nobody has that address,
it takes the file with ALLOW_IMPORT_TASKS_WITH_UNKNOWN_EMAILS=true only.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import quoteattr

from deepbass.core.errors import DataError
from deepbass.core.raw_samples import Kind
from deepbass.exchange.records import Answer, ItemRecord, LabelsRead, ReadLabel, Records
from deepbass.exchange.text import excerpt, parse_json
from deepbass.label.acts import BROUGHT

FROM_NAME = "label"
_SHOWN: dict[Kind, str] = {"image": "Image", "text": "Text", "row": "Table"}  # the tags that show an item
LOCAL_FILES = "/data/local-files/?d="
_KEYS = ("path", "image", "img", "url", "file")  # of a task's data, the likeliest first; others follow


def default_prefix(source: str) -> str:
    """Tell what the addresses of images begin with: the folder that the names of a source are below."""
    path = Path(source)
    folder = path if path.is_dir() or not path.suffix else path.parent
    return f"{LOCAL_FILES}{quote(folder.name)}/"


def interface(kind: Kind, classes: Sequence[str]) -> str:
    """Write the labelling interface that shows the tasks and offers the classes."""
    choices = "".join(f"<Choice value={quoteattr(name)}/>" for name in classes)
    shown = f'<{_SHOWN[kind]} name="{kind}" value="${kind}"/>'
    return f'<View>{shown}<Choices name="{FROM_NAME}" toName="{kind}">{choices}</Choices></View>'


def write_studio(file: TextIO, records: Records, url_prefix: str) -> None:
    """Write a task for every item, without label or with; those not in the source any more if something was said."""
    file.write("[")
    between = "\n"
    for record in records.items:
        if not record.gone or record.answers:
            file.write(between + json.dumps(_task(record, records, url_prefix), ensure_ascii=False))
            between = ",\n"
    file.write("\n]\n")


def _task(record: ItemRecord, records: Records, url_prefix: str) -> dict[str, Any]:
    predictions = []
    if record.is_guess and record.guess and records.model:
        predictions.append(
            {
                "model_version": f"{records.model.name}/{records.model.iteration}",
                "score": round(record.guess.confidence, 6),
                "result": _choice(record, record.guess.label, records.kind),
            }
        )
    return {
        "id": record.item + 1,  # Label Studio counts from one
        "data": _data(record, records, url_prefix),
        "meta": {"flagged": record.flagged},
        "annotations": [_annotation(record, answer, records.kind) for answer in _counting(record.answers)],
        "predictions": predictions,
    }


def _data(record: ItemRecord, records: Records, url_prefix: str) -> dict[str, Any]:
    """Tell what a task shows: an image by its address, a text and a row by what they say."""
    if records.kind == "image":
        return {"image": url_prefix + quote(record.path), "path": record.path}
    content = records.content(record)
    columns = {} if content is None else dict(content.columns)
    if records.kind == "row":
        return {"row": columns, "path": record.path}
    return {**columns, "text": "" if content is None else content.text, "path": record.path}


def _counting(answers: tuple[Answer, ...]) -> list[Answer]:
    """Leave out labels brought along where somebody gave one here: there nobody would know which of them holds."""
    here = any(answer.label is not None and answer.source not in BROUGHT for answer in answers)
    return [answer for answer in answers if answer.label is None or not here or answer.source not in BROUGHT]


def _annotation(record: ItemRecord, answer: Answer, kind: Kind) -> dict[str, Any]:
    return {
        "completed_by": {"email": answer.annotator},
        "result": [] if answer.label is None else _choice(record, answer.label, kind),
        "was_cancelled": answer.label is None,  # skipped, or looked at in vain
        "ground_truth": answer.kind == "settle",
        "created_at": answer.created_at,
        "lead_time": answer.seconds,
    }


def _choice(record: ItemRecord, label: str, kind: Kind) -> list[dict[str, Any]]:
    return [
        {
            "id": f"item{record.item}",
            "type": "choices",
            "from_name": FROM_NAME,
            "to_name": kind,
            "value": {"choices": [label]},
        }
    ]


# what others write


def read_studio(file: Path, text: str) -> LabelsRead:
    """Read what people chose; what is no label by a person is counted by kind."""
    tasks = parse_json(file, text)
    found = LabelsRead()
    for number, task in enumerate(tasks if isinstance(tasks, list) else [tasks], 1):
        try:
            _read_task(task, f"task {number}", found)
        except DataError as error:
            raise DataError(f"{file}, task {number}: {error}") from error
    return found


def _read_task(task: object, where: str, found: LabelsRead) -> None:
    """Find out which image a task shows, and the one class that each annotator chose for it."""
    if not isinstance(task, dict) or not isinstance(task.get("data"), dict):
        raise DataError('it has no "data": export from Label Studio as JSON, not as JSON-MIN.')
    annotations = task.get("annotations", task.get("completions", []))  # completions: in old versions
    if not isinstance(annotations, list) or not all(isinstance(one, dict) for one in annotations):
        raise DataError(f'its "annotations" are no list of objects but {excerpt(annotations)}.')
    if task.get("predictions"):
        found.skipped["predictions"] += 1
    chosen: list[tuple[dict[str, Any], str]] = []
    for annotation in annotations:
        label = None if annotation.get("was_cancelled") or annotation.get("skipped") else _chosen(annotation)
        if label is None:
            found.skipped["cancelled or empty annotations"] += 1
        else:
            chosen.append((annotation, label))
    # who marked one as the truth has the last word
    decided = [(annotation, label) for annotation, label in chosen if annotation.get("ground_truth") is True] or chosen
    decided.sort(key=lambda one: str(one[0].get("updated_at") or one[0].get("created_at") or ""))
    by_person = {_annotator(annotation.get("completed_by")): label for annotation, label in decided}
    paths = _paths(task["data"])
    found.labels += [ReadLabel(where, paths, label, annotator) for annotator, label in by_person.items()]


def _chosen(annotation: dict[str, Any]) -> str | None:
    """Find the class that was chosen; None where there is nothing but boxes, text and so on."""
    results = annotation.get("result") or []
    if not isinstance(results, list):
        raise DataError(f'a "result" is no list but {excerpt(results)}.')
    choices: dict[str, list[Any]] = {}
    for result in results:
        value = result.get("value") if isinstance(result, dict) and result.get("type") == "choices" else None
        if isinstance(value, dict) and isinstance(value.get("choices"), list):
            choices.setdefault(str(result.get("from_name")), []).extend(value["choices"])
    if len(choices) > 1 and FROM_NAME not in choices:
        raise DataError(
            f"it has several questions ({', '.join(choices)}), and none is named {FROM_NAME!r}: rename the one that "
            "is to be imported."
        )
    given = choices.get(FROM_NAME) or next(iter(choices.values()), [])
    if not given:
        return None
    if len(given) > 1 or not isinstance(given[0], str):
        raise DataError(f"an item has one class here, but {excerpt(given)} was chosen.")
    return given[0]


def _annotator(who: object) -> str | None:
    """Tell a name from what Label Studio says of a person: a number, or an object with an address."""
    if isinstance(who, dict):
        named = who.get("email") or who.get("username") or who.get("id")
        return None if named is None else str(named)
    return str(who) if isinstance(who, str | int) and who != "" else None


def _paths(data: dict[str, Any]) -> tuple[str, ...]:
    """List what may be the image's path, out of addresses such as /data/local-files/?d=images/1.png."""
    given = [data[key] for key in _KEYS if key in data] + [value for key, value in data.items() if key not in _KEYS]
    paths: list[str] = []
    for value in given:
        if isinstance(value, str) and value:
            paths += [_path(value), value]
    if not paths:
        raise DataError(f'its "data" names no item: {excerpt(data)}.')
    return tuple(dict.fromkeys(paths))


def _path(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:  # [ in the place of a host
        return address
    local = parse_qs(parts.query).get("d")
    if local:
        return local[0]
    if parts.scheme or address.startswith("/data/upload/"):
        return unquote(parts.path)
    return address
