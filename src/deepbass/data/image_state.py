"""Sum up image files without opening them, so that any change to them shows."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SECOND = 1_000_000_000  # in nanoseconds
FINE_TICK = SECOND // 50  # systems with fine times count in steps of at most 10 ms
COARSE_TICK = 2 * SECOND  # others in steps of one second, or of two


@dataclass(frozen=True)
class FilesState:
    """What some files were at one moment."""

    digest: str
    newest: int  # when the last of them changed, in nanoseconds since 1970


def state_of(names: Sequence[str], paths: Sequence[Path]) -> FilesState:
    """Sum up names, sizes and times of files, in their order.

    The time of the last change to the inode (ctime) is among them: it moves also when somebody puts another file of
    the same size and date in place, or mends its permissions, and nobody can set it back. The inode's number is not:
    ctime tells what it would, and network file systems number anew with every mount.
    """
    digest = hashlib.sha256()
    newest = 0
    for name, path in zip(names, paths, strict=True):
        facts: tuple[object, ...] = ()  # of a file that has just gone; decoding will say so
        try:
            stat = path.stat()
            target = str(path.resolve()) if path.is_symlink() else ""  # a link may come to lead to a file just like it
            facts = (target, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
            newest = max(newest, stat.st_mtime_ns, stat.st_ctime_ns)
        except (OSError, RuntimeError):  # RuntimeError: a ring of links, up to Python 3.12
            pass
        digest.update(ascii((name, facts)).encode())  # ascii: a name need not be valid text
    return FilesState(digest.hexdigest(), newest)


def settle(state: FilesState) -> None:
    """Wait until any further change gets a time of its own.

    A file that is written twice within one tick of the file system's clock looks the same after both (git calls it
    racily clean). Reading only after the tick makes sure that what was read is what a state's times stand for.
    """
    tick = FINE_TICK if state.newest % SECOND else COARSE_TICK
    left = state.newest + tick - time.time_ns()
    if left > 0:
        time.sleep(min(left, tick) / SECOND)  # at most a tick, for times that lie in the future
