"""Files and folders that are there whole or not at all: written under another name, then renamed.

The one place where that is done, and where the cache folder is named. It belongs to no room, so that any may use
it.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import platformdirs

__all__ = ["CACHE", "cache_folder", "replace_file", "sync_folder", "whole_file", "whole_folder", "write_file"]

CACHE = "DEEPBASS_CACHE"  # a folder to use instead of the system's cache folder


def cache_folder() -> Path:
    """Name the folder that downloads, decoded images and computed features are kept in."""
    value = os.environ.get(CACHE)
    return Path(value).expanduser() if value else Path(platformdirs.user_cache_dir("deepbass", appauthor=False))


def replace_file(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file so that, whatever happens, its name holds the old content or the new, never a part."""
    with whole_file(path, mode=mode) as file:
        file.write(content)


@contextmanager
def whole_file(path: Path, *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Write a file bit by bit. After the block its name holds what was written, and the disk has it.

    If the block raises or the process dies, the name holds what it held before, if anything. ``mode`` says who may
    read the file, less what the umask forbids.
    """

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, mode)

    temporary = _beside(path, "tmp")
    try:
        with open(temporary, "wb", opener=opener) as file:
            yield file
            _sync(file)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Fill a folder that gets its name after the block, in the place of one of that name.

    If the block raises, the one before stays. Its files are not flushed one by one: of thousands of copies nobody waits
    for each.
    """
    temporary, aside = _beside(path, "tmp"), _beside(path, "old")
    try:
        temporary.mkdir()
        yield temporary
        if path.is_dir():
            path.rename(aside)
        temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if aside.is_dir() and not path.exists():
            aside.rename(path)
        shutil.rmtree(aside, ignore_errors=True)
    sync_folder(path.parent)


def write_file(path: Path, content: bytes) -> None:
    """Write a file under its own name and wait until the disk has it: for folders that get their name later."""
    with path.open("wb") as file:
        file.write(content)
        _sync(file)


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names in a folder: a rename is not durable before that."""
    if os.name == "nt":  # Windows cannot open a folder; its renames are journalled
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _beside(path: Path, what: str) -> Path:
    """Name something in the same folder, for one writer: renames do not cross file systems."""
    return path.with_name(f".{path.name}.{what}-{os.getpid()}-{threading.get_native_id()}")
