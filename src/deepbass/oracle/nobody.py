"""An oracle that nobody sits behind: it is never asked, and never answers."""

from __future__ import annotations

from deepbass.core.labels import NO_ANSWERS, Answers, Ids


class Nobody:
    """Answers nothing, ever."""

    def ask(self, ids: Ids) -> Answers:
        """Return no answer."""
        return NO_ANSWERS
