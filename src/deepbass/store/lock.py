"""One trainer a run: a lock that dies with its process, and a note of who holds it."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from deepbass.core.errors import StoreError
from deepbass.store.files import now

LOCK_FILE = "run.lock"
OWNER_FILE = "run.lock.json"  # apart from the lock, which whoever tries to take it truncates


def take_lock(run: Path) -> BaseFileLock:
    """Take the lock of a run at once, or say who has it."""
    lock = FileLock(run / LOCK_FILE, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise StoreError(
            f"{run} is in use by {_owner(run)}. Wait until it ends, or stop it; looking at the run needs no lock."
        ) from None
    except OSError as error:
        raise StoreError(f"Cannot lock {run}: {error}. Check that you may write there.") from error
    owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": now()}
    try:
        (run / OWNER_FILE).write_text(json.dumps(owner))
    except OSError as error:
        lock.release()
        raise StoreError(f"Cannot lock {run}: {error}. Make room or choose another place.") from error
    return lock


def _owner(run: Path) -> str:
    try:
        owner = json.loads((run / OWNER_FILE).read_text())
        return f"process {owner['pid']} on {owner['host']} since {owner['since']}"
    except (OSError, ValueError, LookupError, TypeError):  # it has only just taken the lock
        return "another process"
