"""The desk: where answers arrive and questions are given out. One thread, no HTTP.

It has the only connection that writes labels, and all state that depends on them: ledger, queue, newest model. Whoever
wants something leaves it on the desk and gets a future. All answers that arrived while a commit was under way are
committed as one group, so that a disk that takes its time delays people, but not one after the other.

A future of answers is done when they are on the disk, never before.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from deepbass.core.errors import StoreError
from deepbass.label.acts import Act, NewAct, Question
from deepbass.label.items import Items
from deepbass.label.journal import Journal, Refused
from deepbass.label.ledger import Only
from deepbass.label.models import newest_model
from deepbass.label.pictures import Sight, Unpicturable
from deepbass.label.project import Project
from deepbass.label.queue import Queue
from deepbass.label.spread import LOOKED_AT, spread
from deepbass.web import views
from deepbass.web.incoming import Incoming
from deepbass.web.panel import Panel

LOG = logging.getLogger("deepbass.web")

_WAITING = 5000  # jobs on the desk, beyond which no more are taken

T = TypeVar("T")


@dataclass(frozen=True)
class Receipt:
    """What became of some answers, and what to ask next."""

    saved: list[str]
    refused: list[Refused]
    questions: list[Question]  # that the page does not hold yet
    panel: dict[str, Any]
    last: Act | None  # what undo would take back


@dataclass(frozen=True, eq=False)
class _Call(Generic[T]):
    work: Callable[[], T]
    done: Future[T]


@dataclass(frozen=True, eq=False)
class _Answers:
    annotator: str
    incoming: Incoming
    done: Future[Receipt]


_Job = _Call[Any] | _Answers


class Desk:
    """Thread-safe from outside. ``on_news`` is called from its thread with "labels", "ranking" or "classes"."""

    def __init__(self, project: Project, items: Items, on_news: Callable[[str], None] = lambda kind: None) -> None:
        self.project = project
        self.items = items
        self.on_news = on_news
        self._lock = project.lock()
        try:
            self._journal = Journal.open(project.labels_db)
        except BaseException:
            self._lock.release()
            raise
        try:
            self.taken_up = project.take_up(self._journal, items)
            self._ledger = project.ledger(self._journal)
            self._queue = Queue.of(project, self._journal, self._ledger)
            rows = self._journal.items()
            self.names = [row.name for row in rows]
            self.here = sum(not row.gone for row in rows)
            self._gone = {row.id for row in rows if row.gone}
            self.people = {name: hashed for name, hashed in self._journal.people().items() if hashed}
            self._classes = self._journal.classes()
            self._model = newest_model(project)
            self._queue.ranking = self._model.ranking if self._model else None
        except BaseException:
            self._let_go()
            raise
        self._panel = Panel(project)
        self._guesses = views.Guesses()
        self._disagreements = views.Disagreements()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name="desk", daemon=True)
        self._thread.start()
        self._spreader: threading.Thread | None = None

    # what people want

    def answer(self, annotator: str, incoming: Incoming) -> Future[Receipt]:
        """Write answers down, and hand out further questions."""
        job = _Answers(annotator, incoming, Future())
        self._put(job)
        return job.done

    def next(self, annotator: str, count: int) -> Future[tuple[list[Question], str | None]]:
        """Hand out questions, those in hand first; without any, say why."""

        def work() -> tuple[list[Question], str | None]:
            now = time.time()
            questions = self._queue.next(annotator, count, now)
            self._save_leases()
            return questions, None if questions else self._queue.why_empty(annotator, now)

        return self._call(work)

    def last(self, annotator: str) -> Future[Act | None]:
        """Tell what undo would take back."""
        return self._call(lambda: self._ledger.last_of(annotator))

    def add_class(self, name: str, annotator: str) -> Future[tuple[int, str]]:
        """Add a class, or find it."""

        def work() -> tuple[int, str]:
            before = len(self._classes)
            class_ = self._journal.add_class(name, annotator)
            self._classes = self._journal.classes()
            if len(self._classes) > before:
                self._tell("classes")
            return class_, self._classes[class_]

        return self._call(work)

    # what people look at

    def panel(self) -> Future[dict[str, Any]]:
        """Add up where things stand."""
        return self._call(self._numbers)

    def classes(self) -> list[str]:
        """List the names of the classes."""
        return self._classes  # replaced, never changed

    def annotators(self) -> Future[list[str]]:
        """List who has labelled anything."""
        return self._call(lambda: sorted(self._ledger.by_annotator))

    def guess(self, item: int, annotator: str) -> Future[dict[str, Any] | None]:
        """Tell the model's guess; not for an audit question before its answer, which must not hang on the model."""

        def work() -> dict[str, Any] | None:
            if item in self._ledger.reserve and self._ledger.standing(item, annotator) is None:
                return None
            return views.guess_json(self._model, item)

        return self._call(work)

    def history(
        self, before: int | None, limit: int, annotator: str | None, only: Only | None
    ) -> Future[dict[str, Any]]:
        """List earlier answers, newest first."""
        return self._call(lambda: views.history(self._ledger, self.names, before, limit, annotator, only))

    def guesses(self, class_: int, offset: int, limit: int) -> Future[dict[str, Any]]:
        """List what the model labelled itself as of one class, most doubtful first."""
        return self._call(
            lambda: self._guesses.page(self._model, self._ledger, self.names, len(self._classes), class_, offset, limit)
        )

    def disagreements(self) -> Future[dict[str, Any]]:
        """List where people differ, and how far they agree."""
        return self._call(lambda: self._disagreements.all(self._ledger, self.names))

    # what the trainer and the start bring

    def look_for_model(self) -> None:
        """Take up the newest model. Reads files in the thread that calls, so that nobody at the desk waits for them."""
        model = newest_model(self.project, self._model)
        if model is not None and model is not self._model:

            def work() -> None:
                self._model = model
                self._queue.ranking = model.ranking
                self._tell("ranking")

            self._call(work)

    def spread_out(self) -> None:
        """Find an order for the time before there is a model, in a thread of its own: it looks at pictures."""
        if self._model is None and self._spreader is None:
            self._spreader = threading.Thread(target=self._find_spread, name="spread", daemon=True)
            self._spreader.start()

    def close(self) -> None:
        """Finish what is on the desk, then close the journal."""
        self._closing.set()
        self._jobs.put(None)
        self._thread.join()
        if self._spreader is not None:
            self._spreader.join()
        self._let_go()

    # the thread

    def _put(self, job: _Job) -> None:
        if self._closing.is_set():
            raise StoreError("The server is ending: the answer is kept by the page, and sent when it is back.")
        if self._jobs.qsize() >= _WAITING:
            raise StoreError("The server is too busy for more: try again in a moment.")
        self._jobs.put(job)

    def _call(self, work: Callable[[], T]) -> Future[T]:
        job = _Call(work, Future())
        self._put(job)
        return job.done

    def _work(self) -> None:
        ending = False
        while not ending:
            jobs = [self._jobs.get()]
            while True:
                try:
                    jobs.append(self._jobs.get_nowait())
                except queue.Empty:
                    break
            ending = None in jobs
            wanted = [job for job in jobs if job is not None and job.done.set_running_or_notify_cancel()]
            self._commit([job for job in wanted if isinstance(job, _Answers)])
            for job in wanted:
                if isinstance(job, _Call):
                    _fulfil(job.done, job.work)

    def _commit(self, group: list[_Answers]) -> None:
        """Write down the answers of all in one transaction, then give everyone their receipt."""
        if not group:
            return
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
        receipts = [_attempt(partial(self._receipt, job, acts, panel)) for job, acts in written]
        self._save_leases()
        for (job, _), receipt in zip(written, receipts, strict=True):
            if isinstance(receipt, Receipt):
                job.done.set_result(receipt)
            else:
                job.done.set_exception(receipt)
        self._tell("labels")

    def _write(self, group: list[_Answers]) -> list[tuple[_Answers, list[Act | Refused]]]:
        acts = [self._new_act(raw, job.annotator) for job in group for raw in job.incoming.acts]
        written = iter(self._journal.write(acts))
        now = time.time()
        found = []
        for job in group:
            results = [next(written) for _ in job.incoming.acts]
            for result in results:
                if isinstance(result, Act):
                    self._queue.take(result, now)
                    self._panel.heard(result, self._ledger)
            found.append((job, results))
        return found

    def _new_act(self, raw: NewAct, annotator: str) -> NewAct:
        """Sign an act. Why the item was looked at is known here, but for what the page looked up by itself."""
        why = raw.why
        if why not in ("browse", "guesses"):
            known = isinstance(raw.item, int) and 0 <= raw.item < len(self.names)
            why = self._queue.why(raw.item, annotator) if known else "rank"
        return replace(raw, annotator=annotator, why=why)

    def _receipt(self, job: _Answers, results: list[Act | Refused], panel: dict[str, Any]) -> Receipt:
        mine = {lease.item for lease in self._queue.leases.of(job.annotator)}
        holding = [item for item in job.incoming.holding if item in mine]
        questions = []
        if job.incoming.want:
            count = len(holding) + job.incoming.want
            questions = self._queue.next(job.annotator, count, time.time(), holding)
        return Receipt(
            [result.uid for result in results if isinstance(result, Act)],
            [result for result in results if isinstance(result, Refused)],
            [question for question in questions if question.item not in holding],
            panel,
            self._ledger.last_of(job.annotator),
        )

    def _numbers(self) -> dict[str, Any]:
        return self._panel.numbers(self._ledger, len(self._classes), self._model)

    def _save_leases(self) -> None:
        try:
            self._journal.save_leases(self._queue.leases.unsaved())
        except StoreError as error:  # they are for convenience: no reason to withhold a receipt
            LOG.warning("%s", error)

    def _tell(self, news: str) -> None:
        try:
            self.on_news(news)
        except Exception:  # whoever listens badly must not stop the desk
            LOG.exception("News of %s were not heard.", news)

    def _find_spread(self) -> None:
        def see(name: str, side: int) -> Sight:
            if self._closing.is_set():
                raise Unpicturable("the server is ending")
            return self.items.see(name, side)

        left_out = self._ledger.reserve | self._gone
        ids = [item for item in range(len(self.names)) if item not in left_out]
        try:
            found = spread(replace(self.items, see=see), ids, LOOKED_AT, self.project.settings.seed, names=self.names)
        except Exception:
            LOG.exception("No spread of images was found: they are asked at random.")
            return
        with suppress(StoreError):  # the server is ending
            self._call(partial(setattr, self._queue, "spread", found))

    def _let_go(self) -> None:
        self._journal.close()
        self._lock.release()


def _fulfil(done: Future[T], work: Callable[[], T]) -> None:
    result = _attempt(work)
    if isinstance(result, Exception):
        done.set_exception(result)
    else:
        done.set_result(result)


def _attempt(work: Callable[[], T]) -> T | Exception:
    try:
        return work()
    except Exception as error:
        return error
