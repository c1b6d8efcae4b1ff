"""One cell in a process of its own: run it, or go on with it, and write down its result.

    python -m deepbass.bench.worker    (the job as one line of JSON on standard input)

Progress goes to standard output, one JSON object per line. The process ends when its standard input does, so that no
worker outlives the command that started it, however that ended.
"""

from __future__ import annotations

import base64
import sys
import time
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from deepbass.bench.cells import FAILED, FINISHED, STARTED, Cell, CellResult
from deepbass.bench.results import Results
from deepbass.core.errors import DeepBassError
from deepbass.data.load import Data, load
from deepbass.learn.memory import keep_freed_memory
from deepbass.report.facts import read_field
from deepbass.runs.interrupt import term_like_ctrl_c
from deepbass.runs.lifecycle import Run, Watch
from deepbass.runs.measure import Metrics
from deepbass.store import child
from deepbass.store.names import FIELD_FILE
from deepbass.store.write_errors import now

_CURVE = ("validation_accuracy", "known", "members", "pseudo_accuracy", "entropy_known", "entropy_pool", "passes")
_PROGRESS_SECONDS = 0.5
_EVERY = 2  # of the run's own grid, points that are kept of a decision field in each direction


def run_cell(cell: Cell, results: Results, *, folder: Path | None = None, watch: Watch | None = None) -> CellResult:
    """Run a cell to its end, from wherever it was left, and keep its result."""
    watch = watch or Watch()
    record = CellResult(cell, STARTED, now(), config=cell.config.as_dict())
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


def _run(record: CellResult, results: Results, data: Data, watch: Watch) -> CellResult:
    cell, place = record.cell, results.work(record.cell)
    with Run.go_on_or_begin(place, cell.config, data, source=cell.source, watch=watch) as run:
        run.share_initial(results.initial)
        result = run.go()
        steps, versions = run.steps(), run.versions
    seconds: dict[str, float] = {}
    for step in steps:
        for what, spent in step.seconds.items():
            seconds[what] = seconds.get(what, 0.0) + spent
    curve = {name: [_short(step.metrics.get(name)) for step in steps] for name in _CURVE}
    return replace(
        record,
        status=FINISHED,
        ended_at=now(),
        versions=versions,
        seconds={what: round(spent, 2) for what, spent in seconds.items()},
        initial_shared=not steps[0].seconds.get("train"),
        labels=result.history[-1]["known"],
        accuracy=result.accuracy,
        curve=curve,
        field_=_small_field(place / FIELD_FILE),
    )


def _small_field(file: Path) -> dict[str, Any] | None:
    """Shrink the decision field of a run on two classes in the plane to a byte per place; None for any other run."""
    field = read_field(file)
    if field is None or field.probs.shape[-1] != 2:
        return None
    xs, ys = field.xs[::_EVERY], field.ys[::_EVERY]
    second_Y_X = np.round(255 * field.probs[::_EVERY, ::_EVERY, 1]).astype(np.uint8)
    return {
        "x": [round(float(xs[0]), 4), round(float(xs[-1]), 4)],
        "y": [round(float(ys[0]), 4), round(float(ys[-1]), 4)],
        "side": len(xs),
        "second": base64.b64encode(zlib.compress(second_Y_X.tobytes(), 9)).decode(),
        "known": field.known.tolist(),
        "initial": field.initial.tolist(),
    }


def _short(value: float | int | None) -> float | int | None:
    return round(value, 6) if isinstance(value, float) and np.isfinite(value) else value


def main() -> None:
    """Run the job that comes on standard input."""
    job = child.receive()
    child.begin()
    keep_freed_memory()
    cell, last = Cell(**job["cell"]), 0.0
    iterations = cell.config.iterations

    done = -1

    def on_progress(what: str, share: float) -> None:
        nonlocal last
        if time.monotonic() - last > _PROGRESS_SECONDS:
            last = time.monotonic()
            child.say({"iteration": done, "of": iterations, "doing": what, "share": round(share, 3)})

    def on_metrics(iteration: int, metrics: Metrics) -> None:
        nonlocal done
        done = iteration
        child.say({"iteration": iteration, "of": iterations, "accuracy": metrics["validation_accuracy"]})

    watch = Watch(on_progress, on_metrics, lambda note: child.say({"note": note}))
    try:
        with term_like_ctrl_c():
            run_cell(cell, Results.open(Path(job["out"])), folder=job["folder"] and Path(job["folder"]), watch=watch)
    except KeyboardInterrupt:
        sys.exit(child.INTERRUPTED)
    except DeepBassError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
