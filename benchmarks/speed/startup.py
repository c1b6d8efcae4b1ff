"""How long one waits for the command, and what an import of the library drags in."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from statistics import median
from typing import Any

from speed.timed import clocked

_IMPORT = "import sys, deepbass; sys.exit('torch' in sys.modules)"


def measure(times: int = 7) -> dict[str, Any]:
    """Start Python, the import and the command in turn, several times, each in a process of its own."""
    commands = {
        "python": ["-c", "pass"],
        "import": ["-c", "import deepbass"],
        "help": ["-m", "deepbass", "--help"],
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(times + 1):
        for name, words in commands.items():
            seconds = clocked(partial(_run, words)).seconds
            if number:  # the first fills the system's file cache
                taken[name].append(seconds)
    imports_torch = subprocess.run([sys.executable, "-c", _IMPORT], check=False).returncode != 0
    return {
        "import_imports_torch": imports_torch,
        "times": times,
        "seconds": {name: round(median(seconds), 3) for name, seconds in taken.items()},
    }


def _run(words: list[str]) -> None:
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
