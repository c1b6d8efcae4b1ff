"""Read a task of Label Studio: which image it shows, and the one class that each annotator chose for it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from deepbass.core.errors import DataError
from deepbass.label.export_studio import FROM_NAME

_KEYS = ("path", "image", "img", "url", "file")  # of the data, the likeliest first; others follow


@dataclass(frozen=True)
class Spoken:
    """What people said about the image of a task."""

    paths: tuple[str, ...]  # that may name the image, the likeliest first
    labels: tuple[tuple[str | None, str], ...]  # annotator and class


def read_task(task: object) -> tuple[Spoken, Counter[str]]:
    """Read one task; what is no label by a person is counted by kind."""
    if not isinstance(task, dict) or not isinstance(task.get("data"), dict):
        raise DataError('it has no "data": export from Label Studio as JSON, not as JSON-MIN.')
    annotations = task.get("annotations", task.get("completions", []))  # completions: in old versions
    if not isinstance(annotations, list) or not all(isinstance(one, dict) for one in annotations):
        raise DataError(f'its "annotations" are no list of objects but {_some(annotations)}.')
    skipped: Counter[str] = Counter()
    if task.get("predictions"):
        skipped["predictions"] += 1
    chosen: list[tuple[dict[str, Any], str]] = []
    for annotation in annotations:
        label = None if annotation.get("was_cancelled") or annotation.get("skipped") else _choice(annotation)
        if label is None:
            skipped["cancelled or empty annotations"] += 1
        else:
            chosen.append((annotation, label))
    # who marked one as the truth has the last word
    decided = [(annotation, label) for annotation, label in chosen if annotation.get("ground_truth") is True] or chosen
    decided.sort(key=lambda one: str(one[0].get("updated_at") or one[0].get("created_at") or ""))
    by_person = {_annotator(annotation.get("completed_by")): label for annotation, label in decided}
    return Spoken(_paths(task["data"]), tuple(by_person.items())), skipped


def _choice(annotation: dict[str, Any]) -> str | None:
    """Find the class that was chosen; None where there is nothing but boxes, text and so on."""
    results = annotation.get("result") or []
    if not isinstance(results, list):
        raise DataError(f'a "result" is no list but {_some(results)}.')
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
        raise DataError(f"an image has one class here, but {_some(given)} was chosen.")
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
        raise DataError(f'its "data" names no image: {_some(data)}.')
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


def _some(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "..."
