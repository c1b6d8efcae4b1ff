"""One model of a labelling project: a run directory, trained for as long as its classes are the project's."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from deepbass.core.acquire import ACQUIRE
from deepbass.core.admit import ADMIT
from deepbass.core.config import Config
from deepbass.core.labels import NO_IDS, UNKNOWN, Answers, Ids, Labels
from deepbass.core.loop import UNTRAINED, Method, State, Step, ask_again, run
from deepbass.core.randomness import generator, seed_for
from deepbass.data.pool import Pool
from deepbass.label.estimate import error_estimate
from deepbass.label.ranking import RANKING_FILE, Ranking
from deepbass.learn.learner import LocalLearner
from deepbass.learn.models import build, parameters
from deepbass.session.identity import versions
from deepbass.session.interrupt import uninterrupted
from deepbass.session.label_oracle import Heard, LabelOracle, Vetoes, acquire_outside, admit_unvetoed
from deepbass.session.measure import measure
from deepbass.session.packing import LABELS_FILE, LEARNER_FILE, pack_labels, unpack_labels
from deepbass.session.ranker import asking_order, make_ranking
from deepbass.session.rows import Rows
from deepbass.session.voice import Voice
from deepbass.store.rundir import RunDir

PATIENCE = 100  # iterations without any change of labels after which more training gains nothing
POLL_SECONDS = 0.5
_SOURCE = "journal"  # of the answers in the run's own rows: the words of people are in the project's journal

_CLASSES, _WAITING, _IDLE = "classes changed", "waiting", "idle"  # why the loop ends


@dataclass(frozen=True, eq=False)
class Material:
    """What all models of a project learn from."""

    name: str
    source: str
    pool: Pool
    rows: Rows
    reserve: Ids  # rows of the audit reserve
    fingerprint: str


class ModelRun:
    """A run directory and all that trains in it. Closing it lets go of the directory."""

    def __init__(
        self, run_dir: RunDir, config: Config, material: Material, learner: LocalLearner, heard: Heard, voice: Voice
    ) -> None:
        self.classes: tuple[str, ...] = tuple(run_dir.about["data"]["classes"])
        self.state = State(Labels.none(len(material.rows), len(self.classes)))
        self._run, self._config, self._material = run_dir, config, material
        self._learner, self._heard, self._voice = learner, heard, voice
        self._oracle = LabelOracle(heard, material.rows, material.reserve, lambda: self.state.labels)
        self._method = Method(
            config,
            admit=admit_unvetoed(ADMIT[config.admit], material.reserve, self._hear_vetoes),
            acquire=acquire_outside(ACQUIRE[config.acquire](config.quantile), material.reserve),
            stop=self._stop,
            mark=ask_again,
        )
        self._ranking: Ranking | None = None
        self._vetoes: Vetoes = {}  # that the iteration under way respects
        self._vetoes_before: Vetoes = {}
        self._new_items = 0  # that were mentioned
        self._quiet = 0  # iterations since anything changed
        self._audited = 0  # audit answers that the last commit was scored with

    @classmethod
    def create(
        cls, path: Path, config: Config, classes: tuple[str, ...], material: Material, heard: Heard, voice: Voice
    ) -> Self:
        """Begin a model in a new directory."""
        learner = _learner(config, material, len(classes), voice)
        learner.rehearse()
        about: dict[str, Any] = {
            "name": material.name,
            "source": material.source,
            "samples": len(material.pool),
            "shape": list(material.pool.shape),
            "classes": list(classes),
            "validation": 0,
            "notes": [],
            "parameters": parameters(learner.model),
            "fingerprint": material.fingerprint,
        }
        made_with = {**versions(), "engine": learner.engine}
        run_dir = RunDir.create(
            path, config=config.as_dict(), data=about, versions=made_with, keep=config.keep_checkpoints
        )
        return cls(run_dir, config, material, learner, heard, voice)

    @classmethod
    def resume(cls, run_dir: RunDir, material: Material, heard: Heard, voice: Voice) -> Self:
        """Go on from the newest whole checkpoint of an open run directory, or from its beginning if it has none."""
        config = Config.of(run_dir.about["config"])
        learner = _learner(config, material, len(run_dir.about["data"]["classes"]), voice)
        before = run_dir.about["versions"].get("engine", learner.engine)
        if before != learner.engine:
            voice.note(f"The model was begun with the engine {before!r} and goes on with {learner.engine!r}.")
        self = cls(run_dir, config, material, learner, heard, voice)
        self._take_up()
        return self

    def go(self) -> None:
        """Train for as long as the classes stay what they are; rest while there is nothing to gain."""
        while (reason := self._stop(self.state)) != _CLASSES:
            if reason is not None:
                self._voice.doing(reason, **({"need": self._heard.missing()} if reason == _WAITING else {}))
                time.sleep(POLL_SECONDS)
                continue
            self._voice.iteration = self.state.iteration + 1
            if self.state.iteration == UNTRAINED:
                labels = self.state.labels.answered(self._oracle.ask(NO_IDS))
                self.state = replace(self.state, labels=labels)
            self.state = replace(run(self._learner, self._oracle, self._method, self.state, self._on_step), ended=None)

    def close(self) -> None:
        """Let go of the run directory."""
        self._run.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _stop(self, state: State) -> str | None:
        """Tell why not to go on now."""
        self._heard.listen()
        self._mention_new_items()
        if self._heard.classes() != self.classes:
            return _CLASSES
        said = self._oracle.said(len(self.classes))
        if len(np.unique(said[said != UNKNOWN])) < 2:  # most labels were taken back
            return _WAITING
        changed = not np.array_equal(said, state.labels.answer) or self._oracle.vetoes() != self._vetoes_before
        unscored = len(self._heard.ledger.audit_labels()) != self._audited  # "good enough" goes by what is committed
        return _IDLE if self._quiet >= PATIENCE and not changed and not unscored else None

    def _mention_new_items(self) -> None:
        new = self._heard.items() - self._material.rows.count
        if new > self._new_items:
            self._new_items = new
            self._voice.note(f"{new} samples are new in the source: they are trained on after a restart.")

    def _hear_vetoes(self) -> Vetoes:
        self._vetoes = self._oracle.vetoes()
        return self._vetoes

    def _on_step(self, step: Step) -> None:
        """Write down an iteration: checkpoint and ranking, then the commit that makes them count."""
        state, labels = step.state, step.state.labels
        believed_with = self.state.labels
        if step.belief is None:  # the initial model, of which the loop wants to know nothing yet; people do
            seed = seed_for(self._config.seed, state.iteration, "first ranking")
            belief = self._learner.infer(None, passes=self._config.passes_pool, seed=seed)
            step = replace(step, belief=belief, answers=Answers(labels.known, labels.answer[labels.known]))
            believed_with = labels
        ranking = self._rank(step, len(believed_with.known))
        changed = len(step.answers.ids) > 0 or self._vetoes != self._vetoes_before
        quiet = 0 if changed else self._quiet + 1
        metrics = measure(replace(step, asked=NO_IDS), np.full(len(labels), UNKNOWN), float("nan"))
        audit_labels = self._heard.ledger.audit_labels()
        audited, audit = len(audit_labels), error_estimate(ranking.predicted, audit_labels)
        metrics |= {"audit": audit.n if audit else 0, "audit_errors": audit.errors if audit else 0}
        seconds = dict(self._learner.seconds)
        self._learner.seconds.clear()
        start = time.perf_counter()
        files = {
            LEARNER_FILE: self._learner.state(),
            LABELS_FILE: pack_labels(labels, self._material.rows.items),
            RANKING_FILE: ranking.pack(),
        }
        vetoes = [[row, sorted(classes)] for row, classes in self._vetoes.items()]
        info = {"quiet": quiet, "audited": audited, "vetoes": vetoes}
        with uninterrupted():
            # the checkpoint first: the commit makes it count, so that a kill in between loses only this iteration
            self._run.checkpoints.save(state.iteration, files, info)
            self._run.events.commit_step(state.iteration, metrics, seconds, NO_IDS, step.answers, _SOURCE)
            self.state, self._ranking, self._quiet, self._vetoes_before = state, ranking, quiet, self._vetoes
            self._audited = audited
        self._voice.iteration = state.iteration + 1
        saving = time.perf_counter() - start
        self._learner.seconds["save"] += saving  # counted with the next iteration
        took = sum(seconds.values()) - seconds.get("save", 0.0) + saving
        self._voice.committed(self._run.path.name, state.iteration, len(labels.known), len(labels.members), took)

    def _rank(self, step: Step, believed_with: int) -> Ranking:
        belief, labels, material = step.belief, step.state.labels, self._material
        assert belief is not None
        # one sample more than needed: a model that diverged is refused here, before it is saved
        probabilities = self._learner.probabilities(material.pool, np.append(material.reserve, 0))
        predicted = np.full(len(labels), UNKNOWN)
        predicted[material.reserve] = probabilities[:-1].argmax(1)
        askable = np.setdiff1d(labels.askable, material.reserve)
        rng = generator(self._config.seed, step.state.iteration, "ranking")
        order = asking_order(self._method.acquire, belief, askable, rng)
        return make_ranking(
            material.rows, belief, labels, order, predicted, believed_with=believed_with, before=self._ranking
        )

    def _take_up(self) -> None:
        events = self._run.events
        steps = [row.iteration for row in events.steps()]
        if not steps:  # killed before the initial model was done
            return
        checkpoint, passed_over = self._run.checkpoints.newest(steps)
        for damaged in passed_over:
            self._voice.note(f"{damaged} Going on from iteration {checkpoint.iteration}.")
        events.rewind(checkpoint.iteration)
        self._learner.restore(checkpoint.files[LEARNER_FILE])
        self._ranking = Ranking.unpack(checkpoint.files[RANKING_FILE])
        self._vetoes_before = {row: frozenset(classes) for row, classes in checkpoint.info["vetoes"]}
        self._quiet, self._audited = checkpoint.info["quiet"], checkpoint.info["audited"]
        self.state = State(unpack_labels(checkpoint.files[LABELS_FILE], len(self.classes)), checkpoint.iteration)


def _learner(config: Config, material: Material, classes: int, voice: Voice) -> LocalLearner:
    network = build(config, material.pool.shape, classes)
    return LocalLearner(network, material.pool, classes, config, voice.progress)
