"""One writer a folder: a lock that dies with its process, and a note of who holds it."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from deepbass.core.errors import StoreError
from deepbass.store.files import now

LOCK_FILE = "run.lock"
_WAIT = "Wait until it ends, or stop it; looking at the run needs no lock."


class HeldLock(FileLock):
    """A lock that is held from the start: entering it takes it no second time, leaving or releasing it frees it."""

    def __enter__(self) -> Self:
        return self


def take_lock(folder: Path, name: str = LOCK_FILE, advice: str = _WAIT) -> HeldLock:
    """Take a lock of a folder at once, or say who has it and what to do then."""
    lock = HeldLock(folder / name, thread_local=False)
    note = folder / f"{name}.json"  # apart from the lock, which whoever tries to take it truncates
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise StoreError(f"{folder} is in use by {_owner(note)}. {advice}") from None
    except OSError as error:
        raise StoreError(f"Cannot lock {folder}: {error}. Check that you may write there.") from error
    owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": now()}
    try:
        note.write_text(json.dumps(owner))
    except OSError as error:
        lock.release()
        raise StoreError(f"Cannot lock {folder}: {error}. Make room or choose another place.") from error
    return lock


def _owner(note: Path) -> str:
    try:
        owner = json.loads(note.read_text())
        return f"process {owner['pid']} on {owner['host']} since {owner['since']}"
    except (OSError, ValueError, LookupError, TypeError):  # it has only just taken the lock
        return "another process"
