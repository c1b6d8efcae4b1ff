"""Look many times a second which line of deepbass is at work: it sees NumPy and compiled kernels, too."""

from __future__ import annotations

import linecache
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import deepbass

_HOME = str(Path(deepbass.__file__).parent)
_EVERY = 0.002  # seconds
_SHOWN, _LEAST = 8, 0.005  # lines, and the share that is worth a line


def lines(work: Callable[[], object]) -> dict[str, float]:
    """Share the time of some work out among deepbass's own lines, whatever they call."""
    watched, end, seen = threading.get_ident(), threading.Event(), Counter[str]()

    def watch() -> None:
        while not end.wait(_EVERY):
            frame = sys._current_frames().get(watched)
            seen[_line(frame)] += 1

    work()
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    begin = time.perf_counter()
    work()
    while time.perf_counter() - begin < 1.0:  # enough looks for a share
        work()
    end.set()
    watcher.join()
    total = sum(seen.values()) or 1
    return {line: count / total for line, count in seen.most_common(_SHOWN) if count / total >= _LEAST}


def _line(frame: FrameType | None) -> str:
    """Name the innermost line of deepbass on a stack: its file and what stands there."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_HOME):
            text = linecache.getline(file, frame.f_lineno).partition("  #")[0].strip()
            # where torch's functions are caught on their way, the line is always the same: name the function
            caught = getattr(frame.f_locals.get("func"), "__name__", None) if "func(" in text else None
            return f"{Path(file).relative_to(_HOME)}: {text}" + (f" [{caught}]" if caught else "")
        frame = frame.f_back
    return "elsewhere"
