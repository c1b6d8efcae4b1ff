"""An oracle made of people, who answer through the store when they find the time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deepbass.core.labels import Answers, Ids
from deepbass.store import Events


class People:
    """Puts questions into the store and hears what has been said since it last asked. It never waits."""

    def __init__(self, events: Events, iteration: Callable[[], int]) -> None:
        self._events = events
        self._iteration = iteration  # the one in progress, under which its step will be committed
        self._heard = 0  # a new instance hears everything again: an answer taken up twice changes nothing

    def ask(self, ids: Ids) -> Answers:
        """Put the questions where people see them, and return what is new, in the order in which it was said.

        That may be answers to earlier questions, corrections, and answers taken back.
        """
        if len(ids):
            self._events.ask(ids, self._iteration())
        new = self._events.answers(since=self._heard)
        if new:
            self._heard = new[-1].id
        return Answers(
            np.array([row.sample for row in new], dtype=np.int64),
            np.array([row.class_ for row in new], dtype=np.int64),
        )
