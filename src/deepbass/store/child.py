"""Child processes, and the one protocol that they speak: the page's trainer and the workers of a matrix alike.

A child has default signals, says what it does on standard output as JSON objects, one per line, and ends when its
standard input does: so it never outlives its parent, however that ended.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

INTERRUPTED = 130  # a child's exit code after Ctrl-C or a polite kill
_LINE = 64 * 1024  # bytes of a message, beyond which it is none
_FIRM = 3.0  # seconds from a polite signal to one that cannot be refused


# the parent's side


def start(
    command: Sequence[str],
    *,
    stderr: int | IO[bytes],
    environment: Mapping[str, str] | None = None,
    own_session: bool = False,
    folder: str | None = None,
) -> subprocess.Popen[bytes]:
    """Start a child, in ``folder`` or where this process is.

    In a session of its own it does not hear the Ctrl-C that its parent's terminal sends to all.

    A parent in the background of a script ignores Ctrl-C: it is not meant for its children either, which would hear it.
    """
    in_background = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    return subprocess.Popen(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8", **(environment or {})},
        start_new_session=own_session or in_background,
        cwd=folder,
    )


def send(process: subprocess.Popen[bytes], job: Mapping[str, Any]) -> None:
    """Send a child its job; one that died at once says why by its end."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(job).encode() + b"\n")
        process.stdin.flush()


def messages(process: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    """Listen to a child until its end; whatever a library prints among its messages is skipped."""
    assert process.stdout is not None
    while line := process.stdout.readline(_LINE):
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(message, dict):
            yield message


def end(process: subprocess.Popen[bytes], grace: float) -> None:
    """End a child: by closing its input, then politely, then firmly, with all that it started in its session."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    if not _ended(process, grace):
        process.terminate()
        _ended(process, _FIRM)
    with suppress(OSError, AttributeError):
        os.killpg(process.pid, signal.SIGKILL)  # if it leads a session: what it left behind holds its pipes open
    with suppress(OSError):
        process.kill()


def _ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while process.poll() is None:  # not wait(): another thread may be in it, and hold its lock
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)
    return True


# the child's side


def begin() -> None:
    """Become a child: hear Ctrl-C although the parent ignores it, and end at once when the parent does."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def receive() -> dict[str, Any]:
    """Read the job, one line of JSON on standard input; call it before `begin`."""
    job: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    return job


def say(message: Mapping[str, Any]) -> None:
    """Write one message. Where nobody reads any more there is nobody to work for."""
    try:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os._exit(0)  # at once: what counts is on the disk already


def _end_with_parent() -> None:
    with suppress(OSError):  # closed before it could be read
        while os.read(0, 4096):
            pass
    os._exit(0)  # at once: what counts is on the disk already
