"""Labelling projects for tests, with what people said and models that were never trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from PIL import Image

from deepbass.core.config import Config
from deepbass.core.labels import NO_ANSWERS, NO_IDS
from deepbass.label.acts import Act, NewAct
from deepbass.label.journal import Journal
from deepbass.label.ledger import Ledger
from deepbass.label.project import Project, Settings
from deepbass.label.ranking import Ranking
from deepbass.store.names import LEARNER_FILE, RANKING_FILE
from deepbass.store.rundir import RunDir

CLASSES = ("cat", "dog")


def make_images(folder: Path, names: Sequence[str], side: int = 8) -> Path:
    """Save a grey image under every name, each of one shade of its own."""
    for shade, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (side, side), (7 * shade + 3) % 256).save(folder / name, "PNG")
    return folder


def make_project(path: Path, source: Path | str, classes: Sequence[str] = CLASSES, **settings: Any) -> Project:
    """Make a project; without any audit unless it is asked for."""
    return Project.create(path, str(source), classes, Settings(**{"audit": 0.0, **settings}))


def act(project: Project, *acts: NewAct) -> list[Act]:
    """Write acts down."""
    with Journal.open(project.labels_db) as journal:
        written = journal.write(acts)
    assert all(isinstance(one, Act) for one in written), written
    return [one for one in written if isinstance(one, Act)]


def say(item: int, class_: int, who: str = "ann", **more: Any) -> NewAct:
    """Spell a label."""
    return NewAct(**{"uid": f"{who}-{item}-{class_}", "why": "rank", **more, "kind": "label", "item": item,
                     "annotator": who, "class_": class_})  # fmt: skip


def other(kind: Any, item: int, who: str = "ann", **more: Any) -> NewAct:
    """Spell a skip, a flag, and so on."""
    return NewAct(f"{kind}-{who}-{item}", item, kind, who, "rank", **more)


def labels(project: Project) -> dict[str, str]:
    """Read what holds: the class's name by the item's."""
    with Journal.open(project.labels_db, "ro") as journal:
        classes = journal.class_list()
        ledger = Ledger.of(journal.acts(), (), classes)
        found = {row.name: ledger.label(row.id) for row in journal.items()}
    return {name: classes.name(class_) for name, class_ in found.items() if class_ is not None}


def make_ranking(guess: Sequence[int], known: int = 6, **arrays: Any) -> Ranking:
    """Rank items whose guesses are given; the first is the least sure."""
    count = len(guess)
    entropy = np.linspace(0.9, 0.1, count, dtype=np.float32)
    made: dict[str, Any] = {
        "guess": np.array(guess, dtype=np.int16),
        "confidence": 1 - entropy / 2,
        "second": np.where(np.array(guess) >= 0, (np.array(guess) + 1) % 2, -1).astype(np.int16),
        "second_confidence": entropy / 2,
        "entropy": entropy,
        "score": entropy,
        "member": np.array(guess) >= 0,
        "predicted": np.array(guess, dtype=np.int16),
        "snapshots": np.empty((0, count), dtype=np.int16),
        "snapshot_labels": np.empty(0, dtype=np.int32),
        "known": known,
    }
    return Ranking(**{**made, **arrays})


def begin_model(project: Project, classes: Sequence[str] = CLASSES, name: str = "0001", **about: Any) -> RunDir:
    """Make a run directory as the trainer does."""
    data = {"name": "x", "source": project.source, "samples": 10, "shape": [1, 8, 8], "classes": list(classes), **about}
    config = Config.of({"seed": 3}).as_dict()
    return RunDir.create(project.models / name, config=config, data=data, versions={}, keep=4)


def commit(
    run: RunDir,
    iteration: int,
    ranking: Ranking,
    weights: Mapping[str, np.ndarray[Any, Any]] | None = None,
    **metrics: float,
) -> None:
    """Write a checkpoint, then the commit that makes it count."""
    tensors = {f"model.{name}": array for name, array in (weights or {"w": np.zeros(2, np.float32)}).items()}
    tensors["adam.0.step"] = np.zeros((), np.float32)
    files = {RANKING_FILE: ranking.pack(), LEARNER_FILE: safetensors.numpy.save(tensors)}
    run.checkpoints.save(iteration, files, {})
    numbers = {"known": ranking.known, "audit": 0, "audit_errors": 0, **metrics}
    run.events.commit_step(iteration, numbers, {}, NO_IDS, NO_ANSWERS, "journal")


def shade_of(path: Path) -> int:
    """Tell the grey of an image that has one."""
    with Image.open(path) as image:
        return int(np.asarray(image)[0, 0])
