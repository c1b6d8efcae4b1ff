"""The cells of a comparison in a process of their own: each is one method with so many labels.

python -m deepbass.compare.compare_worker    (the job as one line of JSON on standard input)
"""

from __future__ import annotations

import time
from dataclasses import replace
from importlib import metadata
from shutil import rmtree
from typing import Any

import numpy as np

from deepbass.api import resume, run
from deepbass.bench.cells import Cell, CellResult
from deepbass.bench.worker import CellJob, seconds_of, serve, short
from deepbass.compare.methods import METHODS, ComparedMethod, run_settings
from deepbass.compare.plain_models import MOST_UNLABELLED, PlainTask, Rows, fit_plain, need_sklearn
from deepbass.compare.plan import EVERY_LABEL
from deepbass.core.config import Config
from deepbass.core.labels import UNKNOWN, Classes, Ids
from deepbass.core.own_model import is_code
from deepbass.core.own_parts import CODE
from deepbass.core.quality import Quality, count_confusion
from deepbass.core.randomness import generator
from deepbass.data.initial import initial_labels
from deepbass.data.load import Data, load
from deepbass.data.pool import Pool
from deepbass.runs.featurise import Featuriser
from deepbass.runs.identity import versions
from deepbass.runs.lifecycle import Result, Watch
from deepbass.store.lock import patiently
from deepbass.store.names import RUN_FILE
from deepbass.store.rundir import RunDir

_ROWS_AT_ONCE = 4_096


def finish_method(job: CellJob) -> CellResult:
    """Run the cell's method: one of scikit-learn's, or the loop with the settings that make it ours."""
    cell = job.record.cell
    method = METHODS[cell.row]
    data = _data(job)
    labels = int(np.count_nonzero(data.truth != UNKNOWN)) if cell.tier == EVERY_LABEL else int(cell.tier)
    return _fit(job, data, labels) if method.settings is None else _run(job, method, data.features, labels)


_loaded: dict[tuple[str, Config], Data] = {}  # what the cell before has seen: mostly the next sees the same


def _data(job: CellJob) -> Data:
    cell = job.record.cell
    key = cell.source, cell.config
    if key not in _loaded:
        _loaded.clear()
        features = cell.config.features
        featurise = Featuriser(features, network=cell.config.model, named=features, on_progress=job.watch.on_progress)
        _loaded[key] = load(cell.source, cell.config, folder=job.folder, featurise=featurise)
    return _loaded[key]


def draw_labels(data: Data, config: Config, labels: int) -> Ids:
    """Draw labels at random, not balanced: the same for every method of a seed, and fewer always among more."""
    drawn = Config(seed=config.seed, start="random", initial=labels)
    return initial_labels(drawn, data.pool, data.truth, data.classes)


def plain_task(data: Data, config: Config, labels: int) -> PlainTask:
    """Gather what a plain method may know: labels, and of the pool what has none; nothing of the validation part."""
    known = draw_labels(data, config, labels)
    others = np.setdiff1d(np.arange(len(data.pool)), known)
    if len(others) > MOST_UNLABELLED:
        rng = generator(config.seed, 0, "samples without a label")
        others = np.sort(rng.choice(others, size=MOST_UNLABELLED, replace=False))
    return PlainTask(_rows(data.pool, known), data.truth[known], _rows(data.pool, others), config.seed)


def _fit(job: CellJob, data: Data, labels: int) -> CellResult:
    cell = job.record.cell
    need_sklearn(cell.row)
    task = plain_task(data, cell.config, labels)
    begun = time.perf_counter()
    model = fit_plain(cell.row, task)
    seconds = time.perf_counter() - begun
    guesses = [model.predict(_rows(data.validation, some)) for some in _in_parts(len(data.validation))]
    quality = _judge(np.concatenate(guesses), data)
    return replace(
        job.record,
        config=dict(model.chosen),
        versions={**versions(), "scikit-learn": metadata.version("scikit-learn")},
        seconds={"train": round(seconds, 3)},
        labels=labels,
        accuracy=round(quality.accuracy, 6),
        balanced_accuracy=round(quality.balanced_accuracy, 6),
        macro_f1=round(quality.macro_f1, 6),
        notes=model.notes,
    )


def _run(job: CellJob, method: ComparedMethod, features: str, labels: int) -> CellResult:
    settings = run_settings(method, labels, job.record.cell.source, job.record.cell.settings, features)
    watch = replace(job.watch, on_note=lambda note: None)  # every cell has the same to say of the data
    result = _go(job, method, settings, watch)
    with RunDir.open(job.place, lock=False) as run_dir:
        about, seconds = run_dir.about, seconds_of(run_dir.events.steps())
    last = result.history[-1]
    known = last["known"]
    notes = [] if known == labels else [f"it spent {known:,} of {labels:,} labels"]
    return replace(
        job.record,
        config=dict(about["config"]),
        versions=dict(about["versions"]),
        seconds=seconds,
        labels=known,
        accuracy=round(result.accuracy, 6),
        balanced_accuracy=short(last["balanced_accuracy"]),
        macro_f1=short(last["macro_f1"]),
        notes=tuple(notes),
    )


def _go(job: CellJob, method: ComparedMethod, settings: dict[str, Any], watch: Watch) -> Result:
    """Go on with what a killed worker left of this cell, or begin."""
    cell: Cell = job.record.cell
    code = {name: settings.get(name) for name in CODE if is_code(settings.get(name))}
    if (job.place / RUN_FILE).exists():
        patiently(lambda: RunDir.open(job.place)).close()  # the one before may be about to end
        return resume(job.place, folder=job.folder, watch=watch, **code)
    rmtree(job.place, ignore_errors=True)
    return run(cell.source, preset=method.preset, out=job.place, folder=job.folder, watch=watch, **settings)


def _rows(pool: Pool, ids: Ids) -> Rows:
    """Read samples as the network sees them, each as one row of numbers."""
    if not len(ids):
        return np.empty((0, int(np.prod(pool.shape))), dtype=np.float32)
    return np.concatenate([pool.read(ids[some]).reshape(len(some), -1) for some in _in_parts(len(ids))])


def _in_parts(count: int) -> list[Ids]:
    return [np.arange(start, min(count, start + _ROWS_AT_ONCE)) for start in range(0, count, _ROWS_AT_ONCE)]


def _judge(guesses: Classes, data: Data) -> Quality:
    return Quality(count_confusion(data.validation_labels, guesses, len(data.classes)))


if __name__ == "__main__":
    serve(finish_method)
