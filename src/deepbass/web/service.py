"""Takes answers and gives out questions: one thread that owns the journal, without HTTP.

It has the only connection that writes labels, and all state that depends on them: ledger, queue, newest model. Whoever
wants something leaves a job and gets a future. All answers that arrived while a commit was under way are
committed as one group, so that a disk that takes its time delays people, but not one after the other.

A future of answers is done when they are on the disk, never before.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from deepbass.core.errors import StoreError
from deepbass.label import class_edits
from deepbass.label.acts import AT_ONCE, CHOSEN, OWN_UIDS, Act, NewAct, Question
from deepbass.label.alike import find_alike, objection_to_alike
from deepbass.label.class_list import ClassChange, ClassList
from deepbass.label.contents import Content
from deepbass.label.guesses import guess_levels
from deepbass.label.items import Items
from deepbass.label.journal import Journal, RefusedAct
from deepbass.label.neighbours import Neighbours
from deepbass.label.pictures import Sight, Unpicturable
from deepbass.label.project import Project
from deepbass.label.queue import Queue
from deepbass.label.reasons import VETO, Reason, reason_for
from deepbass.label.spread import LOOKED_AT, spread
from deepbass.label.trained_models import newest_model
from deepbass.store.lock import HeldLock
from deepbass.web import views
from deepbass.web.audit_results import audit_results
from deepbass.web.jobs import Jobs, attempt, fulfil
from deepbass.web.panel import Panel
from deepbass.web.requests import Incoming

LOG = logging.getLogger("deepbass.web")

T = TypeVar("T")

_REASONS = 2000  # questions whose reasons are remembered, beyond which those that nobody has in hand are forgotten


@dataclass(frozen=True)
class Receipt:
    """What became of some answers, and what to ask next."""

    saved: list[str]
    refused: list[RefusedAct]
    questions: list[Question]  # that the page does not hold yet
    panel: dict[str, Any]
    last: Act | None  # what undo would take back


@dataclass(frozen=True, eq=False)
class _Answers:
    annotator: str
    incoming: Incoming
    done: Future[Receipt]


class LabelService:
    """Thread-safe from outside. ``on_news`` is called from its thread with "labels", "ranking" or "classes"."""

    def __init__(
        self,
        project: Project,
        items: Items,
        on_news: Callable[[str], None] = lambda kind: None,
        *,
        lock: HeldLock | None = None,
    ) -> None:
        """Become the one who writes labels; ``lock`` is the project's, if it is held already."""
        self.project = project
        self.items = items
        self.on_news = on_news
        self._lock = lock if lock is not None else project.lock()
        try:
            self._journal = Journal.open(project.labels_db)
        except BaseException:
            self._lock.release()
            raise
        try:
            self.taken_up = project.take_up(self._journal, items)
            self._ledger = project.ledger(self._journal)
            self.names, self._gone = self.taken_up.items.names, self.taken_up.items.missing
            self.here = len(self.names) - len(self._gone)
            self._queue = Queue.of(project, len(self.names), self._ledger, self._journal.leases(), self._gone)
            self.people = {name: hashed for name, hashed in self._journal.people().items() if hashed}
            self._classes = self._journal.class_list()
            self._newest = newest_model(project)  # as its trainer wrote it
            self._model = self._newest and self._newest.resolved(self._classes)  # in terms of the classes of now
            self._queue.ranking = self._model.ranking if self._model else None
            self._neighbours = Neighbours.open(self._newest.path) if self._newest else None
        except BaseException:
            self._let_go()
            raise
        self._reasons: dict[int, tuple[str, Reason]] = {}  # by item: whom it was handed out to, and why
        self._along: dict[str, float] = {}  # until when people take questions along
        self._panel = Panel(project, self._gone)
        self._guesses = views.Guesses(self._gone)
        self._disagreements = views.Disagreements()
        self._spreader: threading.Thread | None = None
        self._jobs = Jobs("service", self._commit)

    # what people want

    def answer(self, annotator: str, incoming: Incoming) -> Future[Receipt]:
        """Write answers down, and hand out further questions."""
        job = _Answers(annotator, incoming, Future())
        self._jobs.put(job)
        return job.done

    def next(self, annotator: str, count: int) -> Future[tuple[list[Question], str | None]]:
        """Hand out questions, those in hand first; without any, say why."""

        def work() -> tuple[list[Question], str | None]:
            now = time.time()
            questions = self._hand_out(annotator, count, now)
            self._save_leases()
            return questions, None if questions else self._queue.why_empty(annotator, now)

        return self._jobs.call(work)

    def take_along(
        self, annotator: str, count: int, hours: float, holding: Sequence[int]
    ) -> Future[tuple[list[Question], str | None]]:
        """Hand out questions for hours without a server, with those in hand first; without hours, take them back.

        What the page ``holds`` comes first. Of questions that are taken back the first ``count`` stay with the person.
        """

        def work() -> tuple[list[Question], str | None]:
            now = time.time()
            self._along[annotator] = now + hours * 3600
            if not hours:
                mine = {lease.item for lease in self._queue.leases.of(annotator)}
                self._queue.give_back(annotator, [item for item in holding if item in mine][:count], now)
            questions = self._hand_out(annotator, count, now, holding)
            self._save_leases()
            return questions, None if questions else self._queue.why_empty(annotator, now)

        return self._jobs.call(work)

    def audit_first(self, annotator: str, count: int, showing: int | None) -> Future[int]:
        """Let a person's next questions be of the audit; tell how many there are."""

        def work() -> int:
            there = self._queue.audit_first(annotator, count, time.time(), showing)
            self._save_leases()
            return there

        return self._jobs.call(work)

    def targets(self) -> Future[list[dict[str, Any]]]:
        """List the targets that may be chosen, and what each takes."""
        return self._jobs.call(lambda: self._panel.targets(self._ledger, self._classes, self._model))

    def choose_target(self, target: float | None, annotator: str) -> Future[dict[str, Any]]:
        """Let the model be judged by another target from now on; return the panel. It is on the disk by then."""

        def work() -> dict[str, Any]:
            self.project = self.project.choose_target(target, annotator)
            self._panel.use(self.project)
            self._tell("target")
            return self._numbers()

        return self._jobs.call(work)

    def last(self, annotator: str) -> Future[list[Act]]:
        """Tell what undo would take back: the acts of one click."""
        return self._jobs.call(lambda: self._ledger.last_group_of(annotator))

    # classes

    def classes(self) -> ClassList:
        """Tell what the classes are."""
        return self._classes  # replaced, never changed

    def class_counts(self) -> Future[dict[int, int]]:
        """Tell how many labels each class has."""
        return self._jobs.call(lambda: {class_: self._ledger.by_class.get(class_, 0) for class_ in self._classes.ids})

    def add_class(self, name: str, annotator: str) -> Future[tuple[int, ClassChange | None]]:
        """Add a class, or find the one of that name: then nothing has changed."""

        def work() -> tuple[int, ClassChange | None]:
            before = len(self._classes.changes)
            class_ = self._journal.add_class(name, annotator)
            self._see_classes()
            return class_, self._classes.changes[-1] if len(self._classes.changes) > before else None

        return self._jobs.call(work)

    def rename_class(self, class_: int, name: str, annotator: str) -> Future[ClassChange]:
        """Give a class another name."""
        return self._change_classes(lambda: self._journal.rename_class(class_, name, annotator))

    def merge_class(self, class_: int, into: int, annotator: str) -> Future[tuple[ClassChange, int]]:
        """Let the labels of a class count for another; tell how many they are."""
        return self._change_classes(
            lambda: class_edits.merge_class(self._journal, self._ledger, class_, into, annotator)
        )

    def remove_class(self, class_: int, labels: int, annotator: str) -> Future[ClassChange]:
        """Let a class be no more, if it has as many labels as whoever wants it believes."""
        return self._change_classes(
            lambda: class_edits.remove_class(self._journal, self._ledger, class_, labels, annotator)
        )

    def undo_class_change(self, change: int, annotator: str) -> Future[ClassChange]:
        """Take a change of the classes back."""
        return self._change_classes(
            lambda: class_edits.undo_class_change(self._journal, self._ledger, change, annotator)
        )

    # what people look at

    def panel(self) -> Future[dict[str, Any]]:
        """Add up where things stand."""
        return self._jobs.call(self._numbers)

    def annotators(self) -> Future[list[str]]:
        """List who has labelled anything."""
        return self._jobs.call(lambda: sorted(self._ledger.by_annotator))

    def guess(self, item: int, annotator: str) -> Future[dict[str, Any] | None]:
        """Tell the model's guess; not for an audit question before its answer, which must not hang on the model."""

        def work() -> dict[str, Any] | None:
            if item in self._ledger.reserve and self._ledger.standing(item, annotator) is None:
                return None
            return views.guess_json(self._model, item)

        return self._jobs.call(work)

    def alike(self, item: int, annotator: str, count: int) -> Future[dict[str, Any]]:
        """List what is likest to an item and may get its label, nearest first."""

        def work() -> dict[str, Any]:
            ledger, leases = self._ledger, self._queue.leases
            found = find_alike(
                self._neighbours, ledger, leases, self._gone, len(self.names), item, annotator, count, time.time()
            )
            return views.alike_json(found, self.names, self._model)

        return self._jobs.call(work)

    def note(self, item: int) -> Future[str]:
        """Tell the note on an item; "" where there is none."""
        return self._jobs.call(lambda: self._ledger.holds(item).note)

    def history(self, sought: views.Sought) -> Future[dict[str, Any]]:
        """List the earlier answers that are sought, newest first."""
        return self._jobs.call(
            lambda: views.history(self._ledger, self.names, self._classes, sought, self._journal.reasons)
        )

    def guesses(self, class_: int | None, least: float, offset: int, limit: int) -> Future[dict[str, Any]]:
        """List what the model labelled itself as of one class (None: the first), most doubtful first."""

        def work() -> dict[str, Any]:
            chosen = class_ if class_ is not None else next(iter(self._classes.ids), -1)
            return self._guesses.page(
                self._model, self._ledger, self.names, self._classes, chosen, least, offset, limit
            )

        return self._jobs.call(work)

    def guess_levels(self) -> Future[dict[str, Any]]:
        """Tell what other thresholds would give, and how often the model is wrong at each."""
        return self._jobs.call(lambda: views.levels_json(guess_levels(self._model, self._ledger, self._gone)))

    def audit_results(self) -> Future[dict[str, Any]]:
        """Tell what the audit shows of the newest model, class by class."""
        return self._jobs.call(lambda: audit_results(self._model, self._ledger, self.names, self._classes))

    def disagreements(self) -> Future[dict[str, Any]]:
        """List where people differ, and how far they agree."""
        return self._jobs.call(lambda: self._disagreements.all(self._ledger, self.names))

    # what the trainer and the start bring

    def look_for_model(self) -> None:
        """Take up the newest model. Files are read in the calling thread: the service's own never waits for them."""
        model = newest_model(self.project, self._newest)
        if model is not None and model is not self._newest:
            neighbours, order = Neighbours.open(model.path), self._queue.sort(model.ranking)

            def work() -> None:
                self._newest, self._neighbours = model, neighbours
                self._queue.rank(model.ranking, order)
                self._see_model()
                self._tell("ranking")

            self._jobs.call(work)

    def spread_out(self) -> None:
        """Find an order for the time before there is a model, in a thread of its own: it looks at pictures."""
        if self._model is None and self._spreader is None:
            self._spreader = threading.Thread(target=self._find_spread, name="spread", daemon=True)
            self._spreader.start()

    def close(self) -> None:
        """Finish the jobs that wait, then close the journal."""
        self._jobs.close()
        if self._spreader is not None:
            self._spreader.join()
        self._let_go()

    # the thread

    def _change_classes(self, work: Callable[[], T]) -> Future[T]:
        def change() -> T:
            changed = work()
            self._see_classes()
            return changed

        return self._jobs.call(change)

    def _see_classes(self) -> None:
        """Take up what the classes are now: labels, questions, guesses and numbers follow."""
        classes = self._journal.class_list()
        if len(classes.changes) == len(self._classes.changes):
            return
        self._classes = classes
        self._ledger.reclass(classes)
        self._queue.reclassed()
        self._panel.reclassed()
        self._see_model()
        self._tell("classes")

    def _see_model(self) -> None:
        self._model = self._newest and self._newest.resolved(self._classes)
        self._queue.ranking = self._model.ranking if self._model else None

    def _commit(self, group: list[_Answers]) -> None:
        """Write down the answers of all in one transaction, then give everyone their receipt."""
        try:
            written = self._write(group)
        except StoreError as error:  # nothing of it was written; the pages keep it and try again
            for job in group:
                job.done.set_exception(error)
            return
        except Exception as error:
            LOG.exception("Answers could not be taken.")
            if len(group) == 1:
                group[0].done.set_exception(error)
                return
            for job in group:  # one of them is at fault, and shall not hold up the others
                self._commit([job])
            return
        panel = self._numbers()
        receipts = [attempt(partial(self._receipt, job, acts, panel)) for job, acts in written]
        self._save_leases()
        for (job, _), receipt in zip(written, receipts, strict=True):
            fulfil(job.done, receipt)
        self._tell("labels")

    def _write(self, group: list[_Answers]) -> list[tuple[_Answers, list[Act | RefusedAct]]]:
        now = time.time()
        sent = [(raw, self._refusal(raw, job.annotator, now)) for job in group for raw in job.incoming.acts]
        signed = (job.annotator for job in group for _ in job.incoming.acts)
        acts = [self._new_act(raw, who) for (raw, refused), who in zip(sent, signed, strict=True) if not refused]
        with self._journal.transaction():
            results_of_all = self._journal.write(acts)
            self._journal.add_reasons(self._reasons_of(results_of_all))
        written = iter(results_of_all)
        refusals = iter([refused for _, refused in sent])
        found = []
        for job in group:
            results = [next(refusals) or next(written) for _ in job.incoming.acts]
            for result in results:
                if isinstance(result, Act):
                    self._queue.take(result, now)
                    self._panel.heard(result, self._ledger)
            found.append((job, results))
        return found

    def _hand_out(self, annotator: str, count: int, now: float, holding: Sequence[int] = ()) -> list[Question]:
        """Hand out questions: for whoever takes some along, for as long as they said."""
        along = self._along.get(annotator, now) - now
        usual = self.project.settings.lease_seconds
        questions = self._queue.next(annotator, count, now, holding, max(usual, along))
        self._note_reasons(annotator, questions)
        return questions

    def _note_reasons(self, annotator: str, questions: list[Question]) -> None:
        """Remember what the model makes of what it asks: by the time of the answer another one may be there."""
        refused = self._ledger.vetoes()
        for question in questions:
            item = question.item
            if question.why != "rank" or self._reasons.get(item, ("",))[0] == annotator:
                continue
            rule = VETO if item in refused else str(self._model.about["config"]["acquire"]) if self._model else ""
            if (reason := reason_for(self._queue.ranking, item, rule)) is not None:
                self._reasons[item] = annotator, reason
        if len(self._reasons) > _REASONS:  # of questions that nobody answers any more
            self._reasons = {item: of for item, of in self._reasons.items() if self._queue.leases.on(item)}

    def _reasons_of(self, written: Sequence[Act | RefusedAct]) -> dict[int, Reason]:
        """Find why the model asked what is labelled now, and was not before."""
        found = {}
        for act in written:
            if isinstance(act, Act) and act.kind == "label" and act.why == "rank" and act.id > self._ledger.last:
                whose, reason = self._reasons.get(act.item, ("", None))
                if reason is not None and whose == act.annotator:
                    found[act.id] = reason
        return found

    def _refusal(self, raw: NewAct, annotator: str, now: float) -> RefusedAct | None:
        """Refuse what is not the page's to send, and what was free when it was shown but is not any more."""
        if raw.uid.startswith(OWN_UIDS):
            return RefusedAct(raw.uid, "ids of this kind are given by deepbass alone")
        shaped = isinstance(raw.why, str) and isinstance(raw.item, int)  # the journal refuses what is not
        if not shaped or raw.why not in AT_ONCE or self._ledger.act(raw.uid) is not None:
            return None
        reason = objection_to_alike(self._ledger, self._queue.leases, raw.item, annotator, now)
        return None if reason is None else RefusedAct(raw.uid, reason)

    def _new_act(self, raw: NewAct, annotator: str) -> NewAct:
        """Sign an act. Why the item was looked at is known here, but for what the page looked up by itself."""
        why = raw.why
        if not isinstance(why, str) or why not in CHOSEN:
            known = isinstance(raw.item, int) and 0 <= raw.item < len(self.names)
            why = self._queue.why(raw.item, annotator) if known else "rank"
        return replace(raw, annotator=annotator, why=why)

    def _receipt(self, job: _Answers, results: list[Act | RefusedAct], panel: dict[str, Any]) -> Receipt:
        mine = {lease.item for lease in self._queue.leases.of(job.annotator)}
        holding = [item for item in job.incoming.holding if item in mine]
        questions = []
        if job.incoming.want:
            count = len(holding) + job.incoming.want
            questions = self._hand_out(job.annotator, count, time.time(), holding)
        return Receipt(
            [result.uid for result in results if isinstance(result, Act)],
            [result for result in results if isinstance(result, RefusedAct)],
            [question for question in questions if question.item not in holding],
            panel,
            self._ledger.last_of(job.annotator),
        )

    def _numbers(self) -> dict[str, Any]:
        return self._panel.numbers(self._ledger, self._classes, self._model)

    def _save_leases(self) -> None:
        try:
            self._journal.save_leases(self._queue.leases.unsaved())
        except StoreError as error:  # they are for convenience: no reason to withhold a receipt
            LOG.warning("%s", error)

    def _tell(self, news: str) -> None:
        try:
            self.on_news(news)
        except Exception:  # whoever listens badly must not stop the service
            LOG.exception("News of %s were not heard.", news)

    def _find_spread(self) -> None:
        def see(name: str, side: int) -> Sight:
            self._go_on()
            return self.items.see(name, side)

        def read(name: str) -> Content:
            self._go_on()
            return self.items.read(name)

        askable = np.ones(len(self.names), dtype=np.bool_)
        askable[[*self._ledger.reserve, *self._gone]] = False
        ids = np.flatnonzero(askable)
        try:
            items = replace(self.items, see=see, read=read)
            found = spread(items, ids, LOOKED_AT, self.project.settings.seed, names=self.names)
        except Exception:
            LOG.exception("No spread was found: all are asked at random.")
            return
        with suppress(StoreError):  # the server is ending
            self._jobs.call(partial(setattr, self._queue, "spread", found))

    def _go_on(self) -> None:
        if self._jobs.closing.is_set():
            raise Unpicturable("the server is ending")

    def _let_go(self) -> None:
        self._journal.close()
        self._lock.release()
