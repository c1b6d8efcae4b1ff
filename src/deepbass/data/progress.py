"""Show how far a long piece of work has come; rich is imported only when something is shown."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import BinaryIO, TypeVar

T = TypeVar("T")


def track(items: Iterable[T], what: str, total: int, show: bool) -> Generator[T]:
    """Count items while they are worked on; close it to take the bar down before the last one."""
    if not show:
        yield from items
        return
    from rich.console import Console
    from rich.progress import track as rich_track

    yield from rich_track(items, what, total, console=Console(stderr=True))


def reading(file: BinaryIO, total: int, what: str, show: bool) -> AbstractContextManager[BinaryIO]:
    """Count the bytes of a file while it is read."""
    if not show:
        return nullcontext(file)
    from rich.console import Console
    from rich.progress import wrap_file

    return wrap_file(file, total, description=what, console=Console(stderr=True))


def waiting(what: str, show: bool) -> AbstractContextManager[object]:
    """Turn a spinner while something takes its time."""
    if not show:
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(what)
