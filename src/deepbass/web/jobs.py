"""A thread that does jobs in the order of their arrival; those of one kind that wait at the same time are one group."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from deepbass.core.errors import StoreError

_WAITING = 5000  # jobs that wait, beyond which no more are taken

T = TypeVar("T")


class _Grouped(Protocol):
    """A job that is done together with others; whoever does it fulfils the future."""

    @property
    def done(self) -> Future[Any]:
        """What becomes of it."""


G = TypeVar("G", bound=_Grouped)


@dataclass(frozen=True, eq=False)
class _Call(Generic[T]):
    work: Callable[[], T]
    done: Future[T]


class Jobs(Generic[G]):
    """The thread. ``do_group`` gets all grouped jobs that wait; calls that wait with them follow one by one."""

    def __init__(self, name: str, do_group: Callable[[list[G]], None]) -> None:
        self._do_group = do_group
        self._jobs: queue.SimpleQueue[_Call[Any] | G | None] = queue.SimpleQueue()
        self.closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def put(self, job: _Call[Any] | G) -> None:
        """Leave a job, or hear that none is taken any more."""
        if self.closing.is_set():
            raise StoreError("The server is ending: the answer is kept by the page, and sent when it is back.")
        if self._jobs.qsize() >= _WAITING:
            raise StoreError("The server is too busy for more: try again in a moment.")
        self._jobs.put(job)

    def call(self, work: Callable[[], T]) -> Future[T]:
        """Let the thread do something, and get its result."""
        job = _Call(work, Future())
        self.put(job)
        return job.done

    def close(self) -> None:
        """Finish the jobs that wait, and end."""
        self.closing.set()
        self._jobs.put(None)
        self._thread.join()

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
            if group := [job for job in wanted if not isinstance(job, _Call)]:
                self._do_group(group)
            for job in wanted:
                if isinstance(job, _Call):
                    fulfil(job.done, attempt(job.work))


def fulfil(done: Future[T], result: T | Exception) -> None:
    """Hand over a result, or the error that there is instead."""
    if isinstance(result, Exception):
        done.set_exception(result)
    else:
        done.set_result(result)


def attempt(work: Callable[[], T]) -> T | Exception:
    """Do something, and return what it raises."""
    try:
        return work()
    except Exception as error:
        return error
