"""The models of a labelling project, trained one after the other for as long as the process lives."""

from __future__ import annotations

import re
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from deepbass.core.config import BY_BUDGET, PEOPLE, WEIGHED, Config
from deepbass.core.errors import ConfigError, DataError, StoreError
from deepbass.core.own_model import is_code
from deepbass.core.own_parts import PARTS
from deepbass.core.presets import for_pixels, on_page
from deepbass.data.load import PIXELS
from deepbass.data.source import name_of
from deepbass.label.class_list import what_changed
from deepbass.label.journal import Journal
from deepbass.label.project import Project, Settings
from deepbass.label.settings import AUTO
from deepbass.label.trained_models import class_ids
from deepbass.runs.configure import configure
from deepbass.runs.identity import pool_fingerprint
from deepbass.store.lock import patiently, take_lock
from deepbass.store.names import RUN_FILE
from deepbass.store.rundir import RunDir
from deepbass.trainer.earlier_model import CARRIED_FROM, EarlierModel
from deepbass.trainer.item_rows import ItemRows
from deepbass.trainer.label_oracle import LedgerReader
from deepbass.trainer.model_run import POLL_SECONDS, Material, ModelRun
from deepbass.trainer.status_writer import StatusWriter
from deepbass.trainer.supply import Supply, open_supply

RANKED = 500  # samples whose order is exact; those behind them are ordered by the passes that they made

# what the trainer decides itself
_OWN = ("oracle", "replay", "stop", "ask_count", "ask_every", "budget", "iterations", "target_error")


def labelling_config(settings: Settings, known: int, features: str = PIXELS, shape: tuple[int, ...] = ()) -> Config:
    """Make the configuration of a model from a project's settings; ``known`` labels are there at its beginning.

    ``features`` are what the network sees, samples of a ``shape``: on features a head is solved, and small pictures
    have a network with a teacher; what suits them is another choice of questions and of what is believed, see
    core/presets.py.
    """
    own = sorted({name.replace("-", "_") for name in settings.config} & set(_OWN))
    if own:
        raise ConfigError(
            f"The project's config sets {', '.join(own)}, which is not for it to say when people label: take it out."
        )
    pixels = features == PIXELS
    pictures = pixels and for_pixels(shape, settings.config)
    asks, admits = ("max-entropy", "all-data") if pixels else (BY_BUDGET, WEIGHED)
    layer: dict[str, Any] = {
        # as many steps as the paper makes on its hundred labels, also where a thousand are known from the start
        "initial_epochs": max(1, min(100, round(100 * 100 / max(1, known)))),
        "predict_passes": 30,  # what is measured by the audit is what `deepbass predict` does
        **({} if pixels else {"passes_known": 0, "passes_pool": 0, "predict_passes": 0}),  # a head is calibrated
        **(on_page(shape) if pictures else {}),
        "keep_checkpoints": 4,  # the page may still be reading one when the next two are there
        **settings.config,
        "seed": settings.seed,
        **({} if pictures else {"acquire": asks, "admit": admits}),
        **{name: getattr(settings, name) for name in ("acquire", "admit") if getattr(settings, name) != AUTO},
        "oracle": PEOPLE,
        "ask_every": 1,  # ranked anew in every iteration
        "ask_count": RANKED,
    }
    config = configure("labelling", "auto", layer)
    for name in PARTS:
        if is_code(getattr(config, name)):
            raise ConfigError(
                f"The project's config has {name} = {getattr(config, name)!r}: the page takes a model and features of "
                "your own, and no other code. Take it out."
            )
    return config


class Trainer:
    """Waits for the first labels, then trains one model after the other.

    Other classes are a new model, since the network's outputs are others, but it begins with all that the one before
    had learned. A class that was renamed is the same class.
    """

    def __init__(
        self,
        project: Project,
        journal: Journal,
        status: StatusWriter,
        folder: Path | None = None,
        named_model: str | None = None,
        named_features: str | None = None,
    ) -> None:
        """Make the trainer of a project; ``folder`` is where files of named data sets lie.

        ``named_model`` and ``named_features`` are of the user's own, if there are any: named by who starts the trainer.
        """
        self._project, self._journal, self._status, self._folder = project, journal, status, folder
        self._named_model, self._named_features = named_model, named_features
        self._reader = LedgerReader(project, journal)

    def go(self) -> None:
        """Train until the process is ended."""
        models = self._project.models
        models.mkdir(parents=True, exist_ok=True)
        lock = patiently(lambda: take_lock(models))
        try:
            supply = self._open_samples()  # features are computed while people give the first labels
            while True:
                self._wait_for_labels()
                with self._open(self._load(supply)) as model:
                    model.go()
        finally:
            lock.release()

    def _wait_for_labels(self) -> None:
        """Wait until there is enough to begin with. Who has begun once goes on with what is there."""
        while True:
            self._reader.read()
            begun = _newest(self._project.models) is not None and len(self._reader.classes) >= 2
            if begun or self._reader.ready():
                return
            self._status.doing("waiting", need=self._reader.missing())
            time.sleep(POLL_SECONDS)

    def _open_samples(self) -> Supply:
        settings, names = self._project.settings, self._journal.item_names()
        supply = open_supply(
            self._project.source,
            names,
            labelling_config(settings, 0),
            columns=settings.columns,
            folder=self._folder,
            named_features=self._named_features,
            on_share=self._status.background,
        )
        for note in supply.notes:
            self._status.note(note)
        return supply

    def _load(self, supply: Supply) -> Material:
        """Make the pool of what is ready, the samples with a label before all others."""
        supply.want(self._reader.ledger.training_labels())
        self._status.doing("loading")
        count = self._reader.items()
        pool, items = supply.pool()
        if len(pool) < 2:
            raise DataError(f"{self._project.source} has {len(pool)} readable samples: there is nothing to train on.")
        if not supply.grown(len(pool)) and len(pool) < count and supply.extractor is None:
            self._status.note(f"{count - len(pool)} of {count} samples cannot be read and are left out.")
        rows = ItemRows(items, count)
        return Material(
            name=name_of(Path(self._project.source)),
            source=self._project.source,
            pool=pool,
            rows=rows,
            reserve=rows.of(self._project.audit_reserve(count).tolist()),
            fingerprint=pool_fingerprint(pool, rows.items),
            named_model=self._named_model,
            supply=supply,
        )

    def _open(self, material: Material) -> ModelRun:
        """Go on with the newest model if it is of these classes, samples and settings; else begin the next."""
        self._status.iteration = None
        self._reader.read()
        known = len(self._reader.ledger.training_labels())
        config = labelling_config(self._project.settings, known, material.supply.features, material.pool.shape)
        newest, found = _newest(self._project.models), None
        if newest is not None:
            try:
                found = self._resume(newest, config, material)
            except (ConfigError, StoreError) as error:  # damaged, or of another version; no label is in there alone
                self._status.note(f"{error} A new model is begun.")
        if isinstance(found, ModelRun):
            return found
        # the numbers of all folders count: one may be half made, when its trainer was killed
        path = self._project.models / f"{max(map(_number, _folders(self._project.models)), default=0) + 1:04d}"
        if found is None:
            return self._create(path, config, material)
        return self._adapted(path, found, config, material)

    def _resume(self, path: Path, config: Config, material: Material) -> ModelRun | EarlierModel | None:
        """Go on with a model; of one for other classes or samples return what it had learned; None: it is of no use."""
        with ExitStack() as held:
            run_dir = held.enter_context(patiently(lambda: RunDir.open(path)))
            about = run_dir.about["data"]
            # the initial epochs hang on how many labels there were at the beginning
            as_then = replace(config, initial_epochs=run_dir.about["config"].get("initial_epochs"))
            others = about["fingerprint"] != material.fingerprint
            if others and material.supply.extractor is not None:  # there are more and more of them at the beginning
                return None
            if Config.of(run_dir.about["config"]) != as_then or about["shape"] != list(material.pool.shape):
                self._status.note("The settings are not those of the last model: a new one is begun.")
                return None
            begun = bool(run_dir.events.steps())
            if others or class_ids(run_dir.about) != self._reader.classes.ids:
                return EarlierModel.read(path) if begun or about.get(CARRIED_FROM) else None
            model = ModelRun.resume(run_dir, material, self._reader, self._status)
            if not begun and about.get(CARRIED_FROM):  # killed before its first commit
                model.carry(EarlierModel.read(path))
            held.pop_all()  # it is the model's now
            return model

    def _adapted(self, path: Path, earlier: EarlierModel, config: Config, material: Material) -> ModelRun:
        """Begin a model for the classes and samples of now with what an earlier one had learned."""
        self._status.doing("adapting to the classes")
        changed = "The samples are not those of the last model"
        if earlier.class_ids != self._reader.classes.ids:
            changed = what_changed(earlier.class_ids, self._reader.classes)
        self._status.note(f"{changed}: the model keeps what it has learned.")
        as_learned = replace(config, initial_epochs=0)
        model = self._create(path, as_learned, material, carried_from=earlier.name)
        try:
            model.carry(earlier)
        except BaseException:
            model.close()
            raise
        return model

    def _create(self, path: Path, config: Config, material: Material, carried_from: str | None = None) -> ModelRun:
        classes, reader = self._reader.classes, self._reader
        return ModelRun.create(path, config, classes, material, reader, self._status, carried_from)


def _newest(models: Path) -> Path | None:
    """Find the model begun last."""
    begun = [path for path in _folders(models) if (path / RUN_FILE).exists()]
    return max(begun, key=_number, default=None)


def _folders(models: Path) -> list[Path]:
    return [path for path in models.iterdir() if re.fullmatch(r"\d{4,}", path.name)]


def _number(model: Path) -> int:
    return int(model.name)
