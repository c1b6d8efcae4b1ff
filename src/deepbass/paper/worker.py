"""One cell in a process of its own: run it, or go on with it, and write down its result.

    python -m deepbass.paper.worker    (the job as one line of JSON on standard input)

Progress goes to standard output, one JSON object a line. The process ends when its standard input does, so that no
worker outlives the command that started it, however that ended.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np

from deepbass.core.config import Config
from deepbass.core.errors import DeepBassError, StoreError
from deepbass.data.load import Data, load
from deepbass.learn.memory import keep_freed_memory
from deepbass.paper.cells import FAILED, FINISHED, INTERRUPTED, STARTED, Cell, Record
from deepbass.paper.results import Results
from deepbass.paper.thumbnail import thumbnail
from deepbass.session.field import FIELD_FILE
from deepbass.session.identity import fingerprint, versions
from deepbass.session.interrupt import term_like_ctrl_c
from deepbass.session.session import Session, Watch
from deepbass.store.files import now, replace_file
from deepbass.store.rundir import RunDir

_CURVE = ("validation_accuracy", "known", "members", "pseudo_accuracy", "entropy_known", "entropy_pool", "passes")
_LOCK_SECONDS = 20.0  # an orphaned worker needs a moment to notice and end
_PROGRESS_SECONDS = 0.5

# what an initial model does not depend on; a setting that is not named here tells two initial models apart
_LATER = {
    "iterations", "ask_count", "ask_every", "budget", "acquire", "quantile", "admit", "passes_pool", "passes_known",
    "early_exit", "epochs", "infer_batch", "masks", "oracle", "oracle_error", "replay", "keep_checkpoints",
}  # fmt: skip


def run_cell(cell: Cell, results: Results, *, folder: Path | None = None, watch: Watch | None = None) -> Record:
    """Run a cell to its end, from wherever it was left, and keep its result."""
    watch = watch or Watch()
    record = Record(cell, STARTED, now(), config=cell.config.as_dict(), versions=dict(versions()))
    before = results.read(cell)
    if before is not None and before.status == STARTED:
        record = replace(record, started_at=before.started_at)
    results.write(record)
    try:
        data = load(cell.source, cell.config, folder=folder)
        finished = _run(record, results, data, watch)
    except Exception as error:
        results.write(replace(record, status=FAILED, ended_at=now(), error=f"{type(error).__name__}: {error}"))
        raise
    results.write(finished)
    return finished


def _run(record: Record, results: Results, data: Data, watch: Watch) -> Record:
    cell = record.cell
    with _open(results.work(cell), cell, data, watch) as session:
        shared = results.initial / f"{_initial_key(session.config, data, session.learner.engine)}.safetensors"
        if shared.exists():
            session.begin_with(shared.read_bytes())
        result = _go(session, shared, watch)
        engine = session.learner.engine
    with RunDir.open(results.work(cell), lock=False) as run_dir:
        steps = run_dir.events.steps()
    seconds: dict[str, float] = {}
    for step in steps:
        for what, spent in step.seconds.items():
            seconds[what] = seconds.get(what, 0.0) + spent
    return replace(
        record,
        status=FINISHED,
        ended_at=now(),
        versions={**record.versions, "engine": engine},
        seconds={what: round(spent, 2) for what, spent in seconds.items()},
        initial_shared=not steps[0].seconds.get("train"),
        labels=len(result.labels.known),
        accuracy=result.accuracy,
        curve={name: [_short(step.metrics.get(name)) for step in steps] for name in _CURVE},
        field_=thumbnail(results.work(cell) / FIELD_FILE),
    )


def _go(session: Session, shared: Path, watch: Watch) -> Any:
    """Go on to the end, and leave the initial model to the cells that start from the same one."""
    on_metrics = watch.on_metrics

    def keep_initial(iteration: int, metrics: dict[str, float | int | None]) -> None:
        if iteration == 0 and not shared.exists():
            shared.parent.mkdir(parents=True, exist_ok=True)
            replace_file(shared, session.learner.state())
        on_metrics(iteration, metrics)

    watch.on_metrics = keep_initial
    return session.go()


def _open(path: Path, cell: Cell, data: Data, watch: Watch) -> Session:
    """Go on with the cell's run directory if it is there and of these settings; else begin."""
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            if (path / "run.json").exists():
                run_dir = RunDir.open(path)
                if Config.of(run_dir.about["config"]) == cell.config:
                    return Session.resume(run_dir, data, watch=watch)
                run_dir.close()
            if path.exists():  # half made, or left over from other settings
                rmtree(path)
            return Session.create(path, cell.config, data, source=cell.source, watch=watch)
        except StoreError as error:
            if "is in use by" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _initial_key(config: Config, data: Data, engine: str) -> str:
    """Name an initial model by all that it depends on."""
    settings = {name: value for name, value in config.as_dict().items() if name not in _LATER}
    made_with = {name: value for name, value in versions().items() if name != "threads"}
    told = json.dumps([settings, made_with, fingerprint(data), engine], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def _short(value: float | int | None) -> float | int | None:
    return round(value, 6) if isinstance(value, float) and np.isfinite(value) else value


def main() -> None:
    """Run the job that comes on standard input."""
    job = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    keep_freed_memory()
    cell, last = Cell(**job["cell"]), 0.0
    iterations = cell.config.iterations

    done = -1

    def on_progress(what: str, share: float) -> None:
        nonlocal last
        if time.monotonic() - last > _PROGRESS_SECONDS:
            last = time.monotonic()
            _say({"iteration": done, "of": iterations, "doing": what, "share": round(share, 3)})

    def on_metrics(iteration: int, metrics: dict[str, float | int | None]) -> None:
        nonlocal done
        done = iteration
        _say({"iteration": iteration, "of": iterations, "accuracy": metrics["validation_accuracy"]})

    watch = Watch(on_progress, on_metrics, lambda note: _say({"note": note}))
    try:
        with term_like_ctrl_c():
            run_cell(cell, Results.open(Path(job["out"])), folder=job["folder"] and Path(job["folder"]), watch=watch)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except DeepBassError as error:
        sys.exit(str(error))


def _say(what: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _end_with_parent() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os._exit(1)  # at once: what counts is on the disk already


if __name__ == "__main__":
    main()
