"""A labelling project is a directory: ``project.json``, ``labels.db``, ``models/``. Copying the directory moves it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np
from numpy.typing import NDArray

from deepbass import __version__
from deepbass.core.errors import ConfigError, DataError, StoreError
from deepbass.core.raw_samples import Kind as ItemKind
from deepbass.data.catalogue import NAMED
from deepbass.files import replace_file, sync_folder
from deepbass.label import audit
from deepbass.label.clean_names import clean_name
from deepbass.label.journal import Journal
from deepbass.label.ledger import Ledger
from deepbass.label.settings import Columns, Settings, drawn_seed
from deepbass.label.take_up import SOURCE, SourceItems, TakenUp, take_up
from deepbass.store.folder import Kind
from deepbass.store.lock import HeldLock, take_lock
from deepbass.store.names import MODELS_FOLDER, PROJECT_DB_FILE, PROJECT_FILE, PROJECT_LOCK_FILE
from deepbass.store.write_errors import advice_for, now

if TYPE_CHECKING:
    from deepbass.label.items import Items

__all__ = ["SOURCE", "MissingLabels", "Project", "Settings", "SourceItems", "TakenUp"]

KINDS: tuple[ItemKind, ...] = get_args(ItemKind)
FORMAT = 1  # of the directory; another number means another layout
_ONE_WRITER = (
    "Labels are written by one process at a time: use the page that is open, or stop it first; exporting needs no lock."
)

_PROJECT = Kind(
    noun="project",
    about=PROJECT_FILE,
    format=FORMAT,
    fields={
        "deepbass": str, "created_at": str, "source": str, "classes_from": str, "reserve_items": int,
        "reserve_share": (int, float), "settings": dict,
    },
    option="--project",
    go_on="open it",
    mended="Correct it, or restore it from a copy",
)  # fmt: skip


@dataclass(frozen=True)
class MissingLabels:
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
        items: SourceItems | None = None,
        folder: Path | None = None,
    ) -> Self:
        """Make a new project, with the items and labels of its source.

        Without ``classes`` they are those that the source's labels name. ``items`` saves opening the source again;
        ``folder`` is where the user keeps files of data sets known by name.
        """
        path, settings = Path(path).absolute(), settings or Settings(seed=drawn_seed())
        source = _absolute(source)
        if items is None:
            items = _open_items(source, folder, settings.columns)
        classes = list(dict.fromkeys(clean_name(name, "a class") for name in classes))
        about = {
            "format": FORMAT,
            "deepbass": __version__,
            "created_at": now(),
            "source": source,
            "kind": items.kind,
            "classes_from": "command" if classes else SOURCE,
            "reserve_items": len(items.names),
            "reserve_share": audit.reserve_share(settings, len(items.names)),
            "settings": settings.as_dict(),
        }
        project = cls(path, settings, about)
        _PROJECT.make(path, mode=0o700)  # it may hold hashes of passwords
        with project.lock():
            with Journal.create(project.labels_db, items.names, classes, by="command") as journal:
                project.take_up(journal, items)
            try:
                project.models.mkdir()
                _write_about(path, about)  # last: a directory without it is known to be half made
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
        about, settings = _read_about(path)
        return cls(path, settings, about)

    def change(
        self, *, source: str | None = None, settings: Settings | None = None, held: HeldLock | None = None
    ) -> Self:
        """Write down that the source has moved, or that people chose otherwise.

        It takes the project's lock, unless that is ``held`` already: nobody's source changes while they work with it.
        """
        settings = settings or self.settings
        if settings.seed != self.settings.seed:
            raise ConfigError(
                f"seed = {settings.seed} cannot be set: {self.path} was made with seed = {self.settings.seed}, which "
                "decides for ever which samples the error is measured with. Leave it out, or start a new project."
            )
        source = self.source if source is None else _absolute(source)
        about = {**self.about, "source": source, "settings": settings.as_dict()}
        if about != self.about:
            with nullcontext() if held is not None else self.lock():
                _write_about(self.path, about)
        return type(self)(self.path, settings, about)

    def choose_target(self, target: float | None, by: str) -> Self:
        """Write down another target, and who chose it; when this returns, it is on the disk.

        Whoever calls it holds the project's lock.
        """
        settings = replace(self.settings, target_error=target)
        chosen = {"by": by, "at": now()}
        about = {**self.about, "settings": settings.as_dict(), "target_chosen": chosen}
        _write_about(self.path, about)
        return type(self)(self.path, settings, about)

    @property
    def source(self) -> str:
        """Where the samples are: a whole path, or the name of a data set."""
        return str(self.about["source"])

    @property
    def kind(self) -> ItemKind:
        """What its items are; those of earlier versions are images."""
        kind = self.about.get("kind", "image")
        return next((known for known in KINDS if known == kind), "image")

    @property
    def labels_db(self) -> Path:
        """The file of the journal."""
        return self.path / PROJECT_DB_FILE

    @property
    def models(self) -> Path:
        """The folder of what the trainer makes: a run directory per list of classes."""
        return self.path / MODELS_FOLDER

    def lock(self) -> HeldLock:
        """Become the one who writes labels, or say who is. The lock is held already; ``with`` or release() frees it."""
        return take_lock(self.path, PROJECT_LOCK_FILE, _ONE_WRITER)

    # the source

    def open_items(self, folder: Path | None = None) -> Items:
        """Open the source, or say what to do where it is gone."""
        try:
            return _open_items(self.source, folder, self.settings.columns)
        except DataError as error:
            if self.source in NAMED or Path(self.source).exists():
                raise
            raise DataError(
                f"The {self.kind}s of {self.path} are gone: there is no {self.source}. Put them back, or say where "
                "they are now with --source. All labels are safe."
            ) from error

    def take_up(self, journal: Journal, items: SourceItems) -> TakenUp:
        """Bring the journal up to what the source has now: items, their labels, the classes these name, and files."""
        add_classes = self.about["classes_from"] == SOURCE
        return take_up(journal, items, self.path, self.source, add_classes=add_classes)

    # what was said

    def audit_reserve(self, count: int | None = None) -> NDArray[np.int64]:
        """List the ids that are kept for the audit, in its order; ``count`` saves asking the journal for all items."""
        if count is None:
            with closing(Journal.open(self.labels_db, "ro")) as journal:
                count = journal.item_count()
        share, first = float(self.about["reserve_share"]), int(self.about["reserve_items"])
        return audit.reserve(self.settings.seed, share, first, count)

    def ledger(self, journal: Journal) -> Ledger:
        """Fold all that was said so far."""
        acts = journal.acts()  # before the classes: those that acts name are there when they are
        return Ledger.of(acts, self.audit_reserve(journal.item_count()).tolist(), journal.class_list())

    def ready(self, ledger: Ledger) -> bool:
        """Tell whether training can start: two classes or more, each with enough labels to train on."""
        return ledger.classes is not None and len(ledger.classes) >= 2 and not self.needs(ledger)

    def needs(self, ledger: Ledger) -> list[MissingLabels]:
        """List the classes that have too few labels to train on."""
        have, need = ledger.training_by_class, self.settings.start_with
        classes = ledger.classes.ids if ledger.classes is not None else ()
        return [MissingLabels(class_, have.get(class_, 0), need) for class_ in classes if have.get(class_, 0) < need]


def _write_about(path: Path, about: dict[str, Any]) -> None:
    """Write ``project.json``, whole or not at all."""
    text = json.dumps(about, indent=2, allow_nan=False)
    try:
        replace_file(path / PROJECT_FILE, text.encode())
    except OSError as error:
        raise StoreError(f"Cannot write {path / PROJECT_FILE}: {error}; {advice_for(error)}.") from error


def _read_about(path: Path) -> tuple[dict[str, Any], Settings]:
    """Read ``project.json``, with its settings as such."""
    about = _PROJECT.read(path)
    try:
        return about, Settings.of(about["settings"])
    except ConfigError as error:
        raise _PROJECT.changed(path, error) from error


def _open_items(source: str, folder: Path | None, columns: Columns) -> Items:
    from deepbass.label.items import open_items

    return open_items(source, folder, columns)


def _absolute(source: str) -> str:
    """Make a path that holds wherever a command is started from; a name stays a name."""
    return source if source in NAMED else str(Path(source).expanduser().absolute())
