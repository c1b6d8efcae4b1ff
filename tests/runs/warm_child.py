"""Be a command: what a process does that `warm` has forked. ORDER says which, and where it writes."""

from __future__ import annotations

import os
import resource
import runpy
import sys

ORDER: tuple[list[str], dict[str, str], str, str, int | None] = globals()["ORDER"]  # set by who runs this file


def become(words: list[str], environment: dict[str, str], out: str, err: str, largest: int | None) -> None:
    """Be ``python -m`` with these words, in the environment of the test."""
    os.environ.clear()
    os.environ.update(environment)
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
    os.dup2(os.pipe()[0], 0)  # nobody writes to it, and it does not end
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115
    if largest is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    sys.argv = words
    runpy.run_module(words[0], run_name="__main__", alter_sys=True)


become(*ORDER)
