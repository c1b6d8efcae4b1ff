"""The state in the middle of a run from which every side starts: the same weights, answers and guesses for all."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from deepbass.core.config import Config
from deepbass.core.labels import Classes, Labels
from deepbass.core.loop import Method, State, run
from deepbass.data import choose_initial
from deepbass.files import cache_folder
from deepbass.oracle import Simulated
from speed.task import Floats32, Task, mnist

CLASSES = 10


@dataclass(frozen=True)
class Start:
    """Weights by torch's names, what is known, and what is guessed."""

    weights: dict[str, Floats32]
    answer: Classes
    guess: Classes

    @property
    def labels(self) -> Labels:
        """The same as deepbass's labels."""
        return Labels(CLASSES, self.answer.copy(), self.guess.copy(), np.zeros(len(self.answer), dtype=np.bool_))

    @property
    def known(self) -> Classes:
        """Ids of what is known."""
        return np.flatnonzero(self.answer >= 0)

    @classmethod
    def read(cls, path: Path) -> Start:
        """Read a state that was made before."""
        arrays = safetensors.numpy.load_file(path)
        answer, guess = arrays.pop("answer"), arrays.pop("guess")
        return cls({name.removeprefix("model."): array for name, array in arrays.items()}, answer, guess)


def made(task: Task, *, again: bool = False) -> Path:
    """Find the state of a task in the cache; if it is not there, let a process of its own make it."""
    sizes = {
        name: value
        for name, value in asdict(task).items()
        if name in {"samples", "known", "passes_pool", "copies", "batch", "start_epochs", "start_iterations"}
    }
    digest = hashlib.sha256(json.dumps(sizes, sort_keys=True).encode()).hexdigest()[:12]
    path = cache_folder() / "bench" / f"start-{digest}.safetensors"
    if again or not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        words = [sys.executable, "-m", "speed.start", str(path), json.dumps(asdict(task))]
        subprocess.run(words, check=True, cwd=Path(__file__).parents[1])
    return path


def _make(task: Task) -> dict[str, Any]:
    """Train on the known labels and then by the method itself, without questions."""
    from deepbass.learn.learner import LocalLearner
    from deepbass.learn.memory import keep_freed_memory
    from deepbass.learn.models import build

    keep_freed_memory()
    data = mnist(task)
    config = Config(
        acquire="none",
        initial_epochs=task.start_epochs,
        iterations=task.start_iterations,
        passes_pool=task.passes_pool,
        passes_known=task.passes_known,
        copies=task.copies,
        batch_size=task.batch,
    )
    initial = choose_initial(data.truth, CLASSES, task.known, config.seed)
    answer = np.full(len(data.pool), -1, dtype=np.int64)
    answer[initial] = data.truth[initial]
    nothing = np.full_like(answer, -1)
    labels = Labels(CLASSES, answer, nothing, np.zeros(len(answer), dtype=np.bool_))
    learner = LocalLearner(build(config, data.pool.shape, CLASSES), data.pool, CLASSES, config)
    oracle = Simulated(data.truth, CLASSES)
    end = run(learner, oracle, Method.of(config), State(labels), lambda step: None)
    weights = {
        f"model.{name}": np.ascontiguousarray(tensor.cpu().numpy())
        for name, tensor in learner.model.state_dict().items()
    }
    return {**weights, "answer": end.labels.answer.astype(np.int64), "guess": end.labels.guess.astype(np.int64)}


if __name__ == "__main__":
    out = Path(sys.argv[1])
    beside = out.with_suffix(".part")
    safetensors.numpy.save_file(_make(Task.of(json.loads(sys.argv[2]))), beside)
    beside.replace(out)  # others see the whole file or none
