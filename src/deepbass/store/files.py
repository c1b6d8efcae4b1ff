"""Writes that survive a power cut, and the error for writes that do not succeed."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

from deepbass.core.errors import WriteError


def now() -> str:
    """Tell the time as ISO-8601 text in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def write_file(path: Path, content: bytes) -> None:
    """Write a file and wait until the disk has it."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names in a folder: a rename is not durable before that."""
    if os.name == "nt":  # Windows cannot open a folder; its renames are journalled
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file so that, whatever happens, its name holds the old content or the new, never a part."""
    temporary = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    write_file(temporary, content)
    temporary.replace(path)
    sync_folder(path.parent)


def free_space(folder: Path) -> str:
    """Tell how much room the disk of a folder has."""
    try:
        return f"{shutil.disk_usage(folder).free / 1e6:,.1f} MB free"
    except OSError:
        return "free space unknown"


def write_failed(doing: str, run: Path, error: Exception, safe: int | None) -> WriteError:
    """Make the error for a full or read-only disk; ``safe`` is the last iteration that is on it, if any."""
    reason = error.strerror if isinstance(error, OSError) else error
    so_far = "No iteration was saved yet" if safe is None else f"Everything up to iteration {safe} is safe"
    what = f"Cannot {doing} in {run}: {reason} ({free_space(run)}). {so_far}"
    return WriteError(what, f"make room, then `deepbass resume {run}`")
