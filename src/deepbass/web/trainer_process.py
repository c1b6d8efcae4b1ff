"""Runs the trainer in a process of its own: starts it, listens to it, and starts it again when it dies.

The trainer ends when its standard input closes, so it cannot outlive the server, however that ends.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from deepbass.store import child

LOG = logging.getLogger("deepbass.web.trainer")

PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)  # before the first, second, ... start again without a commit between
_GRACE = 15.0  # seconds to finish what it is writing
_LINE = 64 * 1024
_TAIL = 20  # last lines of standard error, for the log
_LONG_TEXT = 500


@dataclass(frozen=True)
class TrainerState:
    """What the trainer is doing, as the panel shows it."""

    doing: str = "starting"
    share: float | None = None
    iteration: int | None = None
    restarts: int = 0
    error: str | None = None  # what it died of last; kept until it has finished an iteration again
    note: str | None = None
    background: str | None = None  # what goes on beside all else, and how far it is

    def as_json(self) -> dict[str, Any]:
        """Return the part of the panel."""
        return {
            "doing": self.doing,
            "share": self.share,
            "restarts": self.restarts,
            "error": self.error,
            "note": self.note,
            "background": self.background,
        }


def trainer_command(
    project: Path,
    data: Path | None = None,
    named_model: str | None = None,
    named_features: str | None = None,
    ray: str | None = None,
    workers: int | None = None,
) -> list[str]:
    """Return the command line of the trainer of a project; ``data`` is where files of named data sets lie.

    ``named_model`` and ``named_features`` are the user's own, as the user named them: the trainer runs no other code.
    ``ray`` is the address of the cluster that it computes on, with so many ``workers``.
    """
    # -P: a file named torch.py in the folder where the server was started is not what is meant by torch
    command = [sys.executable, "-P", "-m", "deepbass.trainer", str(project)]
    options = {
        "--data": data,
        "--model": named_model,
        "--features": named_features,
        "--ray": ray,
        "--workers": workers,
    }
    return [*command, *(word for name, value in options.items() if value is not None for word in (name, str(value)))]


class TrainerProcess:
    """Keeps one trainer running. ``on_change`` and ``on_commit`` are called from its threads: they must not block."""

    def __init__(
        self,
        command: Sequence[str],
        on_change: Callable[[TrainerState], None] = lambda state: None,
        on_commit: Callable[[], None] = lambda: None,
        pauses: Sequence[float] = PAUSES,
        grace: float = _GRACE,
    ) -> None:
        self._command = list(command)
        self.on_change = on_change
        self.on_commit = on_commit
        self._pauses = tuple(pauses)
        self._grace = grace
        self._state = TrainerState()
        self._stopping = threading.Event()
        self._lock = threading.Lock()  # over _process, between the thread that starts it and the one that stops it
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._keep, name="trainer", daemon=True)

    @property
    def state(self) -> TrainerState:
        """Tell what the trainer is doing."""
        return self._state

    @property
    def pid(self) -> int | None:
        """Return the number of the trainer's process, while there is one."""
        process = self._process
        return process.pid if process is not None else None

    def start(self) -> None:
        """Start the trainer."""
        self._thread.start()

    def stop(self) -> None:
        """End the trainer: politely, then firmly."""
        with self._lock:
            self._stopping.set()
            process = self._process
        if process is not None:
            child.end(process, self._grace)
        if self._thread.ident is not None:
            self._thread.join()

    def _keep(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            committed, error = self._run_once()
            if self._stopping.is_set():
                return
            failures = 1 if committed else failures + 1
            pause = self._pauses[min(failures, len(self._pauses)) - 1]
            LOG.warning("The trainer ended: %s It is started again in %.0f s.", error, pause)
            restarts = self._state.restarts + 1
            self._change(doing="restarting", share=None, restarts=restarts, error=error)
            self._stopping.wait(pause)

    def _run_once(self) -> tuple[bool, str]:
        """Run the trainer to its end; return whether it finished an iteration, and what it died of."""
        with self._lock:
            if self._stopping.is_set():
                return False, ""
            try:
                # in a session of its own: Ctrl-C is for the server, which then ends the trainer in order
                process = child.start(self._command, stderr=subprocess.PIPE, own_session=True)
            except OSError as error:
                return False, f"It could not be started: {error}."
            self._process = process
        tail: deque[str] = deque(maxlen=_TAIL)
        listener = threading.Thread(target=_drain, args=(process.stderr, tail), daemon=True)
        listener.start()
        committed, said = False, ""
        self._change(doing="starting", share=None)
        for message in child.messages(process):
            if "committed" in message:
                committed = True
                self._heard_commit(message)
            elif "error" in message:
                said = _short(message["error"])
            else:
                self._heard(message)
        code = process.wait()
        listener.join()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        with self._lock:
            self._process = None
        if tail and not self._stopping.is_set():
            LOG.warning("The trainer's last words:\n%s", "\n".join(tail))
        return committed, said or _cause(code, tail)

    def _heard(self, message: dict[str, Any]) -> None:
        if "doing" in message:
            share, iteration = message.get("share"), message.get("iteration")
            self._change(
                doing=_short(message["doing"]),
                share=float(share) if isinstance(share, int | float) else None,
                iteration=iteration if isinstance(iteration, int) else self._state.iteration,
            )
        elif "background" in message:
            share = message.get("share")
            under_way = isinstance(share, int | float) and share < 1
            self._change(background=f"{_short(message['background'])}: {share:.0%}" if under_way else None)
        elif "note" in message:
            self._change(note=_short(message["note"]))

    def _heard_commit(self, message: dict[str, Any]) -> None:
        iteration = message["committed"]
        self._change(error=None, iteration=iteration if isinstance(iteration, int) else None)
        try:
            self.on_commit()
        except Exception:  # whatever it is, the trainer must be listened to
            LOG.exception("A new ranking could not be taken up.")

    def _change(self, **values: Any) -> None:
        state = replace(self._state, **values)
        if state != self._state:
            self._state = state
            try:
                self.on_change(state)
            except Exception:
                LOG.exception("The trainer's state could not be told.")


def _drain(stream: IO[bytes] | None, tail: deque[str]) -> None:
    if stream is not None:
        while line := stream.readline(_LINE):
            tail.append(line.decode("utf-8", "replace").rstrip())


def _cause(code: int, tail: deque[str]) -> str:
    if code < 0:
        return f"It was killed by signal {-code}."
    last = next((line for line in reversed(tail) if line.strip()), "")
    return f"It ended with code {code}{f': {_short(last)}' if last else ''}."


def _short(value: object) -> str:
    words = str(value)
    return words if len(words) <= _LONG_TEXT else words[: _LONG_TEXT - 1] + "…"
