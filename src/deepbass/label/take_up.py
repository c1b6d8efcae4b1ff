"""Bring a project up to what its source has now: items, labels that came with them, and files that were replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from deepbass.core.errors import DataError
from deepbass.core.raw_samples import Kind
from deepbass.data.images import SUFFIXES
from deepbass.label.acts import Act, NewAct
from deepbass.label.clean_names import clean_name
from deepbass.label.journal import FileState, ItemChanges, Journal
from deepbass.label.ledger import Ledger

SOURCE = "source"  # the annotator of labels that the source brings


class SourceItems(Protocol):
    """What a project needs of `Items`."""

    @property
    def kind(self) -> Kind:
        """What all of them are."""

    @property
    def names(self) -> Sequence[str]:
        """One per sample."""

    @property
    def labels(self) -> Mapping[int, str]:
        """What the source says, by place in ``names``."""


@dataclass(frozen=True)
class TakenUp:
    """What a project learned from its source."""

    items: ItemChanges
    labels: int  # that the source brings and that were new
    left_out: list[str]  # labels of the source that are none of the classes people chose
    replaced: list[str]  # items with a label whose file is another one than when the project was last opened


def take_up(journal: Journal, items: SourceItems, project: Path, source: str, *, add_classes: bool) -> TakenUp:
    """Write down what is new, all of it or nothing; ``add_classes``: also classes that the source's labels name."""
    with journal.transaction():
        changes = journal.update_items(items.names)
        known = len(changes.names) - len(changes.new)
        if known and len(changes.missing) == known:  # what is new is there
            raise DataError(
                f"None of the {known} items of {project} is in {source}: that is another source. "
                "Give the right one with --source, or start a new project for this one."
            )
        replaced = _take_up_files(journal, changes, Path(source))
        labels, left_out = _take_up_labels(journal, changes.names, items, add_classes) if items.labels else (0, [])
    return TakenUp(changes, labels, left_out, replaced)


def _take_up_labels(
    journal: Journal, names: Sequence[str], items: SourceItems, add_classes: bool
) -> tuple[int, list[str]]:
    """Write down the source's labels that are new; count them, and name those that are of no class."""
    written = journal.labelled_by_source()
    ids = {name: id_ for id_, name in enumerate(names)}
    clean = {text: clean_name(text, "a class") for text in set(items.labels.values())}
    brought = {ids[items.names[place]]: clean[text] for place, text in items.labels.items()}
    fresh = {item: name for item, name in brought.items() if item not in written}
    if add_classes:
        had = journal.class_list().had
        for name in _in_order({name for name in fresh.values() if not had(name)}):
            journal.add_class(name, by=SOURCE)
    classes = journal.class_list()
    new = [
        NewAct(f"{SOURCE}-{item}", item, "label", SOURCE, "source", class_)
        for item, name in sorted(fresh.items())
        if (class_ := classes.meant_by(name)) is not None
    ]
    taken = journal.write(new)
    # an id that is not ours was sent by somebody: the label gets another
    others = [act for act, result in zip(new, taken, strict=True) if not _is_ours(result)]
    again = journal.write([replace(act, uid=f"{act.uid}-{uuid4().hex}") for act in others])
    left_out = {name for name in fresh.values() if classes.meant_by(name) is None}
    return sum(map(_is_ours, [*taken, *again])), _in_order(left_out)


def _is_ours(result: object) -> bool:
    return isinstance(result, Act) and result.why == "source"


def _take_up_files(journal: Journal, items: ItemChanges, source: Path) -> list[str]:
    """Write down what files look like now; name those of items with a label that are not what they were."""
    before, now = journal.files(), _files(items, source)
    both = before.keys() & now.keys()
    # a folder that was copied as a whole has new times throughout, and the same images
    copied = len(both) > 1 and all(before[item].mtime_ns != now[item].mtime_ns for item in both)
    changed = {item: now[item] for item in now if before.get(item) != now[item]}
    replaced = [item for item in changed if item in both and (not copied or before[item].size != now[item].size)]
    journal.save_files(changed)
    if not replaced:
        return []
    ledger = Ledger.of(journal.acts(), (), journal.class_list())
    return [items.names[item] for item in sorted(replaced) if ledger.known(item)]


def _files(items: ItemChanges, source: Path) -> dict[int, FileState]:
    """Look at the files of all items that have one: those of a folder, or below the folder of a table."""
    folder = source if source.is_dir() else source.parent
    endings = (*SUFFIXES, ".txt")
    found = {}
    for item, name in enumerate(items.names):
        if "." in name and item not in items.missing and name.lower().endswith(endings):
            with suppress(OSError, ValueError):  # gone since it was listed: the next start will tell
                stat = Path(folder, name).stat()
                found[item] = FileState(stat.st_size, stat.st_mtime_ns)
    return found


def _in_order(names: set[str]) -> list[str]:
    """Sort numbers by value, else text by the alphabet."""
    if all(name.isdecimal() for name in names):
        return sorted(names, key=lambda name: (int(name), name))
    return sorted(names)
