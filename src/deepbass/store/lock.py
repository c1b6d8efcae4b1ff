"""One writer a folder: a lock that dies with its process, and a note of who holds it."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

from filelock import FileLock, Timeout

from deepbass.core.checked_json import read_json
from deepbass.core.errors import InUseError, StoreError
from deepbass.core.foreign import decoding, excerpt
from deepbass.store.names import RUN_LOCK_FILE
from deepbass.store.write_errors import advice_for, now

T = TypeVar("T")

PATIENCE = 20.0  # seconds: a process that lost its parent needs a moment to notice and end
_WAIT = "Wait until it ends, or stop it; looking at the run needs no lock."


class HeldLock(FileLock):
    """A lock that is held from the start: entering it takes it no second time, leaving or releasing it frees it."""

    def __enter__(self) -> Self:
        return self


def take_lock(folder: Path, name: str = RUN_LOCK_FILE, advice: str = _WAIT) -> HeldLock:
    """Take a lock of a folder at once, or say who has it and what to do then."""
    lock = HeldLock(folder / name, thread_local=False)
    note = folder / f"{name}.json"  # apart from the lock, which whoever tries to take it truncates
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise InUseError(f"{folder} is in use by {_owner(note)}. {advice}") from None
    except OSError as error:
        raise StoreError(f"Cannot lock {folder}: {error}; {advice_for(error)}.") from error
    owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": now()}
    try:
        note.write_text(json.dumps(owner))
    except OSError as error:
        lock.release()
        raise StoreError(f"Cannot lock {folder}: {error}; {advice_for(error)}.") from error
    return lock


def wait_for_turn(file: Path) -> HeldLock | None:
    """Wait until no other process holds this lock, and hold it; None where the storage has no locks."""
    lock = HeldLock(file, thread_local=False)
    try:
        lock.acquire()
    except (OSError, NotImplementedError):
        return None
    return lock


def patiently(take: Callable[[], T], seconds: float | None = None) -> T:
    """Take what a process that is about to end may still hold; after some seconds, say who holds it."""
    deadline = time.monotonic() + (PATIENCE if seconds is None else seconds)
    while True:
        try:
            return take()
        except InUseError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _owner(note: Path) -> str:
    try:
        with decoding(note, "note", "It is made anew.", StoreError):
            owner = read_json(note.read_bytes(), {"pid": int, "host": str, "since": str})
            return f"process {owner['pid']} on {excerpt(owner['host'])} since {excerpt(owner['since'])}"
    except StoreError:  # it has only just taken the lock
        return "another process"
