"""Show how far a long piece of work has come; rich is imported only when something is shown."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

T = TypeVar("T")


def track(items: Iterable[T], what: str, total: int | None, show: bool) -> Generator[T]:
    """Count items while they are worked on; close it to take the bar down before the last one."""
    if not show:
        yield from items
        return
    from rich.console import Console
    from rich.progress import track as rich_track

    yield from rich_track(items, what, total, console=Console(stderr=True))


@contextmanager
def downloading(what: str, show: bool) -> Iterator[DownloadBar | bool]:
    """Give pooch a bar that counts the bytes of a download; False: none is shown."""
    if not show:
        yield False
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield DownloadBar(progress, what)


class DownloadBar:
    """What pooch calls while it downloads: it sets the total, counts chunks, and counts anew at the end."""

    def __init__(self, progress: Progress, what: str) -> None:
        self.total = 0
        self._progress = progress
        self._task = progress.add_task(what, total=None)

    def update(self, count: int) -> None:
        """Count bytes; a server need not say how many there will be."""
        self._progress.update(self._task, advance=count, total=self.total or None)

    def reset(self) -> None:
        """Begin anew."""
        self._progress.reset(self._task)

    def close(self) -> None:
        """Leave the bar to ``downloading``."""


def waiting(what: str, show: bool) -> AbstractContextManager[object]:
    """Turn a spinner while something takes its time."""
    if not show:
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(what)
