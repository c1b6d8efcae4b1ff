"""An oracle made of people who answer on a page: what their journal says now, held against what is trained on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set

import numpy as np

from deepbass.core.acquire import Acquire, Acquisition
from deepbass.core.admit import Admit
from deepbass.core.belief import Belief
from deepbass.core.labels import UNKNOWN, Answers, Classes, Ids, Labels
from deepbass.core.need import Need
from deepbass.label.journal import Journal
from deepbass.label.ledger import Ledger
from deepbass.label.project import Project
from deepbass.trainer.item_rows import ItemRows

Vetoes = dict[int, Set[int]]  # row -> outputs of classes that somebody said it is not


class LedgerReader:
    """A ledger that is kept up with the journal of a project."""

    def __init__(self, project: Project, journal: Journal) -> None:
        self._project, self._journal = project, journal
        self.classes = journal.class_list()
        self.ledger = Ledger(project.audit_reserve(journal.item_count()).tolist(), self.classes)

    def read(self) -> None:
        """Take up what was written since."""
        acts = self._journal.acts(since=self.ledger.last)  # before the classes: those that acts name are there then
        self.classes = self._journal.class_list()
        self.ledger.reclass(self.classes)
        for act in acts:
            self.ledger.take(act)

    def items(self) -> int:
        """Count the items as they are now."""
        return self._journal.item_count()

    def ready(self) -> bool:
        """Tell whether every class has enough labels to begin with."""
        return self._project.ready(self.ledger)

    def missing(self) -> list[dict[str, str | int]]:
        """List the classes that have fewer labels than it takes to begin."""
        needs = self._project.needs(self.ledger)
        return [{"class": self.classes.name(need.class_), "have": need.have, "need": need.need} for need in needs]


class LabelOracle:
    """Answers with what has changed, whatever it is asked: people see the ranking, not the loop's questions.

    A label that was taken back comes as UNKNOWN. Samples of the audit reserve are never among the answers. Classes are
    told by the network's outputs here: ``class_ids`` has the class of each.
    """

    def __init__(
        self, reader: LedgerReader, rows: ItemRows, reserve: Ids, class_ids: Sequence[int], held: Callable[[], Labels]
    ) -> None:
        self._reader, self._rows, self._reserve = reader, rows, reserve
        self._output = {class_: output for output, class_ in enumerate(class_ids)}
        self._held = held  # the labels that the run holds

    def ask(self, ids: Ids) -> Answers:
        """Read what people have said, and return where it differs from the labels held."""
        self._reader.read()
        return self.news()

    def news(self) -> Answers:
        """Return where what was read differs from the labels held."""
        held = self._held()
        given = self.given()
        changed = np.flatnonzero(given != held.answer)
        return Answers(changed, given[changed])

    def given(self) -> Classes:
        """Lay out the labels to train on, one per row; those of classes without an output wait for the next run."""
        answer = np.full(len(self._rows), UNKNOWN, dtype=np.int64)
        for row, class_ in self._rows.by_row(self._reader.ledger.training_labels()).items():
            answer[row] = self._output.get(class_, UNKNOWN)
        answer[self._reserve] = UNKNOWN
        return answer

    def vetoes(self) -> Vetoes:
        """Read what people have said, and return which guesses they refused."""
        self._reader.read()
        by_row = self._rows.by_row(self._reader.ledger.vetoes())
        outputs = {
            row: frozenset(self._output[c] for c in refused if c in self._output) for row, refused in by_row.items()
        }
        return {row: refused for row, refused in outputs.items() if refused}


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

    def given(labels: Labels) -> Acquisition:
        inside = acquire.about(labels)
        return lambda belief, askable, count, rng: inside(belief, np.setdiff1d(askable, reserve), count, rng)

    return Acquire(choose, need, given, acquire.most)
