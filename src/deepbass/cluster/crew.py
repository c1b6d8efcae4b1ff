"""The workers of a cluster, as one: work is done by whoever is free, and again by another where one has died."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import ray
from ray.exceptions import RayError, RayTaskError

from deepbass.cluster.cluster_worker import ClusterWorker, Done
from deepbass.cluster.crew_log import CrewLog, WorkDone, size_of
from deepbass.core.errors import DeepBassError

_ray: Any = ray  # its types are not whole
_PATIENCE = 600.0  # seconds that a cluster without any worker is waited for
_IMPATIENCE = 20.0  # after which it is said that it is
_MOST_TRIES = 3  # of one piece of work: what has killed so many workers will kill the next, too
_MOST_STILLBORN = 10  # workers in turn that died before they had said hello
OnNote = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """A piece of work: what is called with which arguments, and over how many samples, for who looks on."""

    args: tuple[Any, ...]
    size: int


@dataclass(eq=False)
class Member:
    """One worker."""

    actor: Any
    number: int
    node: str = ""
    process: int = 0

    def __str__(self) -> str:
        return f"{self.node} {self.process}"


@dataclass(eq=False)
class _Task:
    """A job on its way."""

    place: int
    job: Job
    tries: int = 0
    since: float = 0.0


class Crew:
    """So many workers as are wanted, or as the cluster has processors; they come and go."""

    def __init__(self, wanted: int | None, *, threads: int = 1, on_note: OnNote = lambda note: None) -> None:
        self.wanted = wanted  # None: as many as the cluster has processors; may be changed
        self._threads, self._on_note = threads, on_note
        self._actor: Any = ray.remote(ClusterWorker)
        self._free: list[Member] = []
        self._coming: dict[Any, Member] = {}  # by what they are asked for: to say hello, or what nobody waits for
        self._hired, self._stillborn = 0, 0
        self.log = CrewLog()
        self.members: list[Member] = []  # all that are there
        self.closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let all workers go."""
        self.closed = True
        for member in [*self.members, *self._coming.values()]:
            ray.kill(member.actor)
        self.members, self._free, self._coming = [], [], {}

    @property
    def summary(self) -> str:
        """Who is there and how fast, in a line."""
        return self.log.summary(len(self.members))

    def refresh(self) -> None:
        """Take in who has come, and hire who is missing: a machine that has joined is used from now on."""
        there = {member.number for member in [*self.members, *self._coming.values()]}
        wanted = self.wanted or max(1, int(_ray.cluster_resources().get("CPU", 1)) // self._threads)
        for _ in range(wanted - len(there)):
            self._hire()
        if self._coming:
            self._take_in(ray.wait(list(self._coming), num_returns=len(self._coming), timeout=0)[0])

    def gather(self, count: int, seconds: float = 300.0) -> int:
        """Wait until so many workers are there, or for so long, and tell how many are."""
        until = time.monotonic() + seconds
        self.refresh()
        while len(self.members) < count and self._coming and time.monotonic() < until:
            self._take_in(ray.wait(list(self._coming), timeout=max(0.0, until - time.monotonic()))[0])
        return len(self.members)

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[int, Any]]:
        """Have jobs done, and yield the place and the result of each as they come.

        Jobs are taken when somebody is free to do them, so that they need not all be there at once.
        """
        if not self.members and not self._coming:
            self.refresh()
        coming, again = enumerate(jobs), deque[_Task]()
        following = next(coming, None)
        busy: dict[Any, tuple[Member, _Task]] = {}
        try:
            while following or again or busy:
                while self._free and (following or again):
                    if again:
                        task = again.popleft()
                    elif following:
                        task, following = _Task(*following), next(coming, None)
                    task.since, member = time.perf_counter(), self._free.pop(0)
                    busy[member.actor.work.remote(*task.job.args)] = member, task
                for reference in self._wait([*busy, *self._coming]):
                    if reference in self._coming:
                        self._take_in([reference])
                        continue
                    member, task = busy.pop(reference)
                    done = self._done(reference, member, task)
                    if done is None:
                        again.append(task)
                    else:
                        yield task.place, done.result
        finally:  # if nobody waits any more, whoever is at work will be free some time
            self._coming |= {reference: member for reference, (member, _) in busy.items()}

    def _done(self, reference: Any, member: Member, task: _Task) -> Done | None:
        """Fetch a result; None if it has to be done again."""
        try:
            done: Done = _result(reference)
        except _LostError as error:
            self._lose(member, error)
            task.tries += 1
            if task.tries == _MOST_TRIES:
                raise DeepBassError(_hopeless(error)) from None
            return None
        except BaseException:
            self._free.append(member)
            raise
        self._free.append(member)
        waited = time.perf_counter() - task.since - done.seconds
        sent, received = size_of(task.job.args), size_of(done.result)
        self.log.note(str(member), task.job.args[0], WorkDone(1, task.job.size, done.seconds, waited, sent, received))
        return done

    def _hire(self) -> None:
        actor = self._actor.options(num_cpus=self._threads).remote(self._threads)
        self._coming[actor.hello.remote()] = Member(actor, self._hired)
        self._hired += 1

    def _take_in(self, references: Sequence[Any]) -> None:
        for reference in references:
            member = self._coming.pop(reference)
            try:
                found = _result(reference)
            except _LostError as error:
                self._stillborn += member not in self.members
                if self._stillborn == _MOST_STILLBORN:
                    raise DeepBassError(f"Workers die as soon as they are started ({error}).") from None
                self._lose(member, error)
                continue
            except Exception:  # of work that nobody waits for any more
                found = None
            if member not in self.members:
                member.node, member.process = found
                self.members.append(member)
            self._free.append(member)
            self._stillborn = 0

    def _lose(self, member: Member, error: _LostError) -> None:
        """Let a worker go that has died, and hire another in its place."""
        self.log.lost += 1
        if member in self.members:
            self.members.remove(member)
            self._on_note(f"A worker on {member.node} is gone ({error}): its work goes to the others.")
        ray.kill(member.actor)  # it may be there yet, with a store that is full
        self._hire()
        # others may have gone with it, as on a machine that died: who is free is asked before it is given work, so that
        # no piece of work is taken for what killed them all
        self._coming |= {each.actor.hello.remote(): each for each in self._free}
        self._free = []

    def _wait(self, references: list[Any]) -> list[Any]:
        """Wait for anything to happen; with nobody at work, not for ever."""
        if self.members:
            return list(ray.wait(references)[0])
        for seconds in (_IMPATIENCE, _PATIENCE - _IMPATIENCE):
            if found := ray.wait(references, timeout=seconds)[0]:
                return list(found)
            if seconds == _IMPATIENCE:
                self._on_note("Waiting for a worker to start; if none does, no processor is free (ray status).")
        raise DeepBassError(
            f"The cluster had no worker for {_PATIENCE / 60:.0f} minutes. Every finished iteration is saved: see to "
            "the cluster (ray status) and resume the run, there, on another one, or without."
        )


class _LostError(Exception):
    """A worker that died, or cannot go on."""


def _result(reference: Any) -> Any:
    """Fetch a result; what went wrong with the worker, and not with the work, is told apart."""
    try:
        return ray.get(reference)
    except RayTaskError as error:
        cause = error.cause if isinstance(error.cause, Exception) else error
        if isinstance(cause, MemoryError | RayError):  # no room, or an object was lost with its machine
            raise _LostError(_in_short(cause)) from None
        raise cause from None
    except RayError as error:
        raise _LostError(_in_short(error)) from None


def _in_short(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]


def _hopeless(error: _LostError) -> str:
    return (
        f"{_MOST_TRIES} workers were lost over the same piece of work ({error}). If their memory is too small, lower "
        "infer_batch or batch_size, or give the machines more; if the object store is, start Ray with a larger one "
        "(ray start --object-store-memory)."
    )
