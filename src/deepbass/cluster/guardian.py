"""Sees to it that no process of a cluster outlives the command that started it, however that ended.

    python -m deepbass.cluster.guardian    (what to end as one line of JSON on standard input, whose end means: now)

Most of Ray's processes end with the one that started them; some of its helpers stay for another minute, to report to a
head that is gone. This process holds nothing but standard input, and ends what is left when that does.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PROCESSES = Path("/proc")
_PATIENCE = 10.0  # seconds


@contextmanager
def guarded_processes(folder: Path) -> Iterator[None]:
    """End the cluster whose files are in a folder when the block, or this process, has ended; on Linux."""
    if not _PROCESSES.is_dir():
        yield
        return
    told = json.dumps(list(_of_cluster(folder).items()))
    command = [sys.executable, "-P", "-m", "deepbass.cluster.guardian"]
    guardian = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    assert guardian.stdin is not None
    try:
        guardian.stdin.write(told.encode() + b"\n")
        guardian.stdin.flush()
        yield
    finally:
        with suppress(BrokenPipeError):
            guardian.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            guardian.wait(_PATIENCE)


def _of_cluster(folder: Path) -> dict[int, str]:
    """List our children that were started with the folder, and all below them, with when they started.

    That tells them from others: numbers are used again.
    """
    found: dict[int, str] = {}
    below: dict[int, list[int]] = {}
    started: dict[int, str] = {}
    for entry in _PROCESSES.glob("[0-9]*"):
        pid = int(entry.name)
        if (stat := _stat(pid)) is not None:
            started[pid] = stat[19]
            below.setdefault(int(stat[1]), []).append(pid)
    ahead = [pid for pid in below.get(os.getpid(), []) if str(folder) in _command(pid)]
    while ahead:
        pid = ahead.pop()
        found[pid] = started[pid]
        ahead += below.get(pid, [])
    return found


def _command(pid: int) -> str:
    try:
        return (_PROCESSES / str(pid) / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def _stat(pid: int) -> list[str] | None:
    """Read the state of a process: the fields of /proc/PID/stat after its name."""
    try:
        return (_PROCESSES / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def end_processes(folder: Path) -> None:
    """End at once what was started of a cluster whose files are in a folder."""
    if _PROCESSES.is_dir():
        _end(_of_cluster(folder).items())


def main() -> None:
    """Wait for the end of standard input, then end what is left of what was named on it."""
    told = json.loads(sys.stdin.readline() or "[]")
    sys.stdin.read()
    _end(told)


def _end(processes: Iterable[tuple[int, str]]) -> None:
    for pid, since in processes:
        if (stat := _stat(pid)) is not None and stat[19] == since:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
