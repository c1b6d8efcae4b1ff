"""Silence Pillow while images are decoded: it warns of odd metadata, which nobody asked for."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

_lock = threading.Lock()
_restore = ExitStack()  # puts the warning filters back
_inside = 0


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore Pillow's warnings, in all threads, until the last of those who asked for it is done.

    Warning filters belong to the whole process: threads that each changed and restored them would undo one another's
    changes. So the first one in changes them, and the last one out puts them back.
    """
    global _inside  # noqa: PLW0603
    with _lock:
        if not _inside:
            _restore.enter_context(warnings.catch_warnings())
            warnings.filterwarnings("ignore", module=r"PIL\b")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _restore.close()
