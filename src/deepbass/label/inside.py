"""Open a file of a folder for reading, and never one outside of it, wherever links lead and whenever they change."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from deepbass.label.pictures import Unpicturable

# NONBLOCK: a pipe that took a file's place must not be waited for. All but RDONLY are missing somewhere
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
_ENTER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_STEPWISE = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")


def open_inside(path: Path, root: Path) -> BinaryIO:
    """Open a regular file; links may lead it anywhere within ``root``, a resolved folder, but not out of it."""
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(root):
            raise Unpicturable("a link that leads out of the folder")
        descriptor = _walk(root, real.relative_to(root).parts)
    except FileNotFoundError as error:
        raise Unpicturable("the file is not there any more") from error
    except PermissionError as error:
        raise Unpicturable("the file may not be read") from error
    except (OSError, RuntimeError) as error:  # RuntimeError: a ring of links, up to Python 3.12
        # not the error's own words: they name paths, which are nobody's business
        reason = error.strerror if isinstance(error, OSError) else None
        raise Unpicturable(f"the file cannot be opened ({reason or 'links that lead in a ring'})") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Unpicturable("not a file")
    return os.fdopen(descriptor, "rb")


def _walk(root: Path, parts: tuple[str, ...]) -> int:
    """Open a file step by step without following a link: one that was put in place a moment ago fails."""
    if not _STEPWISE:
        return os.open(root.joinpath(*parts), _READ)
    here = os.open(root, _ENTER)
    for part in parts[:-1]:
        try:
            below = os.open(part, _ENTER, dir_fd=here)
        finally:
            os.close(here)
        here = below
    try:
        return os.open(parts[-1] if parts else ".", _READ, dir_fd=here)
    finally:
        os.close(here)
