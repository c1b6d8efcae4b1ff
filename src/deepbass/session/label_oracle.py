"""An oracle made of people who answer on a page: what their journal says now, held against what is trained on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set

import numpy as np

from deepbass.core.acquire import Acquire
from deepbass.core.admit import Admit
from deepbass.core.belief import Belief
from deepbass.core.labels import UNKNOWN, Answers, Classes, Ids, Labels
from deepbass.core.need import Need
from deepbass.label.journal import Journal
from deepbass.label.ledger import Ledger
from deepbass.label.project import Project
from deepbass.session.rows import Rows

Vetoes = dict[int, Set[int]]  # row -> classes that somebody said it is not


class Heard:
    """What people have said: a ledger that is kept up with their journal."""

    def __init__(self, project: Project, journal: Journal) -> None:
        self._project, self._journal = project, journal
        self.ledger = Ledger(project.audit_reserve(journal.item_count()).tolist())

    def listen(self) -> None:
        """Take up what was written since."""
        for act in self._journal.acts(since=self.ledger.last):
            self.ledger.take(act)

    def classes(self) -> tuple[str, ...]:
        """List the classes as they are now."""
        return tuple(self._journal.classes())

    def items(self) -> int:
        """Count the items as they are now."""
        return self._journal.item_count()

    def ready(self) -> bool:
        """Tell whether every class has enough labels to begin with."""
        return self._project.ready(self.ledger, len(self.classes()))

    def missing(self) -> list[dict[str, str | int]]:
        """List the classes that have fewer labels than it takes to begin."""
        names = self.classes()
        needs = self._project.needs(self.ledger, len(names))
        return [{"class": names[need.class_], "have": need.have, "need": need.need} for need in needs]


class LabelOracle:
    """Answers with what has changed, whatever it is asked: people see the ranking, not the loop's questions.

    A label that was taken back comes as UNKNOWN. Samples of the audit reserve are never among the answers.
    """

    def __init__(self, heard: Heard, rows: Rows, reserve: Ids, held: Callable[[], Labels]) -> None:
        self._heard, self._rows, self._reserve = heard, rows, reserve
        self._held = held  # the labels that the run holds

    def ask(self, ids: Ids) -> Answers:
        """Hear what people have said, and return where it differs from the labels held."""
        self._heard.listen()
        return self.news()

    def news(self) -> Answers:
        """Return where what was heard differs from the labels held."""
        held = self._held()
        said = self.said(held.classes)
        changed = np.flatnonzero(said != held.answer)
        return Answers(changed, said[changed])

    def said(self, classes: int) -> Classes:
        """Lay out the labels to train on, one a row; those of classes beyond the known ones wait for the next run."""
        answer = np.full(len(self._rows), UNKNOWN, dtype=np.int64)
        for row, class_ in self._rows.by_row(self._heard.ledger.training_labels()).items():
            answer[row] = class_ if class_ < classes else UNKNOWN
        answer[self._reserve] = UNKNOWN
        return answer

    def vetoes(self) -> Vetoes:
        """Hear what people have said, and return which guesses they refused."""
        self._heard.listen()
        return {row: frozenset(classes) for row, classes in self._rows.by_row(self._heard.ledger.vetoes()).items()}


def admit_unvetoed(admit: Admit, reserve: Ids, vetoes: Callable[[], Mapping[int, Set[int]]]) -> Admit:
    """Keep guesses out that somebody refused, for as long as the model makes them; and all about the audit reserve."""

    def choose(belief: Belief, threshold: float, labels: Labels) -> Labels:
        admitted = admit(belief, threshold, labels)
        guess = admitted.guess.copy()
        guess[reserve] = UNKNOWN
        for row, classes in vetoes().items():
            if guess[row] in classes:
                guess[row] = UNKNOWN
        members = np.flatnonzero(guess != UNKNOWN)
        return admitted.guessed(members, guess[members])

    return Admit(choose, admit.need)


def acquire_outside(acquire: Acquire, reserve: Ids) -> Acquire:
    """Leave the audit reserve out of what may be asked for."""

    def choose(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
        return acquire(belief, np.setdiff1d(askable, reserve), count, rng)

    def need(askable: Ids, count: int) -> Need:
        return acquire.need(np.setdiff1d(askable, reserve), count)

    return Acquire(choose, need)
