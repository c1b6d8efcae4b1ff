"""One whole iteration of the paper's loop over pools of growing size on disk: time a sample, by part, and memory.

    python -m speed.large_iteration FOLDER

writes the pool (`speed.large_pool`) where it is missing and the results to results/large_iteration.json. Each size has
a process of its own. The smallest is measured again after each of the others, because a machine that others use is
now quicker, now slower; processor seconds say more than seconds then. Stopped, it goes on after the last process that
was done; ``--again`` begins anew.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from deepbass.core.belief import Belief
from deepbass.core.config import Config
from deepbass.core.labels import Ids, Labels, class_type
from deepbass.core.loop import Method, State, Step, after, run
from deepbass.core.need import EVERYTHING, Need
from deepbass.data.pool import Pool
from deepbass.learn.learner import LocalLearner
from deepbass.learn.memory import keep_freed_memory
from deepbass.learn.models import paper_cnn
from deepbass.oracle import Simulated
from deepbass.runs.measure import measure
from deepbass.runs.recorder import Recorder
from speed import machine
from speed.large_pool import LABELS, write_pool
from speed.scale_side import Peak, anonymous
from speed.start import CLASSES, Start, made
from speed.task import Task

RESULTS = Path(__file__).parents[1] / "results" / "large_iteration.json"
SIZES = (60_000, 1_000_000, 10_000_000)
PASSES = 3  # T'
TASK = Task(passes_pool=PASSES, start_iterations=1)
_ASKING = 20  # by the paper's setting every tenth iteration asks


class Parts:
    """Seconds and processor seconds (of all threads) of the parts of an iteration."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.processor: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Count a part."""
        began, worked = time.perf_counter(), time.process_time()
        yield
        self.seconds[name] += time.perf_counter() - began
        self.processor[name] += time.process_time() - worked


class TimedLearner:
    """A learner whose two verbs are counted."""

    def __init__(self, learner: LocalLearner, parts: Parts) -> None:
        self._learner, self._parts = learner, parts

    def train(self, labels: Labels, *, epochs: int, copies: int, seed: int) -> None:
        """Train."""
        with self._parts.of("training"):
            self._learner.train(labels, epochs=epochs, copies=copies, seed=seed)

    def infer(self, ids: Ids | None, *, passes: int, seed: int, need: Need = EVERYTHING) -> Belief:
        """Infer."""
        with self._parts.of("passes over the pool" if ids is None else "passes over known labels"):
            return self._learner.infer(ids, passes=passes, seed=seed, need=need)


def one(folder: Path, size: int, start: Start, threads: int) -> dict[str, Any]:
    """Make one iteration in this process, that asks, as a run does in the middle, and write it down as a run does."""
    torch.set_num_threads(threads)
    keep_freed_memory()
    pool = Pool(np.load(folder / "pool.npy", mmap_mode="r")[:size], "train")
    truth = np.load(folder / LABELS)[:size].copy()
    config = Config(passes_pool=PASSES, passes_known=TASK.passes_known, copies=TASK.copies, batch_size=TASK.batch)
    model = paper_cnn(pool.shape, CLASSES)
    model.load_state_dict({name: torch.from_numpy(array) for name, array in start.weights.items()})
    learner = LocalLearner(model, pool, CLASSES, config)
    learner.rehearse()
    parts = Parts()
    method = Method.of(config)
    with tempfile.TemporaryDirectory(dir=folder) as runs:
        recorder = Recorder.create(
            Path(runs) / "run",
            config,
            learner,
            name="large pool",
            source=None,
            pool=pool,
            classes=[str(class_) for class_ in range(CLASSES)],
            fingerprint="",
        )
        on_step = partial(_write_down, recorder, truth, parts)
        state = State(_labels(start, size), _ASKING, guesses=np.resize(_guesses(start), size))
        base, files = anonymous(), 0
        with Peak() as peak, parts.of("all"):
            timed = replace(
                method,
                admit=replace(method.admit, choose=_counted(parts, "admission", method.admit.choose)),
                acquire=replace(method.acquire, choose=_counted(parts, "acquisition", method.acquire.choose)),
                stop=after(_ASKING + 1),
            )
            end = run(TimedLearner(learner, parts), Simulated(truth, CLASSES), timed, state, on_step)
        files = anonymous("RssFile:")
        metrics = recorder.run_dir.events.steps()[-1].metrics
        recorder.close()
    return {
        "size": size,
        "seconds": dict(parts.seconds),
        "processor": dict(parts.processor),
        "base_bytes": base,
        "peak_bytes": peak.bytes,
        "file_bytes": files,
        "threads": threads,
        "engine": learner.engine,
        "known": len(end.labels.known),
        "passes": metrics["passes"],
        "pseudo_accuracy": metrics["pseudo_accuracy"],
        "load": round(os.getloadavg()[0], 2),
    }


def _guesses(start: Start) -> Ids:
    return np.where(start.answer >= 0, start.answer, start.guess).astype(class_type(CLASSES))


def _labels(start: Start, size: int) -> Labels:
    """Know what the state in the middle of a run knows, and guess what it guesses for all copies of an image."""
    answer, guess = np.full(size, -1, dtype=class_type(CLASSES)), np.resize(_guesses(start), size)
    answer[: len(start.answer)] = start.answer
    guess[answer >= 0] = -1
    return Labels(CLASSES, answer, guess, np.zeros(size, dtype=np.bool_))


def _write_down(recorder: Recorder, truth: Ids, parts: Parts, step: Step) -> None:
    with parts.of("metrics"):
        metrics = measure(step, truth, None)
    with parts.of("checkpoint"):
        recorder.commit(step.state, metrics, step.asked, step.answers, "simulated")


def _counted(parts: Parts, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*given: Any) -> Any:
        with parts.of(name):
            return work(*given)

    return counted


def measure_all(folder: Path, sizes: list[int], threads: int, out: Path, note: str, *, again: bool) -> None:
    """Measure every size in a process of its own, the smallest around each of the others."""
    write_pool(folder, max(sizes))
    smallest, *others = sorted(sizes)
    order = [smallest, *(size for other in others for size in (other, smallest))]
    described = {"made": date.today().isoformat(), "machine": machine.describe(), "passes": PASSES, "note": note}
    made(TASK)
    rows: list[dict[str, Any]] = json.loads(out.read_text())["rows"] if out.exists() and not again else []
    done_before = [row["size"] for row in rows]
    if done_before != order[: len(rows)]:
        raise SystemExit(f"{out} has other sizes, {done_before}: give these, or --again.")
    for size in order[len(rows) :]:
        words = [sys.executable, "-m", "speed.large_iteration", str(folder), "--one", str(size)]
        words += ["--threads", str(threads)]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        print(f"{size:,}: {rows[-1]['processor']['all'] / size * 1e6:.1f} µs of processor time a sample", flush=True)
        out.write_text(json.dumps({**described, "task": asdict(TASK), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the pool is, or is written: 784 bytes a sample")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--note", default="", help="what else should be known of the machine")
    parser.add_argument("--again", action="store_true", help="measure what was measured before, too")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    where = given.folder.resolve()
    if given.one is not None:
        print(json.dumps(one(where, given.one, Start.read(made(TASK)), given.threads)))
    else:
        measure_all(where, given.sizes, given.threads, given.out, given.note, again=given.again)
