"""One writer a project: a lock that dies with its process, and a note of who holds it."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from deepbass.core.errors import StoreError
from deepbass.store.files import now

LOCK_FILE = "labels.lock"
OWNER_FILE = "labels.lock.json"  # apart from the lock, which whoever tries to take it truncates


class WriterLock(FileLock):
    """A lock that is held from the start: entering it takes it no second time, leaving or releasing it frees it."""

    def __enter__(self) -> Self:
        return self


def take_writer_lock(project: Path) -> WriterLock:
    """Take the lock of a project at once, or say who has it."""
    lock = WriterLock(project / LOCK_FILE, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise StoreError(
            f"{project} is in use by {_owner(project)}: labels are written by one process at a time. "
            "Use the page that is open, or stop it first; exporting needs no lock."
        ) from None
    except OSError as error:
        raise StoreError(f"Cannot lock {project}: {error}. Check that you may write there.") from error
    owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": now()}
    try:
        (project / OWNER_FILE).write_text(json.dumps(owner))
    except OSError as error:
        lock.release()
        raise StoreError(f"Cannot lock {project}: {error}. Make room or choose another place.") from error
    return lock


def _owner(project: Path) -> str:
    try:
        owner = json.loads((project / OWNER_FILE).read_text())
        return f"process {owner['pid']} on {owner['host']} since {owner['since']}"
    except (OSError, ValueError, LookupError, TypeError):  # it has only just taken the lock
        return "another process"
