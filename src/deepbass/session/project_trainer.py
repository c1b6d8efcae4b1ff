"""The models of a labelling project, trained one after the other for as long as the process lives."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from deepbass.core.config import Config
from deepbass.core.errors import ConfigError, DataError, StoreError
from deepbass.data.source import name_of
from deepbass.label.items import load_pool
from deepbass.label.journal import Journal
from deepbass.label.project import Project, Settings
from deepbass.session.identity import pool_fingerprint
from deepbass.session.label_oracle import Heard
from deepbass.session.model_run import POLL_SECONDS, Material, ModelRun
from deepbass.session.rows import Rows
from deepbass.session.settings import configure
from deepbass.session.voice import Voice
from deepbass.store.lock import take_lock
from deepbass.store.rundir import ABOUT_FILE, RunDir

RANKED = 500  # samples whose order is exact; those behind them are ordered by the passes that they made
_LOCK_SECONDS = 20.0  # a trainer that lost its server needs a moment to notice and end

# what the trainer decides itself
_OWN = ("oracle", "replay", "ask_count", "ask_every", "budget", "iterations")

T = TypeVar("T")


def labelling_config(settings: Settings, known: int) -> Config:
    """Make the configuration of a model from a project's settings; ``known`` labels are there at its beginning."""
    own = sorted({name.replace("-", "_") for name in settings.config} & set(_OWN))
    if own:
        raise ConfigError(
            f"The project's config sets {', '.join(own)}, which is not for it to say when people label: take it out."
        )
    layer: dict[str, Any] = {
        # as many steps as the paper makes on its hundred labels, also where a thousand are known from the start
        "initial_epochs": max(1, min(100, round(100 * 100 / max(1, known)))),
        "keep_checkpoints": 4,  # the page may still be reading one when the next two are there
        **settings.config,
        "seed": settings.seed,
        "acquire": settings.acquire,
        "admit": settings.admit,
        "oracle": "people",
        "ask_every": 1,  # ranked anew in every iteration
        "ask_count": RANKED,
    }
    return configure("labelling", "paper", layer)


class Trainer:
    """Waits for the first labels, then trains one model after the other: a new one when there are new classes."""

    def __init__(self, project: Project, journal: Journal, voice: Voice, folder: Path | None = None) -> None:
        self._project, self._journal, self._voice, self._folder = project, journal, voice, folder
        self._heard = Heard(project, journal)

    def go(self) -> None:
        """Train until the process is ended."""
        models = self._project.models
        models.mkdir(parents=True, exist_ok=True)
        lock = _patiently(lambda: take_lock(models))
        try:
            self._wait_for_labels()
            material = self._load()
            while True:
                with self._open(material) as model:
                    model.go()
        finally:
            lock.release()

    def _wait_for_labels(self) -> None:
        """Wait until there is enough to begin with. Who has begun once goes on with what is there."""
        while True:
            self._heard.listen()
            if _newest(self._project.models) is not None or self._heard.ready():
                return
            self._voice.doing("waiting", need=self._heard.missing())
            time.sleep(POLL_SECONDS)

    def _load(self) -> Material:
        self._voice.doing("loading")
        names = [row.name for row in self._journal.items()]
        config = labelling_config(self._project.settings, 0)
        pool, items = load_pool(self._project.source, names, config, self._folder)
        if len(pool) < 2:
            raise DataError(f"{self._project.source} has {len(pool)} readable samples: there is nothing to train on.")
        if len(pool) < len(names):
            self._voice.note(f"{len(names) - len(pool)} of {len(names)} samples cannot be read and are left out.")
        rows = Rows(items, len(names))
        return Material(
            name=name_of(Path(self._project.source)),
            source=self._project.source,
            pool=pool,
            rows=rows,
            reserve=rows.of(self._project.audit_reserve(len(names)).tolist()),
            fingerprint=pool_fingerprint(pool, rows.items),
        )

    def _open(self, material: Material) -> ModelRun:
        """Go on with the newest model if it is of these classes, samples and settings; else begin the next."""
        self._voice.iteration = None
        self._heard.listen()
        classes = self._heard.classes()
        config = labelling_config(self._project.settings, len(self._heard.ledger.training_labels()))
        newest = _newest(self._project.models)
        if newest is not None:
            try:
                model = self._resume(newest, config, classes, material)
            except (ConfigError, StoreError) as error:  # damaged, or of another version; no label is in there alone
                self._voice.note(f"{error} A new model is begun.")
            else:
                if model is not None:
                    return model
        # the numbers of all folders count: one may be half made, when its trainer was killed
        path = self._project.models / f"{max(map(_number, _folders(self._project.models)), default=0) + 1:04d}"
        return ModelRun.create(path, config, classes, material, self._heard, self._voice)

    def _resume(self, path: Path, config: Config, classes: tuple[str, ...], material: Material) -> ModelRun | None:
        with ExitStack() as held:
            run_dir = held.enter_context(_patiently(lambda: RunDir.open(path)))
            about = run_dir.about["data"]
            # the initial epochs hang on how many labels there were at the beginning
            as_then = replace(config, initial_epochs=run_dir.about["config"].get("initial_epochs"))
            if about["fingerprint"] != material.fingerprint:
                self._voice.note("The samples are not those of the last model: a new one is begun.")
            elif Config.of(run_dir.about["config"]) != as_then:
                self._voice.note("The settings are not those of the last model: a new one is begun.")
            elif tuple(about["classes"]) == classes:
                model = ModelRun.resume(run_dir, material, self._heard, self._voice)
                held.pop_all()  # it is the model's now
                return model
        return None


def _newest(models: Path) -> Path | None:
    """Find the model begun last."""
    begun = [path for path in _folders(models) if (path / ABOUT_FILE).exists()]
    return max(begun, key=_number, default=None)


def _folders(models: Path) -> list[Path]:
    return [path for path in models.iterdir() if re.fullmatch(r"\d{4,}", path.name)]


def _number(model: Path) -> int:
    return int(model.name)


def _patiently(take: Callable[[], T]) -> T:
    """Take what a trainer that is about to end may still hold."""
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            return take()
        except StoreError as error:
            if "is in use by" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.2)
