"""One model of a labelling project: a run directory, trained for as long as its classes are the project's."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from deepbass.core.admit import admission
from deepbass.core.by_budget import acquisition
from deepbass.core.config import Config
from deepbass.core.labels import NO_IDS, UNKNOWN, Answers, Ids
from deepbass.core.loop import UNTRAINED, Method, State, Step, ask_again, run
from deepbass.core.randomness import generator, seed_for
from deepbass.data.pool import Pool
from deepbass.label.class_list import ClassList
from deepbass.label.estimate import error_estimate
from deepbass.label.neighbours import MOST_ITEMS, write_neighbours
from deepbass.label.ranking import Ranking
from deepbass.label.trained_models import class_ids
from deepbass.learn.carry_over import carry_over
from deepbass.learn.choose_learner import learner_for
from deepbass.learn.head_learner import HeadLearner
from deepbass.learn.learner import LocalLearner
from deepbass.learn.models import build
from deepbass.learn.teacher import TeacherLearner
from deepbass.runs.measure import measure
from deepbass.runs.recorder import Recorder
from deepbass.store.names import NEIGHBOURS_FILE, RANKING_FILE
from deepbass.store.rundir import RunDir
from deepbass.trainer.earlier_model import CARRIED_FROM, EarlierModel
from deepbass.trainer.item_rows import ItemRows
from deepbass.trainer.label_oracle import LabelOracle, LedgerReader, Vetoes, acquire_outside, admit_unvetoed
from deepbass.trainer.placing import place_items
from deepbass.trainer.ranker import RANKED, asking_order, make_ranking
from deepbass.trainer.status_writer import StatusWriter
from deepbass.trainer.supply import Supply

PATIENCE = 100  # iterations without any change of labels after which more training gains nothing
SOLVED = 2  # the same for a head that is solved: the second only tells that nothing moved
POLL_SECONDS = 0.5
_SOURCE = "journal"  # of the answers in the run's own rows: the words of people are in the project's journal

_CLASSES, _MORE, _WAITING, _IDLE = "classes changed", "more samples", "waiting", "idle"  # why the loop ends


@dataclass(frozen=True, eq=False)
class Material:
    """What all models of a project are made of: samples, and maybe a network of the user's own."""

    name: str
    source: str
    pool: Pool
    rows: ItemRows
    reserve: Ids  # rows of the audit reserve
    fingerprint: str
    named_model: str | None  # the user's own, as who started the trainer named it: no other code is run
    supply: Supply  # which may have more by now


class ModelRun:
    """A run directory and all that trains in it. Closing it lets go of the directory."""

    def __init__(
        self,
        recorder: Recorder,
        config: Config,
        material: Material,
        learner: LocalLearner,
        reader: LedgerReader,
        status: StatusWriter,
    ) -> None:
        self._recorder, self._config, self._material = recorder, config, material
        self._learner, self._reader, self._status = learner, reader, status
        self.class_ids = class_ids(recorder.run_dir.about)  # one per output of the network
        self._oracle = LabelOracle(reader, material.rows, material.reserve, self.class_ids, lambda: self.state.labels)
        self._method = Method(
            config,
            admit=admit_unvetoed(admission(config.admit, config.confidence), material.reserve, self._read_vetoes),
            acquire=acquire_outside(acquisition(config, material.pool), material.reserve),
            stop=self._stop,
            mark=ask_again,
            shown=RANKED,
        )
        self._ranking: Ranking | None = None
        self._vetoes: Vetoes = {}  # that the iteration under way respects
        self._vetoes_before: Vetoes = {}
        self._new_items = 0  # that were mentioned
        self._quiet = 0  # iterations since anything changed
        self._audited = 0  # audit answers that the last commit was scored with

    @classmethod
    def create(
        cls,
        path: Path,
        config: Config,
        classes: ClassList,
        material: Material,
        reader: LedgerReader,
        status: StatusWriter,
        carried_from: str | None = None,
    ) -> Self:
        """Begin a model in a new directory; ``carried_from`` is the one whose learning it is to `carry`."""
        learner = _learner(config, material, len(classes), status)
        learner.rehearse()
        recorder = Recorder.create(
            path,
            config,
            learner,
            name=material.name,
            source=material.source,
            pool=material.pool,
            classes=classes.names,
            fingerprint=material.fingerprint,
            more={
                "class_ids": list(classes.ids),
                CARRIED_FROM: carried_from,
                "features": material.supply.features,
            },
        )
        recorder.keep_extractor(material.supply.extractor)
        _leave_neighbours(path, config, material, status)
        return cls(recorder, config, material, learner, reader, status)

    @classmethod
    def resume(cls, run_dir: RunDir, material: Material, reader: LedgerReader, status: StatusWriter) -> Self:
        """Go on from the newest whole checkpoint of an open run directory, or from its beginning if it has none."""
        config = Config.of(run_dir.about["config"])
        learner = _learner(config, material, len(run_dir.about["data"]["classes"]), status)
        if not (run_dir.path / NEIGHBOURS_FILE).exists():  # killed before, or begun by an earlier version
            _leave_neighbours(run_dir.path, config, material, status)
        self = cls(Recorder(run_dir, learner), config, material, learner, reader, status)
        self._recorder.keep_extractor(material.supply.extractor)
        checkpoint = self._recorder.take_up(status.note)
        if checkpoint is not None:
            self._ranking = Ranking.unpack(checkpoint.files[RANKING_FILE])
            self._vetoes_before = {row: frozenset(classes) for row, classes in checkpoint.info["vetoes"]}
            self._quiet, self._audited = checkpoint.info["quiet"], checkpoint.info["audited"]
        return self

    def carry(self, earlier: EarlierModel) -> None:
        """Begin with what an earlier model of other classes or samples had learned, instead of with nothing."""
        classes = self._reader.classes

        def one_more() -> bytes:
            return _learner(self._config, self._material, len(self.class_ids) + 1, self._status).state()

        carry_over(
            earlier.state,
            len(earlier.class_ids),
            earlier.outputs_for(classes),
            self._learner,
            one_more,
            same_samples=earlier.fingerprint == self._material.fingerprint,
        )
        self._ranking = earlier.ranking.resolved(classes)

    @property
    def state(self) -> State:
        """Where the model stands: after the last iteration that counts."""
        return self._recorder.state

    def go(self) -> None:
        """Train for as long as classes and samples stay what they are; rest while there is nothing to gain."""
        while (reason := self._stop(self.state)) not in (_CLASSES, _MORE):
            if reason is not None:
                self._status.doing(reason, **({"need": self._reader.missing()} if reason == _WAITING else {}))
                time.sleep(POLL_SECONDS)
                continue
            self._status.iteration = self.state.iteration + 1
            if self.state.iteration == UNTRAINED:
                labels = self.state.labels.answered(self._oracle.ask(NO_IDS))
                self._recorder.state = replace(self.state, labels=labels)
            run(self._learner, self._oracle, self._method, self.state, self._on_step)

    def close(self) -> None:
        """Let go of the run directory."""
        self._recorder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _stop(self, state: State) -> str | None:
        """Tell why not to go on now."""
        self._reader.read()
        self._mention_new_items()
        if self._reader.classes.ids != self.class_ids:
            return _CLASSES
        material = self._material
        material.supply.want(self._reader.ledger.training_labels())
        if material.supply.grown(len(material.pool)):
            return _MORE
        given = self._oracle.given()
        if len(np.unique(given[given != UNKNOWN])) < 2:  # most labels were taken back
            return _WAITING
        changed = not np.array_equal(given, state.labels.answer) or self._oracle.vetoes() != self._vetoes_before
        unscored = len(self._reader.ledger.audit_labels()) != self._audited  # "good enough" goes by what is committed
        patience = SOLVED if isinstance(self._learner, HeadLearner) else PATIENCE
        return _IDLE if self._quiet >= patience and not changed and not unscored else None

    def _mention_new_items(self) -> None:
        new = self._reader.items() - self._material.rows.count
        if new > self._new_items:
            self._new_items = new
            self._status.note(f"{new} samples are new in the source: they are trained on after a restart.")

    def _read_vetoes(self) -> Vetoes:
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
        unknown = np.full(len(labels), UNKNOWN)
        metrics = measure(replace(step, asked=NO_IDS), unknown, None, evidence=self._learner.evidence)
        audit_labels = self._reader.ledger.audit_labels()
        audited, audit = len(audit_labels), error_estimate(ranking.predicted, audit_labels)
        scored = {"audit": audit.n if audit else 0, "audit_errors": audit.errors if audit else 0}
        vetoes = [[row, sorted(classes)] for row, classes in self._vetoes.items()]
        took = self._recorder.commit(
            state,
            {**metrics, **scored},
            NO_IDS,
            step.answers,
            _SOURCE,
            items=self._material.rows.items,
            files={RANKING_FILE: ranking.pack()},
            info={"quiet": quiet, "audited": audited, "vetoes": vetoes},
        )
        self._ranking, self._quiet, self._vetoes_before, self._audited = ranking, quiet, self._vetoes, audited
        self._status.iteration = state.iteration + 1
        name = self._recorder.run_dir.path.name
        self._status.committed(name, state.iteration, len(labels.known), len(labels.members), took)

    def _rank(self, step: Step, believed_with: int) -> Ranking:
        belief, labels, material = step.belief, step.state.labels, self._material
        assert belief is not None
        # one sample more than needed: a model that diverged is refused here, before it is saved
        probabilities = self._learner.predict(material.pool, np.append(material.reserve, 0))
        predicted = np.full(len(labels), UNKNOWN)
        predicted[material.reserve] = probabilities[:-1].argmax(1)
        askable = np.setdiff1d(labels.askable, material.reserve)
        rng = generator(self._config.seed, step.state.iteration, "ranking")
        order = asking_order(self._method.acquire, belief, labels, askable, rng)
        return make_ranking(
            material.rows,
            self._learner.calibrated(belief),
            labels,
            order,
            predicted,
            class_ids=self.class_ids,
            believed_with=believed_with,
            before=self._ranking,
        )


def _leave_neighbours(path: Path, config: Config, material: Material, status: StatusWriter) -> None:
    """Let the page find items that are like another, unless there are too many of them."""
    if material.rows.count > MOST_ITEMS:
        status.note(f"Others like one are found among at most {MOST_ITEMS:,} samples, and here are more.")
        return
    write_neighbours(path, place_items(material.pool, material.rows, generator(config.seed, 0, "neighbours")))


def _learner(config: Config, material: Material, classes: int, status: StatusWriter) -> LocalLearner:
    seen = replace(config, features=material.supply.features)
    network = build(seen, material.pool.shape, classes, named=material.named_model)
    learner = learner_for(network, material.pool, classes, config, status.progress)
    if isinstance(learner, TeacherLearner):
        learner.leave_out(material.reserve)
    return learner
