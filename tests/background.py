"""Commands as a background job of a script has them: SIGINT is ignored, for the job and for all that it starts."""

from __future__ import annotations

import sys

_IGNORING = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"


def in_the_background(*words: object) -> list[str]:
    """Spell a call of Python with these words as a script starts it in its background."""
    return [sys.executable, "-c", _IGNORING, sys.executable, *map(str, words)]
