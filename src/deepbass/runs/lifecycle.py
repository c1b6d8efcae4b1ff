"""One run from its first label to its report, started anew or resumed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from shutil import rmtree
from typing import Self, cast

import numpy as np
import safetensors.torch
from torch import nn

from deepbass.core.belief import Floats
from deepbass.core.callbacks import Callbacks
from deepbass.core.config import OWN, Config
from deepbass.core.errors import ConfigError, DataError
from deepbass.core.foreign import excerpt
from deepbass.core.guard import worth_in_words
from deepbass.core.labels import UNKNOWN, Answers, Ids, Labels
from deepbass.core.loop import UNTRAINED, Learner, Oracle, State, Step, run
from deepbass.core.own_parts import OwnParts, check_built_in
from deepbass.core.own_rules import method_with
from deepbass.core.quality import Quality
from deepbass.core.randomness import generator
from deepbass.data.initial import find_initial, initial_labels, read_initial
from deepbass.data.load import Data
from deepbass.data.pool import Pool
from deepbass.features.extractor import Extractor
from deepbass.files import replace_file
from deepbass.learn.choose_learner import learner_for
from deepbass.learn.kernel.kernel_engine import MISSING, KernelEngine
from deepbass.learn.learner import LocalLearner, OnProgress
from deepbass.learn.models import build
from deepbass.learn.self_taught import SelfTaught
from deepbass.oracle import ORACLES, oracle_by_name
from deepbass.runs.besides_pixels import features_for_advice, places_of, settled
from deepbass.runs.decision_field import write_field
from deepbass.runs.identity import fingerprint, initial_key, versions
from deepbass.runs.measure import Metrics, measure
from deepbass.runs.recorder import Recorder
from deepbass.store.event_rows import INITIAL, StepRow
from deepbass.store.lock import HeldLock, patiently, wait_for_turn
from deepbass.store.names import MODEL_FILE, QUALITY_FILE, RUN_FILE
from deepbass.store.rundir import RunDir

OnMetrics = Callable[[int, Metrics], None]


@dataclass
class Watch:
    """Who looks on while a run goes: nobody, a progress display, a test."""

    on_progress: OnProgress = lambda what, share: None
    on_metrics: OnMetrics = lambda iteration, metrics: None
    on_note: Callable[[str], None] = lambda note: None
    on_config: Callable[[Config], None] = lambda config: None  # once, when the data has decided what suits it, or had
    on_workers: Callable[[Callable[[], str]], None] = lambda said: None  # once on a cluster: who computes, in a line
    bars: bool = False  # whether to show progress bars while data is fetched and decoded


@dataclass(frozen=True)
class Result:
    """What a run ended with."""

    path: Path
    accuracy: float
    labels: Labels
    classes: tuple[str, ...]
    model: nn.Module  # in evaluation mode, ready to predict
    ended: str | None
    history: list[Metrics]  # one entry per iteration; the first is the initial model's
    worth: list[str]  # beside plain learning, in words: what pseudo-labels and the choice of labels added or cost


class Run:
    """A run directory and all that works on it. Use it as a context manager: it holds the run's lock."""

    def __init__(
        self,
        recorder: Recorder,
        config: Config,
        data: Data,
        *,
        learner: LocalLearner,
        oracle: Oracle,
        own: OwnParts | None,
        callbacks: Callbacks | None,
        watch: Watch,
    ) -> None:
        self.path = recorder.run_dir.path
        self.config = config
        self.data = data
        self.learner = learner
        self._recorder, self._oracle, self._watch = recorder, oracle, watch
        self._history: list[Metrics] = []  # of the iterations that count, for stop rules
        self._callbacks = callbacks or Callbacks(None)
        pool = data.pool
        method = method_with(config, own, rows=pool.row_map, samples=learner.places, history=self._history)
        self._method = replace(method, stop=self._callbacks.stop(method.stop))
        self._source = config.oracle if config.oracle in ORACLES else "own"
        self._quality: Quality | None = None  # of the newest iteration, if it was made here
        self._shared: Path | None = None  # the file in which equal runs share their initial model
        self._turn: HeldLock | None = None  # held while this run trains it

    @property
    def versions(self) -> dict[str, str | int]:
        """What the results may depend on, the engine among it."""
        return {**versions(), "engine": self.learner.engine}

    @property
    def state(self) -> State:
        """Where the run stands: after the last iteration that counts."""
        return self._recorder.state

    def ask(self, ids: Ids) -> Answers:
        """Ask the oracle, after keeping what the samples look like, for the report."""
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
        initial: Sequence[str | int] | None = None,
        extractor: Extractor | None = None,
        model: nn.Module | str | None = None,
        oracle: Oracle | None = None,
        own: OwnParts | None = None,
        callbacks: Callbacks | None = None,
        watch: Watch | None = None,
    ) -> Self:
        """Start a run in a new directory: choose the initial labels and write down all that a resume needs.

        ``initial`` are samples of the user's choice whose labels are known, by name or row. ``extractor`` is what the
        samples' features were computed with, to be kept for predictions. ``model`` is one of the user's own, or names
        it: a function that is configured is called only if it is named. ``own`` are other parts of the user's own.
        """
        config = settled(config, data.pool)
        watch = watch or Watch()
        places = places_of(data.pool, config, watch.on_progress)
        known = _initial(config, data, initial, own, places)
        learner = _learner(config, data, model, watch, own, places)
        learner.rehearse()
        if learner.device.type == "cpu" and KernelEngine.is_missed(learner.model, data.pool, config):
            watch.on_note(MISSING)
        if isinstance(model, nn.Module):
            config = replace(config, model=OWN)
        identity = fingerprint(data)
        if oracle is None:
            oracle = oracle_by_name(config, data.truth, len(data.classes), identity)
        else:
            config = replace(config, oracle=OWN)
        recorder = Recorder.create(
            path,
            config,
            learner,
            name=data.name,
            source=source,
            pool=data.pool,
            classes=data.classes,
            fingerprint=identity,
            validation=len(data.validation),
            notes=data.notes,
            more={"features": data.features},
        )
        try:
            recorder.keep_extractor(extractor)
            self = cls(
                recorder, config, data, learner=learner, oracle=oracle, own=own, callbacks=callbacks, watch=watch
            )
            self._begin(known)
        except BaseException:
            recorder.close()
            raise
        return self

    @classmethod
    def resume(
        cls,
        run_dir: RunDir,
        data: Data,
        *,
        extractor: Extractor | None = None,
        model: nn.Module | str | None = None,
        oracle: Oracle | None = None,
        own: OwnParts | None = None,
        callbacks: Callbacks | None = None,
        watch: Watch | None = None,
    ) -> Self:
        """Go on from the newest whole checkpoint of an open run directory."""
        config = Config.of(run_dir.about["config"])
        watch = watch or Watch()
        identity = fingerprint(data)
        if identity != run_dir.about["data"]["fingerprint"]:
            raise DataError(
                f"The data is not what the run {run_dir.path} was started with "
                f"({run_dir.about['data']['samples']} samples of {run_dir.about['data']['name']!r}): samples, labels "
                "or their order have changed. Restore the data, or start a new run."
            )
        places = places_of(data.pool, config, watch.on_progress)
        learner = _learner(config, data, model, watch, own, places)
        oracle = oracle or oracle_by_name(config, data.truth, len(data.classes), identity)
        recorder = Recorder(run_dir, learner)
        recorder.keep_extractor(extractor)  # the run may have been killed just before
        self = cls(recorder, config, data, learner=learner, oracle=oracle, own=own, callbacks=callbacks, watch=watch)
        if recorder.take_up(watch.on_note) is None:  # begin again from the initial labels
            run_dir.events.rewind(0)
            known = self._initial()
            # there are none where it was killed before they were written down
            self._begin(known if len(known) else _initial(config, data, None, own, places))
        return self

    @classmethod
    def go_on_or_begin(
        cls,
        path: Path,
        config: Config,
        data: Data,
        *,
        source: str | None = None,
        extractor: Extractor | None = None,
        watch: Watch | None = None,
    ) -> Self:
        """Go on with what a directory holds, if it is a run of these settings; else begin one in its place."""
        if (path / RUN_FILE).exists():
            run_dir = patiently(lambda: RunDir.open(path))
            if Config.of(run_dir.about["config"]) == settled(config, data.pool):
                return cls.resume(run_dir, data, extractor=extractor, watch=watch)
            run_dir.close()
        if path.exists():  # half made, or left over from other settings
            rmtree(path)
        return cls.create(path, config, data, source=source, extractor=extractor, watch=watch)

    def share_initial(self, folder: Path) -> None:
        """Take the initial model from a folder in which an equal run has left it; else leave it there for others.

        While an equal run trains it, wait: whichever machine does so, it is trained once.
        """
        key = initial_key(self.config, self.data, self.learner.engine, self._initial())
        self._shared = folder / f"{key}.safetensors"
        if self.state.iteration != UNTRAINED:
            return
        folder.mkdir(parents=True, exist_ok=True)
        self._turn = wait_for_turn(self._shared.with_suffix(".lock"))
        if self._shared.exists():
            self.learner.restore(self._shared.read_bytes())
            self._on_step(Step(replace(self.state, iteration=0)))

    def steps(self) -> list[StepRow]:
        """List the iterations that count, with what was measured and how long their parts took."""
        return self._recorder.run_dir.events.steps()

    def go(self) -> Result:
        """Run to the end. Every finished iteration is safe on disk before the next one starts."""
        self._history[:] = [cast(Metrics, row.metrics) for row in self.steps()]
        learner: Learner = self.learner  # the loop sees no more of it than the protocol
        ended = run(learner, self, self._method, self.state, self._on_step).ended
        replace_file(self.path / MODEL_FILE, safetensors.torch.save(self.learner.weights()))
        history = [cast(Metrics, row.metrics) for row in self.steps()]
        worth = self._worth(history[-1])
        self._write_quality(worth, ended)
        if self.data.pool.shape == (2,):
            write_field(self.path, self.learner, self.data, self.state.labels, self._initial())
        accuracy = history[-1]["validation_accuracy"]
        assert accuracy is not None
        model = self.learner.trained_model()
        return Result(self.path, accuracy, self.state.labels, self.data.classes, model, ended, history, worth)

    def close(self) -> None:
        """Release the run directory."""
        self._end_turn()
        self._recorder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _on_step(self, step: Step) -> None:
        self._quality = self.learner.evaluate(self.data.validation, self.data.validation_labels)
        plain = self._share_right(self.learner.predict_plain(self.data.validation))
        metrics = measure(step, self.data.truth, self._quality, plain=plain, evidence=self.learner.evidence)
        self._recorder.commit(step.state, metrics, step.asked, step.answers, self._source)
        if self._shared is not None and step.state.iteration == 0 and not self._shared.exists():
            self._shared.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self._shared, self.learner.state())
        self._end_turn()
        self._history.append(metrics)
        self._watch.on_metrics(step.state.iteration, metrics)
        self._callbacks.on_step(step.state.iteration, metrics)

    def _end_turn(self) -> None:
        if self._turn is not None:
            self._turn.release()
            self._turn = None

    def _worth(self, final: Metrics) -> list[str]:
        """Say what the model is worth beside plain learning."""
        accuracy, plain = final["validation_accuracy"], final.get("plain_accuracy")
        if accuracy is None or plain is None:
            return []
        said = worth_in_words(accuracy, plain, self._at_random(), self.learner.evidence)
        return [*said, self.learner.advice_in_words] if self.learner.advice_in_words else said

    def _write_quality(self, worth: list[str], ended: str | None) -> None:
        """Keep what the final model takes for what, and why the run is over, for the report.

        A finished run that is resumed is judged again.
        """
        quality = self._quality or self.learner.evaluate(self.data.validation, self.data.validation_labels)
        written = {"iteration": self.state.iteration, **quality.as_dict(), "worth": worth, "ended": ended}
        replace_file(self.path / QUALITY_FILE, json.dumps(written).encode())

    def _at_random(self) -> float | None:
        """Measure what plain learning from as many labels drawn at random is worth; None where only people could tell.

        Nothing is chosen by it. It is there to be said: what the choice of labels has added, or cost.
        """
        known, there = self.state.labels.known, np.flatnonzero(self.data.truth != UNKNOWN)
        if self.config.oracle != "simulated" or len(there) < len(known):
            return None
        rng = generator(self.config.seed, 0, "labels at random")
        drawn = np.sort(rng.choice(there, len(known), replace=False))
        answers = Answers(drawn, self.data.truth[drawn])
        return self._share_right(self.learner.plain_from(answers, self.data.validation))

    def _share_right(self, predicted: Floats | None) -> float | None:
        if predicted is None:
            return None
        return float((predicted.argmax(1) == self.data.validation_labels).mean())

    def _begin(self, initial: Ids) -> None:
        events, answers = self._recorder.run_dir.events, Answers(initial, self.data.truth[initial])
        if not len(self._initial()):
            events.add_initial(answers.ids, answers.classes)
        self._recorder.state = State(self.state.labels.answered(answers))

    def _initial(self) -> Ids:
        """List the labels that were known at the start, as they were written down."""
        rows = self._recorder.run_dir.events.answers()
        return np.array([row.sample for row in rows if row.source == INITIAL], dtype=np.int64)

    def _describe(self, ids: Ids) -> None:
        pool = self.data.pool
        self._recorder.run_dir.events.describe_many(
            (int(id_), _shown(pool, int(id_)), pool.picture(int(id_))) for id_ in ids
        )


def _shown(pool: Pool, id_: int) -> str:
    """Name a sample; a text, or a row of a table, with how it begins."""
    text = pool.text(id_)
    return pool.name(id_) if text is None else f"{pool.name(id_)}: {excerpt(' '.join(text.split()))}"


def _learner(
    config: Config,
    data: Data,
    model: nn.Module | str | None,
    watch: Watch,
    own: OwnParts | None,
    places: SelfTaught | None,
) -> LocalLearner:
    if not isinstance(model, nn.Module):
        model = build(replace(config, features=data.features), data.pool.shape, len(data.classes), named=model)
    advised_by = features_for_advice(data.pool, config, watch.on_progress)
    return learner_for(model, data.pool, len(data.classes), config, watch.on_progress, own, advised_by, places)


def _initial(
    config: Config,
    data: Data,
    wanted: Sequence[str | int] | None,
    own: OwnParts | None,
    places: SelfTaught | None,
) -> Ids:
    """Pick the labels known at the start."""
    if wanted is None and config.initial_labels == OWN:
        raise ConfigError("initial_labels was passed in Python, as in deepbass.run(..., initial=[...]): pass it again.")
    if wanted is None and config.initial_labels is not None:
        wanted = read_initial(Path(config.initial_labels))
    if wanted is not None:
        return find_initial(wanted, data.pool, data.truth)
    check_built_in(config, ("start",), own)
    return initial_labels(config, data.pool, data.truth, data.classes, own.start if own else None, places)
