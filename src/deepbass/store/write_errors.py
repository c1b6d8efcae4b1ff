"""What a write needs beside the file: the time, the room on the disk, and the error for when it does not succeed."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from deepbass.core.errors import WriteError

_AWAY = "see that the folder and its disk are there"
_NOT_YOURS = "check that you may write there, or choose another place"
_ADVICE = {
    errno.ENOSPC: "make room",
    errno.EDQUOT: "delete files of yours, or have your quota raised",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "close other programs: the system has too many open files",
    errno.EROFS: "mount the disk for writing, or choose another place",
    errno.EACCES: _NOT_YOURS,
    errno.EPERM: _NOT_YOURS,
    errno.EIO: "check the disk: it reports a fault",
    errno.ENOENT: _AWAY,
    errno.ENOTDIR: _AWAY,
    errno.ENODEV: _AWAY,
    errno.ENXIO: _AWAY,
    errno.ESTALE: _AWAY,
}
_SQLITE_ADVICE = {  # by the beginning of SQLite's names; what the system said is lost by then
    "FULL": _ADVICE[errno.ENOSPC],
    "IOERR": "check the disk: it reports a fault, or a quota or limit of the system is reached",
    "READONLY": "check that you may write there, and that the disk is not mounted read-only",
}


def now() -> str:
    """Tell the time as ISO-8601 text in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def free_space(folder: Path) -> str:
    """Tell how much room the disk of a folder has."""
    try:
        return f"{shutil.disk_usage(folder).free / 1e6:,.1f} MB free"
    except OSError:
        return "free space unknown"


def advice_for(error: Exception) -> str:
    """Tell what to do about a write that failed, as the part of a sentence: "make room" helps a full disk alone."""
    if isinstance(error, sqlite3.Error):
        name = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_")
        found = next((advice for kind, advice in _SQLITE_ADVICE.items() if name.startswith(kind)), None)
    else:
        found = _ADVICE.get(error.errno or 0) if isinstance(error, OSError) else None
    return found or "check the disk, and that you may write there"


def write_failed(doing: str, run: Path, error: Exception, safe: int | None) -> WriteError:
    """Make the error for a write to a run that failed; ``safe`` is the last iteration that is on the disk, if any."""
    reason = error.strerror if isinstance(error, OSError) else error
    so_far = "No iteration was saved yet" if safe is None else f"Everything up to iteration {safe} is safe"
    what = f"Cannot {doing} in {run}: {reason} ({free_space(run)}). {so_far}"
    return WriteError(what, advice_for(error), f"then `deepbass resume {run}`")
