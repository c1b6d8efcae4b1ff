"""Whom to ask what next.

A person first gets back what they have in hand. Then, for every further question:

1. one of the audit reserve, when it is due (audit.py) or the person wants one: in an order drawn once, whatever the
   model says;
2. a second opinion on somebody else's answer, when it is due;
3. what the model's ranking puts first, with guesses that people refused before all; without a model, the spread.

When the ranking has nothing more, the rest of the reserve follows, then pending second opinions, then what this person
skipped. What anybody labelled is asked of nobody else but for a second opinion; what a person cannot tell is never
asked of them again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Self

from deepbass.core.labels import Ids
from deepbass.core.raw_samples import Kind
from deepbass.label import audit
from deepbass.label.acts import ANSWERS, ASKED, Act, Question, Why
from deepbass.label.leases import Lease, Leases
from deepbass.label.ledger import Ledger
from deepbass.label.phrases import listed, number_of, span
from deepbass.label.project import Project
from deepbass.label.question_order import QuestionOrder, each, without
from deepbass.label.ranking import Ranking
from deepbass.label.second_opinions import SecondOpinions
from deepbass.label.settings import Settings

_TRIM_AFTER = 500  # answers since the order was last freed of what is known


class Queue:
    """Hands out questions. It belongs to one thread, and so does its ledger.

    ``leases.unsaved()`` is what `Journal.save_leases` should write after acts were taken or questions given.
    """

    def __init__(
        self,
        ledger: Ledger,
        count: int,
        reserve: Iterable[int],
        settings: Settings,
        leases: Iterable[Lease] = (),
        kind: Kind = "image",
        gone: Iterable[int] = (),
    ) -> None:
        """Make a queue of ``count`` items, of which those that are ``gone`` are asked of nobody."""
        self.ledger = ledger
        self._kind = kind  # of the items, for what is said to people
        self.leases = Leases(leases)
        self._settings = settings
        self._reserve = list(reserve)  # in the order in which it is asked
        self._reserved = frozenset(self._reserve)
        self._gone = frozenset(gone)
        self._count = count
        self._second = SecondOpinions(ledger, settings, count)
        self._order = QuestionOrder(settings.seed, count, self._reserved | self._gone)
        self._last = ledger.last  # the newest act taken
        self._ranking: Ranking | None = None
        self._spread: Sequence[int] = ()
        self._audit_first: Counter[str] = Counter()  # audit questions that people asked to have next
        self._set_order(None)

    @classmethod
    def of(
        cls, project: Project, count: int, ledger: Ledger, leases: Iterable[Lease] = (), gone: Iterable[int] = ()
    ) -> Self:
        """Make the queue of a project."""
        reserve = project.audit_reserve(count).tolist()
        return cls(ledger, count, reserve, project.settings, leases, project.kind, gone)

    @property
    def ranking(self) -> Ranking | None:
        """What the model makes of the items; a newer one can be set at any time and counts at once."""
        return self._ranking

    @ranking.setter
    def ranking(self, ranking: Ranking | None) -> None:
        same = ranking is not None and self._ranking is not None and ranking.score is self._ranking.score
        self._ranking = ranking
        if not same:  # by other classes it is the same order
            self._set_order(None)

    def sort(self, ranking: Ranking) -> Ids:
        """Find the order for a ranking, in any thread: of a million items that takes a while."""
        return self._order.by_ranking(ranking)

    def rank(self, ranking: Ranking, order: Ids) -> None:
        """Take up a ranking with the order that `sort` found for it."""
        self._ranking = ranking
        self._set_order(order)

    @property
    def spread(self) -> Sequence[int]:
        """The order for the time before there is a model; what is not in it follows at random."""
        return self._spread

    @spread.setter
    def spread(self, order: Sequence[int]) -> None:
        self._spread = order
        if self._ranking is None:
            self._set_order(None)

    def reclassed(self) -> None:
        """Take note that the ledger has come to see its acts in the light of other classes."""
        self._second = SecondOpinions(self.ledger, self._settings, self._count)

    def next(
        self, annotator: str, count: int, now: float, holding: Iterable[int] = (), seconds: float | None = None
    ) -> list[Question]:
        """Hand out ``count`` questions in all, or as many as there are: first what the person has in hand.

        ``holding`` are those of them that their page shows or has ready; they come before the others. They are theirs
        for ``seconds``, or for as long as the project has it.
        """
        until = now + (self._settings.lease_seconds if seconds is None else seconds)
        given = [self.leases.renew(item, until) for item in self._in_hand(annotator, holding)[: max(count, 0)]]
        fresh = self._fresh(annotator, now)
        while len(given) < count and (found := next(fresh, None)) is not None:
            given.append(Lease(found[0], annotator, found[1], until))
            self.leases.hand_out(given[-1])
        return [Question(lease.item, lease.why, lease.until) for lease in given]

    def audit_first(self, annotator: str, count: int, now: float, showing: int | None = None) -> int:
        """Ask a person about the audit next, ``count`` times or as often as there is something; return how often.

        What else they have in hand goes back, but for what their page is ``showing``. The order of the audit stays as
        it was drawn, and what is asked now is not asked later: the share of the audit's questions is made up for.
        """
        for lease in self.leases.of(annotator):
            if lease.why != "audit" and lease.item != showing:
                self.leases.give_back(lease.item)
        there = sum(1 for _ in islice(self._unasked(self._reserve, annotator, now), count))
        self._audit_first[annotator] = there
        return there

    def give_back(self, annotator: str, keep: Iterable[int], now: float) -> None:
        """Free what a person took along, but for what they ``keep``, which is theirs for the usual time from now on."""
        kept = set(keep)
        for lease in self.leases.of(annotator):
            if lease.item in kept:
                self.leases.end_at(lease.item, now + self._settings.lease_seconds)
            else:
                self.leases.give_back(lease.item)

    def take(self, act: Act, now: float) -> None:
        """Take up the next act, in the ledger as well; one taken before changes nothing.

        An answer ends the lease on its item. An answer taken back returns the question to who gave it, before all
        others, unless somebody else has it by then.
        """
        self.ledger.take(act)
        if act.id <= self._last:
            return
        self._last = act.id
        self._second.look_at(act.item)
        lease = self.leases.on(act.item)
        if act.kind in ANSWERS and lease is not None and lease.annotator == act.annotator:
            self.leases.give_back(act.item)
        undone = self.ledger.act(act.undoes or "")
        if undone is None or undone.kind not in ANSWERS or undone.why not in ASKED:
            return
        again = Lease(act.item, act.annotator, undone.why, now + self._settings.lease_seconds)
        if not self.leases.taken(act.item, now) and self._is_open(again):
            self.leases.hand_out(again, first=True)

    def why(self, item: int, annotator: str) -> Why:
        """Tell why a person was asked about an item, also where the lease has gone to somebody else meanwhile."""
        lease = self.leases.on(item)
        if lease is not None and lease.annotator == annotator:
            return lease.why
        return self._why(item)

    def why_empty(self, annotator: str, now: float | None = None) -> str:
        """Say in words why there is nothing to ask a person."""
        now = time.time() if now is None else now
        if self._count == len(self._gone):
            return f"There are no {self._kind}s to label."
        left = [item for item in chain(each(self._all_in_order()), self._reserve) if not self.ledger.known(item)]
        left = [item for item in left if item not in self._gone]
        leases = [lease for lease in map(self.leases.on, left) if lease is not None]
        elsewhere = [lease for lease in leases if lease.annotator != annotator and lease.until > now]
        reasons = []
        if elsewhere:
            people = listed(sorted({lease.annotator for lease in elsewhere}))
            are = "is" if len(elsewhere) == 1 else "are"
            soonest = span(min(lease.until for lease in elsewhere) - now)
            reasons.append(
                f"{number_of(len(elsewhere), self._kind)} {are} with {people}; the first comes free in {soonest}, "
                "unless it is answered."
            )
        if beyond := len(left) - len(elsewhere):
            them = "it" if beyond == 1 else "them"
            reasons.append(f"{number_of(beyond, self._kind)} you could not tell; somebody else may label {them}.")
        return " ".join([*reasons, "All others are labelled."]) if reasons else f"All {self._kind}s are labelled."

    def _in_hand(self, annotator: str, holding: Iterable[int]) -> list[int]:
        """List the items that a person keeps; what was answered meanwhile or is gone is given back."""
        mine = {lease.item: lease for lease in self.leases.of(annotator)}
        first = [item for item in holding if item in mine]
        kept = []
        for item in dict.fromkeys([*first, *mine]):
            if self._is_open(mine[item]):
                kept.append(item)
            else:
                self.leases.give_back(item)
        return kept

    def _is_open(self, lease: Lease) -> bool:
        """Tell whether a question still waits for its answer."""
        if lease.item in self._gone:
            return False
        if lease.why == "twice" and self._second.is_open(lease.item, lease.annotator):
            return True
        standing = self.ledger.standing(lease.item, lease.annotator)
        return not self.ledger.known(lease.item) and (standing is None or standing.kind == "skip")

    def _fresh(self, annotator: str, now: float) -> Iterator[tuple[int, Why]]:
        """Find one question after the other, each by what was handed out before it."""
        reserved = self._unasked(self._reserve, annotator, now)
        second = self._second_opinions(annotator, now)
        vetoed = [item for item in self.ledger.vetoes() if item not in self._reserved]
        ranked = self._unasked(chain(vetoed, self._left_in_order()), annotator, now)
        why: Why = "spread" if self._ranking is None else "rank"
        while self._audit_first[annotator] > 0 and (item := next(reserved, None)) is not None:
            self._audit_first[annotator] -= 1
            yield item, "audit"
        while True:
            questions, given = self._counts(now)
            if audit.is_due(self._settings, questions, given["audit"]) and (item := next(reserved, None)) is not None:
                yield item, "audit"
            elif self._second.is_due(questions, given["twice"]) and (item := next(second, None)) is not None:
                yield item, "twice"
            elif (item := next(ranked, None)) is not None:
                yield item, why
            else:
                break
        yield from ((item, "audit") for item in reserved)
        yield from ((item, "twice") for item in second)
        yield from self._skipped(annotator, now)

    def _unasked(self, items: Iterable[int], annotator: str, now: float) -> Iterator[int]:
        """Leave what nobody labelled, nobody has in hand, and this person has not seen."""
        known, done = self.ledger.known_items(), self.ledger.done_by(annotator)
        for item in items:
            if item in known or item in done or item in self._gone or self.leases.taken(item, now):
                continue
            yield item

    def _second_opinions(self, annotator: str, now: float) -> Iterator[int]:
        done = self.ledger.done_by(annotator)
        for item in self._second.waiting_for(annotator):
            if item not in done and item not in self._gone and not self.leases.taken(item, now):
                yield item

    def _skipped(self, annotator: str, now: float) -> Iterator[tuple[int, Why]]:
        """Come back to what a person skipped, the longest ago first."""
        standing = [self.ledger.standing(item, annotator) for item in self.ledger.done_by(annotator)]
        skips = [act for act in standing if act is not None and act.kind == "skip"]
        for act in sorted(skips, key=lambda act: act.id):
            if act.item in self._gone or self.leases.taken(act.item, now):
                continue
            if not self.ledger.known(act.item):
                yield act.item, self._why(act.item)
            elif self._second.is_open(act.item, annotator):
                yield act.item, "twice"

    def _counts(self, now: float) -> tuple[int, Counter[str]]:
        """Count the questions: those answered, and those in somebody's hand, as if they were answered."""
        counts = Counter(self.ledger.answered)
        counts.update(lease.why for lease in self.leases.current(now))
        return counts.total(), counts

    def _why(self, item: int) -> Why:
        if item in self._reserved:
            return "audit"
        return "spread" if self._ranking is None else "rank"

    def _set_order(self, order: Ids | None) -> None:
        """Begin with another order; None: it is found when it is first needed."""
        self._whole, self._left = order, order
        self._known_then, self._reopened = 0, self.ledger.reopened

    def _all_in_order(self) -> Ids:
        """Sort all items but the reserve, once per ranking."""
        if self._whole is None:
            ranking = self._ranking
            self._whole = self._order.by_spread(self._spread) if ranking is None else self._order.by_ranking(ranking)
        return self._whole

    def _left_in_order(self) -> Iterator[int]:
        """Free the order of what is known, now and then; an undo may bring items back, so it begins anew then."""
        known = self.ledger.known_items()
        if self._left is None or self._reopened != self.ledger.reopened:
            self._left, self._known_then, self._reopened = self._all_in_order(), 0, self.ledger.reopened
        if len(known) - self._known_then > _TRIM_AFTER:
            self._left, self._known_then = without(self._left, known, self._count), len(known)
        return each(self._left)
