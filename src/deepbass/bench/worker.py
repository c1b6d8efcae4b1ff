"""A cell in a process of its own, or some after one another: run it, or go on with it, and write down its result.

    python -m deepbass.bench.worker    (the job as one line of JSON on standard input)

Progress goes to standard output, one JSON object per line. The process ends when its standard input does, so that no
worker outlives the command that started it, however that ended.
"""

from __future__ import annotations

import base64
import sys
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np

from deepbass.bench.cells import FAILED, FINISHED, STARTED, Cell, CellResult
from deepbass.bench.results import Results
from deepbass.core.config import Config
from deepbass.core.errors import DeepBassError
from deepbass.data.load import load
from deepbass.learn.memory import keep_freed_memory
from deepbass.report.facts import read_field
from deepbass.runs.featurise import Featuriser
from deepbass.runs.interrupt import term_like_ctrl_c
from deepbass.runs.lifecycle import Run, Watch
from deepbass.runs.measure import Metrics
from deepbass.store import child
from deepbass.store.event_rows import StepRow
from deepbass.store.names import FIELD_FILE
from deepbass.store.write_errors import now

_CURVE = ("validation_accuracy", "known", "members", "pseudo_accuracy", "entropy_known", "entropy_pool", "passes")
_PROGRESS_SECONDS = 0.5
_EVERY = 2  # of the run's own grid, points that are kept of a decision field in each direction


@dataclass(frozen=True)
class CellJob:
    """A cell that is begun, and all that it takes to finish it."""

    record: CellResult
    place: Path  # where it is worked on
    initial: Path  # where initial models lie that cells share
    folder: Path | None  # where the files of named data sets may lie
    watch: Watch


Finish = Callable[[CellJob], CellResult]  # runs the cell to its end and returns its record, with what came out


def run_cell(
    cell: Cell,
    results: Results,
    *,
    folder: Path | None = None,
    watch: Watch | None = None,
    finish: Finish | None = None,
) -> CellResult:
    """Run a cell to its end, from wherever it was left, and keep its result. ``finish`` does the work: the loop's."""
    record = CellResult(cell, STARTED, now(), config=cell.config.as_dict())
    before = results.read(cell)
    if before is not None and before.status == STARTED:
        record = replace(record, started_at=before.started_at)
    if before is None:  # what is left there is of other settings
        rmtree(results.work(cell), ignore_errors=True)
    results.write(record)
    try:
        done = (finish or finish_loop)(CellJob(record, results.work(cell), results.initial, folder, watch or Watch()))
    except Exception as error:
        results.write(replace(record, status=FAILED, ended_at=now(), error=f"{type(error).__name__}: {error}"))
        raise
    finished = replace(done, status=FINISHED, ended_at=now())
    results.write(finished)
    return finished


def finish_loop(job: CellJob) -> CellResult:
    """Run the loop with the cell's settings, and no others."""
    cell, place = job.record.cell, job.place
    featurise = Featuriser(cell.config.features, on_progress=job.watch.on_progress)
    data = load(cell.source, cell.config, folder=job.folder, featurise=featurise)
    with Run.go_on_or_begin(
        place, cell.config, data, source=cell.source, extractor=featurise.extractor, watch=job.watch
    ) as run:
        run.share_initial(job.initial)
        result = run.go()
        steps, versions = run.steps(), run.versions
    curve = {name: [short(step.metrics.get(name)) for step in steps] for name in _CURVE}
    last = result.history[-1]
    return replace(
        job.record,
        versions=versions,
        seconds=seconds_of(steps),
        initial_shared=not steps[0].seconds.get("train"),
        labels=last["known"],
        accuracy=result.accuracy,
        balanced_accuracy=short(last["balanced_accuracy"]),
        macro_f1=short(last["macro_f1"]),
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


def seconds_of(steps: Iterable[StepRow]) -> dict[str, float]:
    """Add up how long the parts of a run took."""
    seconds: dict[str, float] = {}
    for step in steps:
        for what, spent in step.seconds.items():
            seconds[what] = seconds.get(what, 0.0) + spent
    return {what: round(spent, 2) for what, spent in seconds.items()}


def short(value: float | int | None) -> float | int | None:
    """Keep six digits behind the point: a result file is read by people, too."""
    return round(value, 6) if isinstance(value, float) and np.isfinite(value) else value


def serve(finish: Finish) -> None:
    """Run the cells that come on standard input, one after the other, and say how far they are."""
    job = child.receive()
    child.begin()
    keep_freed_memory()
    results = Results.open(Path(job["out"]))
    folder = Path(job["folder"]) if job["folder"] else None
    try:
        with term_like_ctrl_c():
            for each in job["cells"]:
                cell = Cell(**each)
                run_cell(cell, results, folder=folder, watch=_telling(cell), finish=finish)
                child.say({"done": cell.key})
    except KeyboardInterrupt:
        sys.exit(child.INTERRUPTED)
    except DeepBassError as error:
        sys.exit(str(error))


def _telling(cell: Cell) -> Watch:
    """Make what says on standard output how far a cell is."""
    last, iterations, done = 0.0, cell.config.iterations, -1

    def on_progress(what: str, share: float) -> None:
        nonlocal last
        if time.monotonic() - last > _PROGRESS_SECONDS:
            last = time.monotonic()
            child.say({"iteration": done, "of": iterations, "doing": what, "share": round(share, 3)})

    def on_config(config: Config) -> None:
        nonlocal iterations
        iterations = config.iterations

    def on_metrics(iteration: int, metrics: Metrics) -> None:
        nonlocal done
        done = iteration
        child.say({"iteration": iteration, "of": iterations, "accuracy": metrics["validation_accuracy"]})

    return Watch(on_progress, on_metrics, lambda note: child.say({"note": note}), on_config)


if __name__ == "__main__":
    serve(finish_loop)
