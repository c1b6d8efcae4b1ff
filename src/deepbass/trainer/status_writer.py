"""What the trainer says while it works: one JSON object per line on standard output."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from deepbass.store import child

_PROGRESS_SECONDS = 0.5


class StatusWriter:
    """Says what is done, no oftener than can be read, and nothing twice in a row."""

    def __init__(self, say: Callable[[dict[str, Any]], None] = child.say) -> None:
        self._say = say
        self._said: dict[str, Any] = {}
        self._at = 0.0
        self._background = -1  # per cent
        self.iteration: int | None = None  # the one under way, if any; that of number 0 is the initial training

    def doing(self, what: str, **more: Any) -> None:
        """Say what begins now and may last."""
        said = {"doing": what, **more}
        if said != self._said:
            self._said, self._at = said, time.monotonic()
            self._say(said)

    def progress(self, what: str, share: float) -> None:
        """Say how far something is, if the last word is some time ago."""
        if self.iteration is not None and time.monotonic() - self._at > _PROGRESS_SECONDS:
            what = "initial training" if what == "training" and self.iteration == 0 else what
            self.doing(what, share=round(share, 3), iteration=self.iteration)

    def background(self, what: str, share: float) -> None:
        """Say how far something is that goes on beside the training, as it moves on; another thread may call this."""
        if int(100 * share) != self._background:  # rounded down: 100 is when it is over
            self._background = int(100 * share)
            self._say({"background": what, "share": round(share, 3)})

    def committed(self, model: str, iteration: int, known: int, members: int, seconds: float) -> None:
        """Say that an iteration counts."""
        self._say(
            {
                "committed": iteration,
                "model": model,
                "known": known,
                "members": members,
                "seconds": round(seconds, 3),
            }
        )

    def note(self, text: str) -> None:
        """Say something that people should know."""
        self._say({"note": text})

    def error(self, text: str) -> None:
        """Say why this is the end."""
        self._say({"error": text})
