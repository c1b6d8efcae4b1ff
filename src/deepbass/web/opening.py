"""Find the project that is meant by what was typed, or make it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from deepbass.core.errors import ConfigError, DataError
from deepbass.data.catalogue import NAMED
from deepbass.label.items import Items, open_items
from deepbass.label.journal import Journal
from deepbass.label.project import Project
from deepbass.label.project_file import ABOUT_FILE
from deepbass.label.settings import Settings

FOLDER = "labels"  # below the current one, for projects that were given no place of their own


def open_project(
    source: str,
    path: Path | None = None,
    classes: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    *,
    moved: str | None = None,
    data: Path | None = None,
) -> tuple[Project, Items]:
    """Go on with a project, or begin one. ``source`` may be the project's own folder.

    ``settings`` are those that were given, by name. ``moved`` is where the samples of a project are now; ``data`` where
    files of named data sets lie.
    """
    chosen = dict(settings or {})
    if source not in NAMED and is_project(Path(source).expanduser()):
        if path is not None:
            raise ConfigError(f"{source} is a project itself: leave --project {path} out.")
        return _go_on(Path(source).expanduser(), None, classes, chosen, moved, data)
    path = path or default_path(source)
    if is_project(path):
        return _go_on(path, source, classes, chosen, moved, data)
    if moved is not None:
        raise ConfigError(f"--source is for projects that there are, and {path} is none: give its folder instead.")
    items = open_items(source, data)
    return Project.create(path, source, classes, Settings.of(chosen), items=items, folder=data), items


def is_project(path: Path) -> bool:
    """Tell whether a folder is a project."""
    return (path / ABOUT_FILE).is_file()


def default_path(source: str) -> Path:
    """Name the place of a project after its source."""
    if source in NAMED:
        return Path(FOLDER, source)
    path = Path(source).expanduser().absolute()
    name = path.stem if path.is_file() else path.name
    return Path(FOLDER, name or "images")  # a whole disk has no name


def _go_on(
    path: Path, source: str | None, classes: Sequence[str], chosen: dict[str, Any], moved: str | None, data: Path | None
) -> tuple[Project, Items]:
    project = Project.open(path)
    if source is not None and not _same(source, project.source):
        raise ConfigError(
            f"{path} has the labels of {project.source}, not of {source}: give another --project. If the images have "
            f"moved, say so: deepbass label {shlex.quote(str(path))} --source {shlex.quote(source)}"
        )
    if moved is None:
        items = project.open_items(data)
    else:
        items = open_items(moved, data)
        with closing(Journal.open(project.labels_db, "ro")) as journal:
            known = {row.name for row in journal.items()}
        if known.isdisjoint(items.names):
            raise DataError(f"None of the {len(known)} images of {path} is in {moved}: give the right --source.")
        project = project.change(source=moved)
    if chosen:
        config = {**project.settings.config, **chosen.pop("config", {})}
        project = project.change(settings=replace(project.settings, config=config, **chosen))
    if classes:
        with project.lock(), closing(Journal.open(project.labels_db)) as journal:
            for name in classes:
                journal.add_class(name, "command")
    return project, items


def _same(source: str, known: str) -> bool:
    if source in NAMED or known in NAMED:
        return source == known
    return Path(source).expanduser().resolve() == Path(known).resolve()
