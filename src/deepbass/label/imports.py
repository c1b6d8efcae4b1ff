"""Bring labels in from elsewhere: all that a file has, or nothing."""

from __future__ import annotations

import hashlib
from contextlib import closing
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from deepbass.core.errors import DataError, StoreError
from deepbass.data.listing import name_some
from deepbass.label.acts import Act, NewAct
from deepbass.label.journal import Journal
from deepbass.label.match import AmbiguousError, Matcher
from deepbass.label.names import clean_name
from deepbass.label.project import Project
from deepbass.label.read_labels import Content, Labelled, read_labels


@dataclass(frozen=True)
class Summary:
    """What an import did."""

    labels: int  # that the file has, by people
    added: int
    there: int  # added by an earlier import
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
) -> Summary:
    """Add the labels of a CSV table (path,label and maybe annotator), JSON Lines of ours, or Label Studio's JSON.

    ``annotator`` is whose labels they are where the file does not say. Classes that the project does not have are
    refused unless ``add_classes``; so are paths of no item, unless ``skip_unknown``. Whatever is refused, nothing is
    written. The same file can be imported again: what it added before is not added twice. It takes the project's lock,
    so no server may be running.
    """
    path = Path(file).expanduser()
    annotator = clean_name(annotator, "a person")
    content = read_labels(path)
    with project.lock(), closing(Journal.open(project.labels_db)) as journal:
        found, unknown = _find(path, content, Matcher([row.name for row in journal.items()], project.source))
        if unknown and not skip_unknown:
            raise DataError(
                f"{path}: {len(unknown)} paths are of no item of {project.path}: {name_some(unknown)}. Nothing was "
                "imported. Correct them, or leave them out with --skip-unknown; images that are new are taken up when "
                "`deepbass label` opens the project."
            )
        labels = _checked(path, found, annotator)
        new = _new_classes(path, labels, journal.classes(), add_classes, project)
        for name in new:
            journal.add_class(name, annotator)
        class_of = {name: class_ for class_, name in enumerate(journal.classes())}
        added = _write(journal, labels, class_of)
    skipped = dict(sorted(content.skipped.items()))
    return Summary(len(content.labels), added, len(labels) - added, new, tuple(unknown), skipped)


def _find(path: Path, content: Content, matcher: Matcher) -> tuple[list[tuple[int, Labelled]], list[str]]:
    """Find the items that are meant, and list the paths that mean none."""
    found: list[tuple[int, Labelled]] = []
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
            f"{path}: it is not clear which images are meant. {name_some(ambiguous)}. Give paths as the project has "
            "them, with their folders. Nothing was imported."
        )
    return found, unknown


def _checked(path: Path, found: list[tuple[int, Labelled]], annotator: str) -> dict[tuple[int, str], str]:
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


def _write(journal: Journal, labels: dict[tuple[int, str], str], class_of: dict[str, int]) -> int:
    """Write all labels in one transaction, and count those that were not there."""
    before = max((act.id for act in journal.acts()), default=0)
    acts = [
        NewAct(_uid(item, label, who), item, "label", who, "import", class_of[label])
        for (item, who), label in labels.items()
    ]
    written = journal.write(acts)
    refused = [one for one in written if not isinstance(one, Act)]
    if refused:  # all was checked before: the journal has rules that are not known here
        raise StoreError(f"{len(refused)} labels were refused: {name_some([one.reason for one in refused])}.")
    return sum(isinstance(one, Act) and one.id > before for one in written)


def _uid(item: int, label: str, annotator: str) -> str:
    """Make the id of an act from what it says, so that it is the same in every import."""
    said = f"{item}\n{label}\n{annotator}"  # no name has a line end
    return f"import-{hashlib.sha256(said.encode()).hexdigest()[:32]}"
