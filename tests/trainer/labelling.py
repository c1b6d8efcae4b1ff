"""A small labelling project with people who are simulated, and the trainer at work on it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from PIL import Image

from deepbass.label.acts import Act, Kind, NewAct, Why
from deepbass.label.journal import Journal
from deepbass.label.project import Project, Settings
from deepbass.label.ranking import Ranking
from deepbass.store.checkpoints import Checkpoint
from deepbass.store.names import LABELS_FILE, RANKING_FILE
from deepbass.store.rundir import RunDir
from deepbass.trainer.status_writer import StatusWriter
from deepbass.trainer.trainer import Trainer

CLASSES = ("left", "right", "top")  # where the light is
BROKEN = ("000.png", "007.png", "100.png")

# quick on one core: the paper's network, and the one with a teacher that small pictures have unless one says otherwise
QUICK: dict[str, Any] = {"model": "cnn", "initial_epochs": 8, "passes_pool": 4, "passes_known": 4, "device": "cpu"}
TAUGHT: dict[str, Any] = {"initial_epochs": 8, "shown": 100, "guesses": 60, "device": "cpu"}


def picture_folder(folder: Path, count: int = 150, broken: tuple[str, ...] = ()) -> Path:
    """Save images of 16 x 16 pixels, easily told apart, whose names say nothing; some cannot be read."""
    folder.mkdir(parents=True)
    for number, picture in enumerate(_pictures(count)):
        (folder / f"{number:03}.png").write_bytes(picture)
    for name in broken:
        (folder / name).write_bytes(b"I am a picture")
    return folder


@cache
def _pictures(count: int) -> list[bytes]:
    rng, pictures = np.random.default_rng(0), []
    for number in range(count):
        pixels = rng.integers(0, 120, (16, 16), dtype=np.uint8)
        match truth(number):
            case 0:
                pixels[:, :6] += 120
            case 1:
                pixels[:, -6:] += 120
            case 2:
                pixels[:6, :] += 120
        Image.fromarray(pixels).save(encoded := BytesIO(), "PNG")
        pictures.append(encoded.getvalue())
    return pictures


def truth(number: int) -> int:
    """Tell the class of an image by its number."""
    return (number * 7 + number // 5) % 3


@dataclass
class World:
    """A project, the journal of its people, and what the trainer said."""

    project: Project
    journal: Journal
    said: list[dict[str, Any]] = field(default_factory=list)

    def act(
        self, item: int, kind: Kind = "label", class_: int | None = None, why: Why = "rank", undoes: str | None = None
    ) -> Act:
        """Let somebody do something."""
        new = NewAct(str(uuid4()), item, kind, "ann", why, class_=class_, undoes=undoes)
        (written,) = self.journal.write([new])
        assert isinstance(written, Act), written
        return written

    def label(self, *items: int, why: Why = "rank") -> list[Act]:
        """Let somebody label items, rightly."""
        return [self.act(item, "label", truth(item), why) for item in items]

    def undo(self, act: Act) -> None:
        """Let somebody take an act back."""
        self.act(act.item, "undo", undoes=act.uid)

    @property
    def reserve(self) -> list[int]:
        """The items kept for the audit."""
        return [int(item) for item in self.project.audit_reserve()]

    def first(self, class_: int, count: int) -> list[int]:
        """List the first items of a class that are neither reserved nor broken."""
        reserve, names = set(self.reserve), [row.name for row in self.journal.items()]
        free = [item for item, name in enumerate(names) if item not in reserve and name not in BROKEN]
        return [item for item in free if truth(item) == class_][:count]

    def begin(self, each: int = 3, classes: int = 3) -> list[Act]:
        """Label enough of every class for the training to begin."""
        return self.label(*(item for class_ in range(classes) for item in self.first(class_, each)), why="spread")

    def train(self, on_commit: Callable[[int], bool], on_doing: Callable[[str], bool] | None = None) -> None:
        """Let a trainer work in this process; the callbacks are told what it has done and say when it is enough."""

        def say(what: dict[str, Any]) -> None:
            self.said.append(what)
            if "committed" in what and on_commit(what["committed"]):
                raise Enough
            if "doing" in what and on_doing is not None and on_doing(what["doing"]):
                raise Enough

        with closing(Journal.open(self.project.labels_db, mode="ro")) as reading:
            try:
                Trainer(self.project, reading, StatusWriter(say)).go()
            except Enough:
                return

    def model(self) -> Path:
        """Find the newest model."""
        return max(self.project.models.glob("[0-9]*"))

    def newest(self) -> Checkpoint:
        """Read the newest checkpoint that counts."""
        return newest_of(self.model())

    def ranking(self) -> Ranking:
        """Read the newest ranking."""
        return Ranking.unpack(self.newest().files[RANKING_FILE])

    def trained_on(self) -> tuple[dict[int, int], dict[int, int]]:
        """Read what is trained on, by item: answers and guesses."""
        arrays = safetensors.numpy.load(self.newest().files[LABELS_FILE])
        return _known(arrays["item"], arrays["answer"]), _known(arrays["item"], arrays["guess"])


class Enough(Exception):  # noqa: N818 (nothing is wrong)
    """Ends a trainer in this process."""


def newest_of(model: Path) -> Checkpoint:
    """Read the newest committed checkpoint of a model; every byte of it is checked."""
    with RunDir.open(model, lock=False) as run_dir:
        steps = [row.iteration for row in run_dir.events.steps()]
        return run_dir.checkpoints.load(max(steps))


@contextmanager
def world(
    path: Path,
    *,
    classes: tuple[str, ...] = CLASSES,
    broken: tuple[str, ...] = (),
    config: Mapping[str, Any] = QUICK,
    **settings: Any,
) -> Iterator[World]:
    """Make a project on a new folder of images."""
    folder = picture_folder(path / "pictures", broken=broken)
    project = Project.create(path / "project", str(folder), classes, Settings(config=dict(config), **settings))
    with closing(Journal.open(project.labels_db, mode="rw")) as journal:
        yield World(project, journal)


def trainer_words(path: Path, *options: str) -> list[str]:
    """Spell the call of the trainer."""
    return [sys.executable, "-m", "deepbass.trainer", str(path), *options]


@contextmanager
def trainer_process(project: Project, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Start the trainer as the server does; it ends with the block."""
    pipe, words = subprocess.PIPE, trainer_words(project.path, *options)
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(process: subprocess.Popen[str], told: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Read what a trainer says until it says something."""
    assert process.stdout is not None
    for line in process.stdout:
        what: dict[str, Any] = json.loads(line)
        if told(what):
            return what
    assert process.stderr is not None
    raise AssertionError(f"the trainer ended: {process.stderr.read()}")


def _known(items: NDArray[np.int64], classes: NDArray[np.int64]) -> dict[int, int]:
    there = np.flatnonzero(classes >= 0)
    return dict(zip(items[there].tolist(), classes[there].tolist(), strict=True))
