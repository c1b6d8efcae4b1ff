"""A labelling project is a directory: ``project.json``, ``labels.db``, ``models/``. Copying the directory moves it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from filelock import BaseFileLock
from numpy.typing import NDArray

from deepbass import __version__
from deepbass.core.errors import ConfigError, DataError, StoreError
from deepbass.data.catalogue import NAMED
from deepbass.label.acts import NewAct
from deepbass.label.draws import draw
from deepbass.label.journal import ItemChanges, Journal
from deepbass.label.ledger import Ledger
from deepbass.label.names import clean_name
from deepbass.label.project_file import FORMAT, make_folder, read_about, write_about
from deepbass.label.settings import Settings
from deepbass.store.files import now, sync_folder
from deepbass.store.lock import take_lock

if TYPE_CHECKING:
    from deepbass.label.items import Items

__all__ = ["Listed", "Need", "Project", "Settings", "TakenUp"]

DB_FILE = "labels.db"
MODELS_FOLDER = "models"
LOCK_FILE = "labels.lock"
_ONE_WRITER = (
    "Labels are written by one process at a time: use the page that is open, or stop it first; exporting needs no lock."
)
SOURCE = "source"  # the annotator of labels that the source brings

_LATER_SHARE = 0.2  # of items that come later: a project begun with a few images may grow a hundredfold


class Listed(Protocol):
    """What a project needs of `Items`."""

    @property
    def names(self) -> Sequence[str]:
        """One a sample."""

    @property
    def labels(self) -> Mapping[int, str]:
        """What the source says, by place in ``names``."""


@dataclass(frozen=True)
class TakenUp:
    """What a project learned from its source."""

    items: ItemChanges
    labels: int  # that the source brings and that were new
    left_out: list[str]  # labels of the source that are none of the classes people chose


@dataclass(frozen=True)
class Need:
    """A class that has too few labels to begin training with."""

    class_: int
    have: int
    need: int


@dataclass(frozen=True)
class Project:
    """A project that was made or found. It holds nothing open; `lock` is for whoever writes labels."""

    path: Path
    settings: Settings
    about: dict[str, Any]  # the content of project.json

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        source: str,
        classes: Sequence[str] = (),
        settings: Settings | None = None,
        *,
        items: Listed | None = None,
        folder: Path | None = None,
    ) -> Self:
        """Make a new project, with the items and labels of its source.

        Without ``classes`` they are those that the source's labels name. ``items`` saves opening the source again;
        ``folder`` is where the user keeps files of data sets known by name.
        """
        path, settings = Path(path).absolute(), settings or Settings()
        source = _absolute(source)
        if items is None:
            items = _open_items(source, folder)
        classes = list(dict.fromkeys(clean_name(name, "a class") for name in classes))
        about = {
            "format": FORMAT,
            "deepbass": __version__,
            "created_at": now(),
            "source": source,
            "classes_from": "command" if classes else SOURCE,
            "reserve_items": len(items.names),
            "reserve_share": _reserve_share(settings, len(items.names)),
            "settings": settings.as_dict(),
        }
        project = cls(path, settings, about)
        make_folder(path)
        with project.lock():
            with Journal.create(project.labels_db, items.names, classes, by="command") as journal:
                project.take_up(journal, items)
            try:
                project.models.mkdir()
                write_about(path, about)  # last: a directory without it is known to be half made
                sync_folder(path.parent)
            except OSError as error:
                raise StoreError(
                    f"Cannot make the project {path}: {error}. Delete it and choose another --project."
                ) from error
        return project

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Find a project. This reads one small file; the source need not be there."""
        path = Path(path).absolute()
        about, settings = read_about(path)
        return cls(path, settings, about)

    def change(self, *, source: str | None = None, settings: Settings | None = None) -> Self:
        """Write down that the source has moved, or that people chose otherwise."""
        settings = settings or self.settings
        if settings.seed != self.settings.seed:
            raise ConfigError(
                f"seed = {settings.seed} cannot be set: {self.path} was made with seed = {self.settings.seed}, which "
                "decides for ever which samples the error is measured with. Leave it out, or start a new project."
            )
        source = self.source if source is None else _absolute(source)
        about = {**self.about, "source": source, "settings": settings.as_dict()}
        if about != self.about:
            write_about(self.path, about)
        return type(self)(self.path, settings, about)

    @property
    def source(self) -> str:
        """Where the samples are: a whole path, or the name of a data set."""
        return str(self.about["source"])

    @property
    def labels_db(self) -> Path:
        """The file of the journal."""
        return self.path / DB_FILE

    @property
    def models(self) -> Path:
        """The folder of what the trainer makes: a run directory a list of classes."""
        return self.path / MODELS_FOLDER

    def lock(self) -> BaseFileLock:
        """Become the one who writes labels, or say who is. The lock is held already; ``with`` or release() frees it."""
        return take_lock(self.path, LOCK_FILE, _ONE_WRITER)

    # the source

    def open_items(self, folder: Path | None = None) -> Items:
        """Open the source, or say what to do where it is gone."""
        try:
            return _open_items(self.source, folder)
        except DataError as error:
            if self.source in NAMED or Path(self.source).exists():
                raise
            raise DataError(
                f"The images of {self.path} are gone: there is no {self.source}. Put them back, or say where they are "
                "now with --source. All labels are safe."
            ) from error

    def take_up(self, journal: Journal, items: Listed) -> TakenUp:
        """Bring the journal up to what the source has now: items, their labels, and the classes these name."""
        known = {row.name for row in journal.items()}
        if known and known.isdisjoint(items.names):
            raise DataError(
                f"None of the {len(known)} items of {self.path} is in {self.source}: that is another source. "
                "Give the right one with --source, or start a new project for this one."
            )
        changes = journal.update_items(items.names)
        written = {act.item for act in journal.acts() if act.why == "source"}
        ids = {row.name: row.id for row in journal.items()}
        clean = {text: clean_name(text, "a class") for text in set(items.labels.values())}
        said = {ids[items.names[place]]: clean[text] for place, text in items.labels.items()}
        if self.about["classes_from"] == SOURCE:
            for name in _in_order(set(said.values()) - set(journal.classes())):
                journal.add_class(name, by=SOURCE)
        numbers = {name: number for number, name in enumerate(journal.classes())}
        new = [
            NewAct(f"source-{item}", item, "label", SOURCE, "source", numbers[name])
            for item, name in sorted(said.items())
            if name in numbers and item not in written
        ]
        journal.write(new)
        return TakenUp(changes, len(new), _in_order(set(said.values()) - set(numbers)))

    # the audit sample

    def audit_order(self, count: int | None = None) -> NDArray[np.int64]:
        """Order all item ids for the audit, the reserve first; ``count`` saves asking the journal how many there are.

        Every item has a number drawn by seed and id, and they are in the order of these: what comes later falls in
        between, but changes neither the order of the others nor which of them are in the reserve.
        """
        numbers, reserved = self._draw(count)
        return np.lexsort((numbers, ~reserved)).astype(np.int64)

    def audit_reserve(self, count: int | None = None) -> NDArray[np.int64]:
        """List the ids that are kept for the audit: never asked for another reason, never trained on; in audit order.

        Of n items at the creation they are max(min(2000, n // 5), min(50, n // 2)), and of those that come later about
        the same share, a fifth at most. A project made without an audit has none.
        """
        numbers, reserved = self._draw(count)
        ids = np.flatnonzero(reserved)
        return ids[np.argsort(numbers[ids], kind="stable")].astype(np.int64)

    def _draw(self, count: int | None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        if count is None:
            with closing(Journal.open(self.labels_db, "ro")) as journal:
                count = journal.item_count()
        numbers = draw(self.settings.seed, "audit", count)
        share = float(self.about["reserve_share"])
        first = np.arange(count) < self.about["reserve_items"]
        return numbers, numbers < np.where(first, share, min(share, _LATER_SHARE))

    # what was said

    def ledger(self, journal: Journal) -> Ledger:
        """Fold all that was said so far."""
        return Ledger.of(journal.acts(), self.audit_reserve(journal.item_count()).tolist())

    def ready(self, ledger: Ledger, classes: int | None = None) -> bool:
        """Tell whether training can start: two classes or more, each with enough labels to train on."""
        if classes is None:
            classes = self._count_classes()
        return classes >= 2 and not self.needs(ledger, classes)

    def needs(self, ledger: Ledger, classes: int | None = None) -> list[Need]:
        """List the classes that have too few labels to train on; ``classes`` saves asking the journal how many."""
        if classes is None:
            classes = self._count_classes()
        have, need = ledger.training_by_class, self.settings.start_with
        return [Need(class_, have.get(class_, 0), need) for class_ in range(classes) if have.get(class_, 0) < need]

    def _count_classes(self) -> int:
        with closing(Journal.open(self.labels_db, "ro")) as journal:
            return len(journal.classes())


def _open_items(source: str, folder: Path | None) -> Items:
    from deepbass.label.items import open_items

    return open_items(source, folder)


def _absolute(source: str) -> str:
    """Make a path that holds wherever a command is started from; a name stays a name."""
    return source if source in NAMED else str(Path(source).expanduser().absolute())


def _reserve_share(settings: Settings, count: int) -> float:
    """Find the share below which the numbers of as many items lie as the reserve is to have."""
    if settings.audit == 0:
        return 0.0
    wanted = max(min(2000, count // 5), min(50, count // 2))
    if wanted == 0:
        return _LATER_SHARE
    numbers = np.sort(draw(settings.seed, "audit", count))
    return float(numbers[wanted - 1] + numbers[wanted]) / 2  # half of the items at most, so that there is one behind


def _in_order(names: set[str]) -> list[str]:
    """Sort numbers by value, else text by the alphabet."""
    if all(name.isdecimal() for name in names):
        return sorted(names, key=lambda name: (int(name), name))
    return sorted(names)
