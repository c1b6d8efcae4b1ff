"""deepbass on a pool of any size that lies on disk: time, and memory that the system cannot take back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import torch

from deepbass.core.belief import Floats
from deepbass.core.config import Config
from deepbass.core.labels import Ids
from deepbass.data.pool import Pool
from deepbass.learn.learner import LocalLearner
from deepbass.learn.memory import keep_freed_memory
from deepbass.learn.models import paper_cnn
from speed.ours import all_guessed
from speed.start import CLASSES, Start
from speed.task import Task
from speed.timed import Timed, clocked


class ScaleSide:
    """One size of pool and one kind of work in a process of its own, so that peaks do not mix."""

    def __init__(self, task: Task, start: Start, *, path: str, size: int, work: str) -> None:
        keep_freed_memory()
        self._task, self._work = task, work
        samples = np.lib.format.open_memmap(Path(path), mode="r")[:size]
        self._classes = np.resize(np.where(start.answer >= 0, start.answer, start.guess), size)
        self._size = size
        model = paper_cnn((1, 28, 28), CLASSES)
        model.load_state_dict({name: torch.from_numpy(array) for name, array in start.weights.items()})
        config = Config(batch_size=task.batch, infer_batch=task.batch)
        self._learner = LocalLearner(model, Pool(samples, "train"), CLASSES, config)
        self._do(self._some(2 * task.batch))  # to load, compile and touch everything once

    @property
    def about(self) -> dict[str, Any]:
        """Threads."""
        return {"threads": torch.get_num_threads()}

    @property
    def pieces(self) -> dict[str, Callable[[], Timed]]:
        """The whole pool, with its memory, and a fixed number of samples from all over it."""
        return {"whole": self._whole, "slice": self._slice}

    def answers(self, what: str, ids: Ids, passes: int) -> Floats:
        """Infer."""
        return self._learner.infer(ids, passes=passes, seed=1).mean_N_C

    def _some(self, count: int) -> Ids:
        """Choose samples from all over the pool."""
        return np.unique(np.linspace(0, self._size - 1, min(count, self._size)).astype(np.int64))

    def _do(self, ids: Ids | None) -> dict[str, int]:
        """Do the work over some samples or all; return the bytes of each array that has an entry a sample."""
        if self._work == "infer":
            belief = self._learner.infer(ids, passes=self._task.scale_passes, seed=1)
            return _arrays("belief", belief)
        classes = self._classes.copy()
        if ids is not None:
            classes[:] = -1
            classes[ids] = self._classes[ids]
        labels = all_guessed(classes)
        self._learner.train(labels, epochs=1, copies=self._task.copies, seed=1)
        shown, of_class = labels.curriculum(self._task.copies)
        epoch = {"epoch: ids": shown.nbytes, "epoch: order": shown.nbytes, "epoch: classes": of_class.nbytes}
        return {**_arrays("labels", labels), **epoch, "this benchmark's labels": classes.nbytes}

    def _whole(self) -> Timed:
        base, results = anonymous(), {}
        with Peak() as peak:
            timed = clocked(lambda: results.update(self._do(None)))
        results |= {"this benchmark's classes": self._classes.nbytes}
        facts = {"base_bytes": base, "peak_bytes": peak.bytes, "results_bytes": sum(results.values())}
        return Timed(timed.seconds, facts={**facts, "results": results})

    def _slice(self) -> Timed:
        ids = self._some(self._task.scale_slice)
        return Timed(clocked(lambda: self._do(ids)).seconds, facts={"samples": len(ids)})


def _arrays(owner: str, value: Any) -> dict[str, int]:
    """List the arrays of a dataclass with their bytes."""
    named = ((field.name, getattr(value, field.name)) for field in fields(value))
    return {f"{owner}: {name}": array.nbytes for name, array in named if isinstance(array, np.ndarray)}


class Peak:
    """Watch the anonymous memory of this process from a thread; pages of a mapped file are not in it."""

    def __init__(self) -> None:
        self.bytes = anonymous()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._end.wait(0.02):
            self.bytes = max(self.bytes, anonymous())


def anonymous(kind: str = "RssAnon:") -> int:
    """Read RssAnon: what this process holds in memory that is no file's; 0 where the system does not tell."""
    path = Path("/proc/self/status")
    if not path.exists():
        return 0
    return int(path.read_text().split(kind)[1].split()[0]) * 1024
