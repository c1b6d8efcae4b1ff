"""Bring labels in from elsewhere: all that a file has, or nothing."""

from __future__ import annotations

import uuid
from contextlib import closing
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from deepbass.core.errors import DataError, StoreError
from deepbass.data.listing import name_some
from deepbass.exchange.csv_table import read_csv
from deepbass.exchange.jsonl import read_jsonl
from deepbass.exchange.label_studio import read_studio
from deepbass.exchange.match import AmbiguousError, Matcher
from deepbass.exchange.records import LabelsRead, ReadLabel
from deepbass.exchange.text import read_text
from deepbass.label.acts import NewAct
from deepbass.label.clean_names import clean_name
from deepbass.label.journal import Journal, RefusedAct
from deepbass.label.ledger import Ledger
from deepbass.label.project import Project


@dataclass(frozen=True)
class Imported:
    """What an import did."""

    labels: int  # that the file has, by people
    added: int
    there: int  # that the same people give the same images already
    replaced: int  # of those added, how many take the place of another answer by the same person
    new_classes: tuple[str, ...]
    unknown: tuple[str, ...]  # paths of no item, which were left out
    skipped: dict[str, int]  # what is no label by a person, by kind


def import_labels(
    project: Project,
    file: str | PathLike[str],
    annotator: str,
    *,
    add_classes: bool = False,
    skip_unknown: bool = False,
) -> Imported:
    """Add the labels of a CSV table (path,label and maybe annotator), JSON Lines of ours, or Label Studio's JSON.

    ``annotator`` is whose labels they are where the file does not say. Classes that the project does not have are
    refused unless ``add_classes``; so are paths of no item, unless ``skip_unknown``. Whatever is refused, nothing is
    written. The same file can be imported again: what still stands is not added twice, and what does not is said again.
    It takes the project's lock, so no server may be running.
    """
    path = Path(file).expanduser()
    annotator = clean_name(annotator, "a person")
    content = read_labels(path)
    with project.lock(), closing(Journal.open(project.labels_db)) as journal:
        found, unknown = _find(path, content, Matcher(journal.item_names(), project.source))
        if unknown and not skip_unknown:
            raise DataError(
                f"{path}: {len(unknown)} paths are of no item of {project.path}: {name_some(unknown)}. Nothing was "
                "imported. Correct them, or leave them out with --skip-unknown; items that are new are taken up when "
                "`deepbass label` opens the project."
            )
        labels = _checked(path, found, annotator)
        new = _new_classes(path, labels, journal.class_list().names, add_classes, project)
        with journal.transaction():
            class_of = {name: journal.add_class(name, annotator) for name in dict.fromkeys(labels.values())}
            meant = {key: class_of[label] for key, label in labels.items()}
            added, replaced = _write(journal, meant, project.ledger(journal))
    skipped = dict(sorted(content.skipped.items()))
    return Imported(len(content.labels), added, len(labels) - added, replaced, new, tuple(unknown), skipped)


def read_labels(file: Path) -> LabelsRead:
    """Read a file; what kind it is shows in how it begins, and JSON Lines in its name."""
    text = read_text(file)
    if file.suffix.lower() in (".jsonl", ".ndjson"):
        return read_jsonl(file, text)
    if text.lstrip()[:1] in ("[", "{"):
        return read_studio(file, text)
    return read_csv(file, text)


def _find(path: Path, content: LabelsRead, matcher: Matcher) -> tuple[list[tuple[int, ReadLabel]], list[str]]:
    """Find the items that are meant, and list the paths that mean none."""
    found: list[tuple[int, ReadLabel]] = []
    unknown: list[str] = []
    ambiguous: list[str] = []
    for labelled in content.labels:
        try:
            item = matcher.find(labelled.paths)
        except AmbiguousError as error:
            ambiguous.append(f"{labelled.where}: {error}")
            continue
        if item is None:
            unknown.append(f"{labelled.paths[0]!r} ({labelled.where})")
        else:
            found.append((item, labelled))
    if ambiguous:
        raise DataError(
            f"{path}: it is not clear which items are meant. {name_some(ambiguous)}. Give paths as the project has "
            "them, with their folders. Nothing was imported."
        )
    return found, unknown


def _checked(path: Path, found: list[tuple[int, ReadLabel]], annotator: str) -> dict[tuple[int, str], str]:
    """Give each item and annotator their one label, with names spelled as the project spells them."""
    labels: dict[tuple[int, str], str] = {}
    where: dict[tuple[int, str], str] = {}
    for item, labelled in found:
        try:
            who = clean_name(labelled.annotator, "a person") if labelled.annotator else annotator
            label = clean_name(labelled.label, "a class")
        except DataError as error:
            raise DataError(f"{path}, {labelled.where}: {error} Nothing was imported.") from error
        key = item, who
        if labels.setdefault(key, label) != label:
            raise DataError(
                f"{path}, {labelled.where}: {who!r} says {label!r} of {labelled.paths[0]!r}, but {labels[key]!r} on "
                f"{where[key]}: keep one. Nothing was imported."
            )
        where.setdefault(key, labelled.where)
    return labels


def _new_classes(
    path: Path, labels: dict[tuple[int, str], str], classes: list[str], add_classes: bool, project: Project
) -> tuple[str, ...]:
    new = tuple(name for name in dict.fromkeys(labels.values()) if name not in classes)
    if new and not add_classes:
        raise DataError(
            f"{path} has classes that {project.path} does not have: {name_some([repr(name) for name in new])}. Nothing "
            "was imported. Correct them, or add them with --add-classes."
        )
    return new


def _write(journal: Journal, labels: dict[tuple[int, str], int], ledger: Ledger) -> tuple[int, int]:
    """Write down what does not stand already; count it, and how much of it takes the place of another answer."""
    missing = {
        (item, annotator): class_
        for (item, annotator), class_ in labels.items()
        if ledger.answers(item).get(annotator) != class_
    }
    acts = [
        # drawn anew: an id that follows from the label could be taken before, by a person or by an import since undone
        NewAct(f"import-{uuid.uuid4().hex}", item, "label", annotator, "import", class_)
        for (item, annotator), class_ in missing.items()
    ]
    refused = [one for one in journal.write(acts) if isinstance(one, RefusedAct)]
    if refused:  # all was checked before: the journal has rules that are not known here
        raise StoreError(
            f"{len(refused)} labels were refused: {name_some([one.reason for one in refused])}. Nothing was imported."
        )
    return len(acts), sum(ledger.standing(item, annotator) is not None for item, annotator in missing)
