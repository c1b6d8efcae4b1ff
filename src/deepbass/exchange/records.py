"""What is exchanged: all that is known of every item, on its way out; labels that others gave, on their way in.

Gathering works while the server and the trainer run.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field, replace

import numpy as np

from deepbass.core.error_law import Estimate
from deepbass.core.raw_samples import Kind
from deepbass.label.acts import ANSWERS, ASKED, BROUGHT, Act, Why
from deepbass.label.contents import Content
from deepbass.label.estimate import error_estimate
from deepbass.label.guesses import THRESHOLD, guesses_of
from deepbass.label.journal import ItemRow, Journal
from deepbass.label.ledger import Ledger
from deepbass.label.pictures import Unpicturable
from deepbass.label.project import Project
from deepbass.label.sample_items import Read
from deepbass.label.trained_models import Model, newest_model

PSEUDO, MODEL = "pseudo", "model"  # source and annotator of what the model labelled itself
_EVER = 1 << 62  # more acts than there can be


@dataclass(frozen=True)
class Guess:
    """What the newest model thinks of an item."""

    label: str
    confidence: float
    entropy: float


@dataclass(frozen=True)
class Answer:
    """What a person said last about an item."""

    annotator: str
    kind: str  # label, skip, unsure, or settle
    label: str | None
    source: str
    created_at: str
    seconds: float | None
    saw_guess: bool


@dataclass(frozen=True)
class ItemRecord:
    """One item: its label, if it has one, where that came from, and what else was said."""

    item: int
    path: str  # its name in the source
    gone: bool  # not in the source any more
    label: str | None = None  # None: nobody gave one, people differ, or the model is not sure enough
    source: str | None = None  # question, audit, browse, guesses, alike, source, import; pseudo: the model's
    annotator: str | None = None  # whose word it is; with several, the last one's
    created_at: str | None = None
    iteration: int | None = None  # of the model that was in use when the label was given, or that gave it
    flagged: bool = False
    note: str = ""
    answers: tuple[Answer, ...] = ()  # of everyone, in order; a settlement is the last
    guess: Guess | None = None

    def labelled(self, label: str, source: str, annotator: str, created_at: str, iteration: int | None) -> ItemRecord:
        """Add a label, and where it came from."""
        return replace(
            self, label=label, source=source, annotator=annotator, created_at=created_at, iteration=iteration
        )

    @property
    def is_guess(self) -> bool:
        """Tell whether the label is the model's own."""
        return self.source == PSEUDO


@dataclass(frozen=True, eq=False)
class Records:
    """A project at one moment."""

    classes: list[str]
    items: list[ItemRecord]  # the place in the list is the item's id
    model: Model | None
    audit: dict[int, int]  # class by item: what a model's error is measured with
    kind: Kind = "image"
    read: Read | None = None  # what texts and rows say, by name; None: they are images, or their source is gone
    threshold: float | None = None  # how sure the model was of the guesses that are labels; None: none is

    def content(self, record: ItemRecord) -> Content | None:
        """Read what a text or row says; None where nobody can tell any more."""
        try:
            return None if self.read is None or record.gone else self.read(record.path)
        except Unpicturable:
            return None

    def labelled(self) -> list[ItemRecord]:
        """List the items with a label."""
        return [record for record in self.items if record.label is not None]

    def guess_error(self) -> Estimate | None:
        """Estimate how often a guess that is a label is wrong, by the audit images that the model is as sure of."""
        if self.model is None or self.threshold is None:
            return None
        ranking = self.model.ranking
        return error_estimate(np.where(ranking.confidence >= self.threshold, ranking.guess, -1), self.audit)


@dataclass(frozen=True)
class ReadLabel:
    """A label as a file has it."""

    where: str  # in the file, as in "line 12"
    paths: tuple[str, ...]  # that may name the item, the likeliest first
    label: str
    annotator: str | None = None


@dataclass
class LabelsRead:
    """What a file holds."""

    labels: list[ReadLabel] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)  # what is no label by a person, by kind


def gather(project: Project, *, guesses: float | None = THRESHOLD) -> Records:
    """Read everything, without any lock; ``guesses``: how sure the model must be for its guess to be a label."""
    model = newest_model(project)  # first: the classes and items that it knows are there when it is
    with closing(Journal.open(project.labels_db, mode="ro")) as journal:
        ledger = project.ledger(journal)  # before the rest, for the same reason
        now, classes, items = journal.class_list(), journal.classes(), journal.items()
    model = model.resolved(now) if model is not None else None
    gone = {row.id for row in items if row.gone}
    guessed = set() if guesses is None else set(guesses_of(model, ledger, guesses, gone).tolist())
    answers, flags, thoughts, in_use = (
        _answers(ledger, classes),
        ledger.flags(),
        _guesses(model, classes),
        _InUse(model),
    )

    def record(row: ItemRow) -> ItemRecord:
        given = answers.get(row.id, ())
        known = ItemRecord(
            row.id,
            row.name,
            row.gone,
            flagged=row.id in flags,
            note=ledger.holds(row.id).note,
            answers=given,
            guess=thoughts.get(row.id),
        )
        label = ledger.label(row.id)
        if label is not None:
            last = [answer for answer in given if answer.label == classes[label]][-1]
            return known.labelled(
                classes[label], last.source, last.annotator, last.created_at, in_use.at(last.created_at)
            )
        if model is not None and known.guess is not None and row.id in guessed:
            return known.labelled(known.guess.label, PSEUDO, MODEL, model.created_at, model.iteration)
        return known

    records = [record(row) for row in items]
    return Records(now.names, records, model, ledger.audit_labels(), project.kind, threshold=guesses)


class _InUse:
    """Knows which iteration people had before them at any time."""

    def __init__(self, model: Model | None) -> None:
        self._steps = sorted((step.at, step.iteration) for step in (model.history() if model else []))
        self._times = [at for at, _ in self._steps]

    def at(self, time: str) -> int | None:
        """Find the newest iteration committed by then; None before the first."""
        place = bisect_right(self._times, time)  # ISO-8601 in UTC sorts as text
        return self._steps[place - 1][1] if place else None


def _answers(ledger: Ledger, classes: list[str]) -> dict[int, tuple[Answer, ...]]:
    """List what stands, by item: what was brought along, then what was said here, then the settlement."""
    settled: dict[int, Act] = {}
    standing: dict[int, list[Act]] = {}
    for act in reversed(ledger.history(limit=_EVER)):
        if act.kind == "settle":
            settled[act.item] = act
        elif act.kind in ANSWERS and ledger.standing(act.item, act.annotator) is act:
            standing.setdefault(act.item, []).append(act)
    found = {}
    for item in standing.keys() | settled.keys():
        acts = sorted(standing.get(item, []), key=lambda act: (act.why not in BROUGHT, act.id))
        acts += [settled[item]] if item in settled else []
        found[item] = tuple(_answer(act, classes) for act in acts)
    return found


def _answer(act: Act, classes: list[str]) -> Answer:
    label = None if act.class_ is None else classes[act.class_]
    return Answer(act.annotator, act.kind, label, _source(act.why), act.at, act.seconds, act.saw_guess)


def _source(why: Why) -> str:
    return "audit" if why == "audit" else "question" if why in ASKED else why


def _guesses(model: Model | None, classes: list[str]) -> dict[int, Guess]:
    if model is None:
        return {}
    ranking = model.ranking
    return {
        item: Guess(classes[guess], float(ranking.confidence[item]), float(ranking.entropy[item]))
        for item, guess in enumerate(ranking.guess.tolist())
        if guess >= 0
    }
