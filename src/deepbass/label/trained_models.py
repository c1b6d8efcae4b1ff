"""The trained models of a project, read while the trainer writes: without torch, without its lock, without waiting."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deepbass.core.error_law import Estimate, scored
from deepbass.core.errors import StoreError
from deepbass.label.class_list import ClassList
from deepbass.label.journal import Journal
from deepbass.label.project import Project
from deepbass.label.ranking import Ranking
from deepbass.store.checkpoints import Checkpoint
from deepbass.store.event_rows import StepRow
from deepbass.store.names import RANKING_FILE, RUN_DB_FILE
from deepbass.store.run_database import RUN_DB
from deepbass.store.rundir import RunDir
from deepbass.store.sqlite import connect, explained

_TRIES = 5  # at a checkpoint that is removed, or swapped for the same iteration done again, while it is read
_PAUSE_SECONDS = 0.02


@dataclass(frozen=True)
class _Mark:
    """The newest rows of a run: as long as they are the same, nothing has been committed or abandoned."""

    step: int
    rewind: int


@dataclass(frozen=True, eq=False)
class Model:
    """A committed model, and the ranking that belongs to its weights."""

    path: Path  # of its run directory
    iteration: int
    class_ids: tuple[int, ...]  # one per output of the network
    classes: tuple[str, ...]  # their names: when it was begun, or as of `resolved`
    ranking: Ranking
    metrics: dict[str, float | int | None]
    created_at: str
    about: dict[str, Any]  # the content of run.json
    steps: tuple[StepRow, ...]  # committed in its run, oldest first
    earlier: tuple[StepRow, ...]  # committed in the runs before it
    mark: _Mark

    @property
    def name(self) -> str:
        """The model's name, as in "0001"."""
        return self.path.name

    def resolved(self, classes: ClassList) -> Model:
        """Tell what it thinks in terms of the classes that there are now, by their names of now."""
        pairs = zip(self.class_ids, self.classes, strict=True)
        names = tuple(classes.name(class_) if class_ < classes.ever else name for class_, name in pairs)
        return replace(self, classes=names, ranking=self.ranking.resolved(classes))

    def history(self) -> list[StepRow]:
        """List all steps that were ever committed and stand, of earlier models as well."""
        return [*self.earlier, *self.steps]

    def estimates(self) -> list[Estimate]:
        """List the error as estimated at every step that had audit answers, for `good_enough`."""
        return [estimate for step in self.history() if (estimate := audited(step)) is not None]


def class_ids(about: Mapping[str, Any]) -> tuple[int, ...]:
    """Read from run.json which class each output of the network stands for; in older ones they are in order."""
    data = about["data"]
    return tuple(data.get("class_ids", range(len(data["classes"]))))


def audited(step: StepRow) -> Estimate | None:
    """Read the estimate that a trainer wrote down with a step; None before the first audit answer."""
    n, errors = step.metrics.get("audit"), step.metrics.get("audit_errors")
    return scored(int(errors), int(n)) if n and errors is not None else None


def newest_model(project: Project, before: Model | None = None) -> Model | None:
    """Find the newest model that has a committed step; None when there is none yet.

    ``before`` is what the last call returned: it comes back itself, at the cost of a glance at the database, if
    nothing was committed since.
    """
    found = _newest(project.models, before, only=(RANKING_FILE,))  # weights are large, and nobody here wants them
    return found[0] if found else None


def newest_checkpoint(project: Project) -> tuple[Model, Checkpoint]:
    """Read the newest model with all files of its checkpoint, by the classes of now; or say that there is none."""
    found = _newest(project.models, None)
    if found is None or found[1] is None:
        raise StoreError(
            f"{project.path} has no trained model yet: training starts when every class has a few labels. "
            f"Give some with `deepbass label`."
        )
    with closing(Journal.open(project.labels_db, "ro")) as journal:
        return found[0].resolved(journal.class_list()), found[1]


def _newest(
    models: Path, before: Model | None, only: Collection[str] | None = None
) -> tuple[Model, Checkpoint | None] | None:
    """Find the newest model; without its checkpoint if it is the one before. ``only``: files of it to read."""
    paths = _begun(models)
    for place, path in enumerate(paths):
        same = before if before is not None and before.path == path else None
        try:
            found = _look(path, paths[place + 1 :], same, only)
        except StoreError:  # being made, removed, or damaged: the trainer sees to it
            found = None if same is None else (same, None)
        if found is not None:
            return found
    return None


def _look(
    path: Path, earlier: Sequence[Path], before: Model | None, only: Collection[str] | None
) -> tuple[Model, Checkpoint | None] | None:
    for tries_left in reversed(range(_TRIES)):
        mark, steps = _committed(path, before)
        if before is not None and mark == before.mark:
            return before, None
        if not steps:
            return None
        try:
            with RunDir.open(path, lock=False) as run:
                checkpoint, _ = run.checkpoints.newest({step.iteration for step in steps}, only)
                about = run.about
            break
        except StoreError:
            if not tries_left:
                raise
            time.sleep(_PAUSE_SECONDS)
    if RANKING_FILE not in checkpoint.files:
        return None
    step = next(step for step in steps if step.iteration == checkpoint.iteration)
    model = Model(
        path,
        checkpoint.iteration,
        class_ids(about),
        tuple(about["data"]["classes"]),
        Ranking.unpack(checkpoint.files[RANKING_FILE]),
        step.metrics,
        step.at,
        about,
        tuple(steps),
        before.earlier if before is not None else _all_committed(earlier),
        mark,
    )
    return model, checkpoint


def _begun(models: Path) -> list[Path]:
    """List the run directories, newest first."""
    try:
        paths = [path for path in models.iterdir() if re.fullmatch(r"\d{4,}", path.name)]
    except FileNotFoundError:
        return []
    return sorted(paths, key=lambda path: int(path.name), reverse=True)


def _committed(path: Path, before: Model | None) -> tuple[_Mark, list[StepRow]]:
    """Read the committed steps; of a run that was read before, only what is new."""
    file = path / RUN_DB_FILE
    with closing(connect(file, "ro", RUN_DB, checked=False)) as db, explained(file, "read", RUN_DB):
        db.execute("BEGIN")  # all from one moment
        newest = "SELECT (SELECT ifnull(max(id), 0) FROM steps), (SELECT ifnull(max(id), 0) FROM rewinds)"
        mark = _Mark(*db.execute(newest).fetchone())
        if before is None or mark.rewind != before.mark.rewind:
            return mark, _steps(db, 0)
        return mark, [*before.steps, *(_steps(db, before.mark.step) if mark != before.mark else ())]


def _steps(db: sqlite3.Connection, since: int) -> list[StepRow]:
    rows = db.execute(
        "SELECT iteration, metrics, seconds, at FROM live_steps WHERE id > ? ORDER BY iteration", (since,)
    ).fetchall()
    return [StepRow.of(*row) for row in rows]


def _all_committed(paths: Sequence[Path]) -> tuple[StepRow, ...]:
    steps: list[StepRow] = []
    for path in reversed(paths):
        try:
            steps += _committed(path, None)[1]
        except StoreError:  # its numbers are lost; no reason to do without the newest model
            continue
    return tuple(steps)
