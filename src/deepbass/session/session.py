"""One run from its first label to its report, started anew or resumed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
import safetensors.torch
from torch import nn

from deepbass.core.config import Config
from deepbass.core.errors import ConfigError, DataError
from deepbass.core.labels import UNKNOWN, Answers, Ids, Labels
from deepbass.core.loop import UNTRAINED, Learner, Method, Oracle, State, Step, run
from deepbass.data.initial import choose_initial
from deepbass.data.load import Data
from deepbass.learn.learner import LocalLearner, OnProgress
from deepbass.learn.models import build, parameters
from deepbass.oracle import People, Replayed, Simulated
from deepbass.session.field import write_field
from deepbass.session.identity import fingerprint, versions
from deepbass.session.interrupt import uninterrupted
from deepbass.session.measure import Metrics, measure
from deepbass.session.packing import LABELS_FILE, LEARNER_FILE, pack_labels, unpack_labels
from deepbass.store.files import replace_file
from deepbass.store.rundir import RunDir

MODEL_FILE = "model.safetensors"
_OWN_MODEL = "(passed in Python)"

OnMetrics = Callable[[int, Metrics], None]


@dataclass
class Watch:
    """Who looks on while a run goes: nobody, a progress display, a test."""

    on_progress: OnProgress = lambda what, share: None
    on_metrics: OnMetrics = lambda iteration, metrics: None
    on_note: Callable[[str], None] = lambda note: None
    bars: bool = False  # whether to show progress bars while data is fetched and decoded


@dataclass(frozen=True)
class Result:
    """What a run ended with."""

    path: Path
    accuracy: float
    labels: Labels
    classes: tuple[str, ...]
    model: nn.Module
    ended: str | None
    history: list[Metrics]  # one entry an iteration; the first is the initial model's


class Session:
    """A run directory and all that works on it. Use it as a context manager: it holds the run's lock."""

    def __init__(
        self,
        run_dir: RunDir,
        config: Config,
        data: Data,
        *,
        learner: LocalLearner,
        oracle: Oracle | None,
        watch: Watch,
    ) -> None:
        self.path = run_dir.path
        self.config = config
        self.data = data
        self.learner = learner
        self._run, self._watch = run_dir, watch
        self._source: str | None = config.oracle if oracle is None else "own"
        if oracle is None and config.oracle == "people":
            self._source = None  # people's answers are rows before the loop hears of them
        self.state = State(Labels.none(len(data.pool), len(data.classes)))
        self._oracle = oracle or _oracle(config, data, run_dir, lambda: self.state.iteration + 1)

    def ask(self, ids: Ids) -> Answers:
        """Ask the oracle, after keeping what the samples look like: for the people asked, and for the report."""
        self._describe(ids)
        return self._oracle.ask(ids)

    @classmethod
    def create(
        cls,
        path: str | PathLike[str],
        config: Config,
        data: Data,
        *,
        source: str | None = None,
        model: nn.Module | None = None,
        oracle: Oracle | None = None,
        watch: Watch | None = None,
    ) -> Self:
        """Start a run in a new directory: choose the initial labels and write down all that a resume needs."""
        initial = _initial(config, data)
        watch = watch or Watch()
        learner = _learner(config, data, model, watch)
        learner.rehearse()
        if model is not None:
            config = Config.of({**config.as_dict(), "model": _OWN_MODEL})
        about: dict[str, Any] = {
            "name": data.name,
            "source": source,
            "samples": len(data.pool),
            "shape": list(data.pool.shape),
            "classes": list(data.classes),
            "validation": len(data.validation),
            "notes": list(data.notes),
            "parameters": parameters(learner.model),
            "fingerprint": fingerprint(data),
        }
        if config.oracle == "replay":
            _check_replayed(config, about["fingerprint"])
        run_dir = RunDir.create(
            path,
            config=config.as_dict(),
            data=about,
            versions={**versions(), "engine": learner.engine},
            keep=config.keep_checkpoints,
        )
        try:
            self = cls(run_dir, config, data, learner=learner, oracle=oracle, watch=watch)
            self._begin(initial)
        except BaseException:
            run_dir.close()
            raise
        return self

    @classmethod
    def resume(
        cls,
        run_dir: RunDir,
        data: Data,
        *,
        model: nn.Module | None = None,
        oracle: Oracle | None = None,
        watch: Watch | None = None,
    ) -> Self:
        """Go on from the newest whole checkpoint of an open run directory."""
        config = Config.of(run_dir.about["config"])
        watch = watch or Watch()
        if fingerprint(data) != run_dir.about["data"]["fingerprint"]:
            raise DataError(
                f"The data is not what the run {run_dir.path} was started with "
                f"({run_dir.about['data']['samples']} samples of {run_dir.about['data']['name']!r}): samples, labels "
                "or their order have changed. Restore the data, or start a new run."
            )
        if model is None and config.model == _OWN_MODEL:
            raise ConfigError(
                f"The model of {run_dir.path} was passed in Python: resume it there, with "
                f"deepbass.resume({str(run_dir.path)!r}, model=...)."
            )
        learner = _learner(config, data, model, watch)
        before = run_dir.about["versions"].get("engine", learner.engine)
        if before != learner.engine:
            watch.on_note(
                f"The run was started with the engine {before!r} and goes on with {learner.engine!r}: rounding and "
                "dropout masks differ from here on."
            )
        self = cls(run_dir, config, data, learner=learner, oracle=oracle, watch=watch)
        self._take_up()
        return self

    def begin_with(self, trained: bytes) -> None:
        """Take the initial model from an equal run, which has trained it already, instead of training it again."""
        if self.state.iteration == UNTRAINED:
            self.learner.restore(trained)
            self._on_step(Step(replace(self.state, iteration=0)))

    def go(self) -> Result:
        """Run to the end. Every finished iteration is safe on disk before the next one starts."""
        learner: Learner = self.learner  # the loop sees no more of it than the protocol
        self.state = run(learner, self, Method.of(self.config), self.state, self._on_step)
        replace_file(self.path / MODEL_FILE, safetensors.torch.save(self._weights()))
        if self.data.pool.shape == (2,):
            write_field(self.path, self.learner, self.data, self.state.labels, _initial(self.config, self.data))
        history = [row.metrics for row in self._run.events.steps()]
        accuracy = history[-1]["validation_accuracy"]
        assert accuracy is not None
        return Result(
            self.path, accuracy, self.state.labels, self.data.classes, self.learner.model, self.state.ended, history
        )

    def close(self) -> None:
        """Release the run directory."""
        self._run.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _on_step(self, step: Step) -> None:
        accuracy = self.learner.evaluate(self.data.validation, self.data.validation_labels)
        metrics = measure(step, self.data.truth, accuracy)
        seconds = dict(self.learner.seconds)
        self.learner.seconds.clear()
        start = time.perf_counter()
        with uninterrupted():
            # the checkpoint first: the commit makes it count, so that a kill in between loses only this iteration
            files = {LEARNER_FILE: self.learner.state(), LABELS_FILE: pack_labels(step.state.labels)}
            self._run.checkpoints.save(step.state.iteration, files, {})
            self._run.events.commit_step(step.state.iteration, metrics, seconds, step.asked, step.answers, self._source)
            self.state = step.state
        self.learner.seconds["save"] += time.perf_counter() - start  # counted with the next iteration
        self._watch.on_metrics(step.state.iteration, metrics)

    def _begin(self, initial: Ids) -> None:
        events, answers = self._run.events, Answers(initial, self.data.truth[initial])
        if not any(row.source == "initial" for row in events.answers()):
            events.add_initial(answers.ids, answers.classes)
        self.state = State(self.state.labels.answered(answers))

    def _take_up(self) -> None:
        events = self._run.events
        steps = [row.iteration for row in events.steps()]
        if not steps:  # killed before the initial model was done: begin again from the initial labels
            events.rewind(0)
            self._begin(_initial(self.config, self.data))
            return
        checkpoint, passed_over = self._run.checkpoints.newest(steps)
        for damaged in passed_over:
            self._watch.on_note(f"{damaged} Going on from iteration {checkpoint.iteration}.")
        events.rewind(checkpoint.iteration)  # what was written beyond it will be written again
        self.learner.restore(checkpoint.files[LEARNER_FILE])
        labels = unpack_labels(checkpoint.files[LABELS_FILE], len(self.data.classes))
        self.state = State(labels, checkpoint.iteration)

    def _describe(self, ids: Ids) -> None:
        pool = self.data.pool
        self._run.events.describe_many((int(id_), pool.name(int(id_)), pool.picture(int(id_))) for id_ in ids)

    def _weights(self) -> dict[str, Any]:
        return {name: tensor.cpu().contiguous().clone() for name, tensor in self.learner.model.state_dict().items()}


def _learner(config: Config, data: Data, model: nn.Module | None, watch: Watch) -> LocalLearner:
    network = model if model is not None else build(config, data.pool.shape, len(data.classes))
    return LocalLearner(network, data.pool, len(data.classes), config, watch.on_progress)


def _initial(config: Config, data: Data) -> Ids:
    """Pick the labels known at the start; with people as the oracle, all labels that the data brings."""
    if config.oracle == "people":
        return np.flatnonzero(data.truth != UNKNOWN)
    return choose_initial(data.truth, data.classes, config.initial, config.seed)


def _oracle(config: Config, data: Data, run_dir: RunDir, iteration: Callable[[], int]) -> Oracle:
    if config.oracle == "people":
        return People(run_dir.events, iteration)
    if config.replay is not None:
        return Replayed.of_run(config.replay)
    return Simulated(data.truth, len(data.classes), error_rate=config.oracle_error, seed=config.seed)


def _check_replayed(config: Config, expected: str) -> None:
    assert config.replay is not None
    with RunDir.open(config.replay, lock=False) as earlier:
        if earlier.about["data"]["fingerprint"] != expected:
            raise ConfigError(
                f"replay = {config.replay!r} was made on other data ({earlier.about['data']['name']!r}, "
                f"{earlier.about['data']['samples']} samples), so its answers do not fit. Use the same data and seed."
            )
