"""Tasks whose results are wanted in order: some are ahead, never all, so that memory is bounded at both ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from deepbass.core.errors import DeepBassError

AHEAD = 3  # tasks for every worker: one that is computed, one that waits for it, one that waits to be read
RETRIES = 5  # of a task whose worker or node died


def results_in_order(tasks: Iterable[Any], ahead: int) -> Iterator[Any]:
    """Yield the results of tasks as they were started; the next is started when one has been taken."""
    waiting: deque[Any] = deque()
    try:
        for task in tasks:
            waiting.append(task)
            if len(waiting) >= ahead:
                yield result_of(waiting.popleft())
        while waiting:
            yield result_of(waiting.popleft())
    finally:
        cancel(waiting)


def result_of(task: Any) -> Any:
    """Wait for a task. What it raised is raised here as it was; what became of its worker is said in words."""
    import ray
    from ray.exceptions import OutOfMemoryError, RayError, RayTaskError

    try:
        return ray.get(task)
    except RayTaskError as error:
        if isinstance(error.cause, DeepBassError):
            raise error.cause from None
        raise
    except OutOfMemoryError:
        raise DeepBassError(
            "A node ran out of memory again and again: use fewer --workers, or nodes with more memory."
        ) from None
    except RayError as error:
        first = str(error).strip().splitlines()[0]
        raise DeepBassError(
            f"The cluster lost its workers {RETRIES + 1} times at the same work ({type(error).__name__}: {first}). "
            "What was finished is kept: the same command goes on."
        ) from error


def cancel(tasks: Iterable[Any]) -> None:
    """End tasks that nobody waits for any more; after the end of the connection there are none."""
    import ray

    if ray.is_initialized():  # else Ray would start a cluster in order to cancel something on it
        for task in tasks:
            ray.cancel(task, force=True)
