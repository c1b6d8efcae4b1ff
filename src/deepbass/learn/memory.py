"""Keep freed memory in the process: on Linux a network step else faults its activations in again every time."""

from __future__ import annotations

import ctypes
import os
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # from glibc's malloc.h


def keep_freed_memory() -> bool:
    """Tell glibc not to hand large freed blocks back to the system; does nothing elsewhere.

    It holds for the whole process, so only the command does it, never the library. DEEPBASS_KEEP_MEMORY=0 turns it off.
    """
    if sys.platform != "linux" or os.environ.get("DEEPBASS_KEEP_MEMORY") == "0":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if mallopt is None:
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, 1 << 30) and mallopt(_M_TRIM_THRESHOLD, (1 << 31) - 1))
