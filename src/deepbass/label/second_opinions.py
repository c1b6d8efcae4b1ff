"""Second opinions: which answered items are asked of another person as well, and which of them still wait."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from heapq import merge

from deepbass.core.randomness import generator
from deepbass.label.draws import behind, draw
from deepbass.label.ledger import Ledger
from deepbass.label.settings import Settings


class SecondOpinions:
    """Keeps the chosen items that exactly one person labelled. Which are chosen is drawn by seed and item alone."""

    def __init__(self, ledger: Ledger, settings: Settings, count: int) -> None:
        self._ledger = ledger
        self._share, self._seed = settings.twice, settings.seed
        self._drawn = draw(settings.seed, "twice", count if settings.twice else 0)
        self._waiting: dict[str, list[tuple[float, int]]] = {}  # the one who labelled it -> items, sorted by the draw
        self._who: dict[int, str] = {}
        for item in ledger.known_items() if settings.twice else ():
            self.look_at(item)

    def look_at(self, item: int) -> None:
        """See what an act changed about an item."""
        if not self._share:
            return
        place = (float(self._drawn[item]), item)
        one = self._only_person(item) if place[0] < self._share else None
        before = self._who.get(item)
        if one == before:
            return
        if before is not None:
            theirs = self._waiting[before]
            del theirs[bisect_left(theirs, place)]
            del self._who[item]
        if one is not None:
            insort(self._waiting.setdefault(one, []), place)
            self._who[item] = one

    def waiting_for(self, annotator: str) -> Iterator[int]:
        """Go through the items that somebody else labelled, in random order, the same whenever it is asked."""
        others = [items for one, items in self._waiting.items() if one != annotator]
        return (item for _, item in merge(*others))

    def is_open(self, item: int, annotator: str) -> bool:
        """Tell whether a person's second opinion is still wanted."""
        standing = self._ledger.standing(item, annotator)
        one = self._only_person(item)
        return one is not None and one != annotator and (standing is None or standing.kind == "skip")

    def is_due(self, questions: int, given: int) -> bool:
        """Tell whether the next question is a second one, after so many ``questions`` and ``given`` second ones."""
        if not self._share:
            return False
        share = self._share / (1 + self._share)  # of the questions, if that share of items has two
        missing = behind(share, questions, given, self._seed, "second opinion due")
        if missing <= 1:
            return missing == 1
        # whoever comes late to a project finds many waiting: every other question, so that the model learns as well
        return bool(generator(self._seed, questions, "second opinion").random() < 0.5)

    def _only_person(self, item: int) -> str | None:
        if self._ledger.holds(item).settled:
            return None
        people = self._ledger.opinions(item)
        return next(iter(people)) if len(people) == 1 else None
