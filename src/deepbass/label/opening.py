"""Find the project that is meant by what was typed, or make it; whoever opens it is the one who may change it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deepbass.core.errors import ConfigError, DataError
from deepbass.core.own_model import check_named
from deepbass.data.catalogue import NAMED
from deepbass.label.clean_names import clean_name
from deepbass.label.items import Items, open_items
from deepbass.label.journal import Journal
from deepbass.label.project import Project
from deepbass.label.settings import Settings, drawn_seed
from deepbass.store.lock import HeldLock
from deepbass.store.names import PROJECT_FILE

FOLDER = "labels"  # below the current one, for projects that were given no place of their own


@dataclass(frozen=True)
class OpenProject:
    """A project that nobody else changes while it is open: the lock is held, and may be handed on."""

    project: Project
    items: Items
    lock: HeldLock


@contextmanager
def open_project(
    source: str,
    path: Path | None = None,
    classes: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    *,
    moved: str | None = None,
    data: Path | None = None,
) -> Iterator[OpenProject]:
    """Go on with a project, or begin one. ``source`` may be the project's own folder.

    ``settings`` are those that were given, by name. ``moved`` is where the samples of a project are now; ``data`` where
    files of named data sets lie. A project that is in use is refused, and is as it was.
    """
    chosen = dict(settings or {})
    expected: str | None = source
    if source not in NAMED and is_project(Path(source).expanduser()):
        if path is not None:
            raise ConfigError(f"{source} is a project itself: leave --project {path} out.")
        path, expected = Path(source).expanduser(), None
    path = path or default_path(source)
    if is_project(path):
        with Project.open(path).lock() as lock:
            # read again: whoever had the lock until now may have changed it
            project, items = _go_on(Project.open(path), lock, expected, classes, chosen, moved, data)
            yield OpenProject(project, items, lock)
        return
    if moved is not None:
        raise ConfigError(f"--source is for projects that there are, and {path} is none: give its folder instead.")
    begun = Settings.of({"seed": drawn_seed(), **chosen})
    items = open_items(source, data, begun.columns)
    _check_meant(source, items, begun)
    project = Project.create(path, source, classes, begun, items=items, folder=data)
    with project.lock() as lock:
        yield OpenProject(project, items, lock)


def is_project(path: Path) -> bool:
    """Tell whether a folder is a project."""
    return (path / PROJECT_FILE).is_file()


def default_path(source: str) -> Path:
    """Name the place of a project after its source."""
    if source in NAMED:
        return Path(FOLDER, source)
    path = Path(source).expanduser().absolute()
    name = path.stem if path.is_file() else path.name
    return Path(FOLDER, name or "images")  # a whole disk has no name


def _go_on(
    project: Project,
    lock: HeldLock,
    source: str | None,
    classes: Sequence[str],
    chosen: dict[str, Any],
    moved: str | None,
    data: Path | None,
) -> tuple[Project, Items]:
    """Check all that was typed, then change the project by it."""
    path = project.path
    for code, what in (("model", "a model"), ("features", "features")):
        used = project.settings.config.get(code)
        again = f"deepbass label {shlex.quote(str(path))} --{code} {shlex.quote(str(used))}"
        check_named(used, chosen.get("config", {}).get(code), path, again, what=what)
    if source is not None and not _same(source, project.source):
        raise ConfigError(
            f"{path} has the labels of {project.source}, not of {source}: give another --project. If the "
            f"{project.kind}s moved, say so: deepbass label {shlex.quote(str(path))} --source {shlex.quote(source)}"
        )
    names = [clean_name(name, "a class") for name in classes]
    config = {**project.settings.config, **chosen.pop("config", {})}
    settings = replace(project.settings, config=config, **chosen)
    _check_columns(project, settings)
    items = open_items(moved, data, settings.columns) if moved is not None else _reopen(project, settings, data)
    with closing(Journal.open(project.labels_db)) as journal:
        known = set(journal.item_names()) if moved is not None else set()
        if known and known.isdisjoint(items.names):
            raise DataError(
                f"None of the {len(known)} {project.kind}s of {path} is in {moved}: give the right --source."
            )
        project = project.change(source=moved, settings=settings, held=lock)
        with journal.transaction():
            for name in names:
                journal.add_class(name, "command")
    return project, items


def _check_meant(source: str, items: Items, settings: Settings) -> None:
    """Refuse to begin with the rows of a table that nobody said should be labelled: its texts may be meant."""
    if items.kind == "row" and settings.columns.target is None and not settings.show:
        columns = ", ".join(name for name, _ in items.read(items.names[0]).columns[:20])
        raise ConfigError(
            f"{source} is a table with the columns {columns}. Say which holds the texts to label (--text COLUMN); "
            "or, to label its rows, which holds labels (--target COLUMN), or which to see (--show COLUMN,COLUMN)."
        )


def _reopen(project: Project, settings: Settings, data: Path | None) -> Items:
    """Open the source with the columns that are chosen now."""
    return replace(project, settings=settings).open_items(data)


def _check_columns(project: Project, settings: Settings) -> None:
    """Refuse other columns: what was said of one text is not true of another, nor of a row by another name."""
    for name in ("text", "target", "id"):
        before, now = getattr(project.settings.columns, name), getattr(settings.columns, name)
        if before != now:
            raise ConfigError(
                f"{name} = {now!r} cannot be set: {project.path} was made with {name} = {before!r}. Leave it out, or "
                "start a new project with --project."
            )


def _same(source: str, known: str) -> bool:
    if source in NAMED or known in NAMED:
        return source == known
    return Path(source).expanduser().resolve() == Path(known).resolve()
