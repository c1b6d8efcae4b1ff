"""All that is known of every item, gathered for whoever takes it elsewhere. Works while the server and trainer run."""

from __future__ import annotations

from bisect import bisect_right
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from deepbass.label.acts import Act, Why
from deepbass.label.journal import ItemRow, Journal
from deepbass.label.ledger import Ledger
from deepbass.label.models import Model, newest_model
from deepbass.label.project import Project
from deepbass.label.said import ANSWERS, ASKED, BROUGHT

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
class Record:
    """One item: its label, if it has one, where that came from, and what else was said."""

    item: int
    path: str  # its name in the source
    gone: bool  # not in the source any more
    label: str | None = None  # None: nobody said, people differ, or the model is not sure enough
    source: str | None = None  # question, audit, browse, guesses, source, import; pseudo: the model's
    annotator: str | None = None  # whose word it is; with several, the last one's
    created_at: str | None = None
    iteration: int | None = None  # of the model that was in use when the label was given, or that gave it
    flagged: bool = False
    answers: tuple[Answer, ...] = ()  # of everyone, in order; a settlement is the last
    guess: Guess | None = None

    def labelled(self, label: str, source: str, annotator: str, created_at: str, iteration: int | None) -> Record:
        """Add a label, and where it came from."""
        return replace(
            self, label=label, source=source, annotator=annotator, created_at=created_at, iteration=iteration
        )

    @property
    def is_pseudo(self) -> bool:
        """Tell whether the label is the model's own."""
        return self.source == PSEUDO


@dataclass(frozen=True, eq=False)
class Records:
    """A project at one moment."""

    classes: list[str]
    items: list[Record]  # the place in the list is the item's id
    model: Model | None
    audit: dict[int, int]  # class by item: what a model's error is measured with

    def labelled(self) -> list[Record]:
        """List the items with a label."""
        return [record for record in self.items if record.label is not None]


def gather(project: Project, *, pseudo: bool = True) -> Records:
    """Read everything, without any lock; ``pseudo``: what the model labelled itself as well."""
    with closing(Journal.open(project.labels_db, mode="ro")) as journal:
        acts = journal.acts()  # first: what acts speak of is there when they are
        classes, items = journal.classes(), journal.items()
    reserve = project.audit_reserve(len(items)).tolist()
    ledger = Ledger.of(acts, reserve)
    model = newest_model(project)
    answers, flags = _answers(ledger, classes), ledger.flags()
    in_use = _InUse(model)
    guesses = _guesses(model)
    own = _pseudo(model, reserve, ledger) if pseudo else set()

    def record(row: ItemRow) -> Record:
        said = answers.get(row.id, ())
        known = Record(row.id, row.name, row.gone, flagged=row.id in flags, answers=said, guess=guesses.get(row.id))
        label = ledger.label(row.id)
        if label is not None:
            last = [answer for answer in said if answer.label == classes[label]][-1]
            return known.labelled(
                classes[label], last.source, last.annotator, last.created_at, in_use.at(last.created_at)
            )
        if model is not None and known.guess is not None and row.id in own and not row.gone:
            return known.labelled(known.guess.label, PSEUDO, MODEL, model.created_at, model.iteration)
        return known

    return Records(classes, [record(row) for row in items], model, ledger.audit_labels())


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


def _guesses(model: Model | None) -> dict[int, Guess]:
    if model is None:
        return {}
    ranking = model.ranking
    return {
        item: Guess(model.classes[guess], float(ranking.confidence[item]), float(ranking.entropy[item]))
        for item, guess in enumerate(ranking.guess.tolist())
        if guess >= 0
    }


def _pseudo(model: Model | None, reserve: list[int], ledger: Ledger) -> set[int]:
    """Find the items whose guess is a label: those that the model trains on, and their like in the audit reserve.

    The reserve is kept out of training for the sake of the estimate, not for doubt: where the model is as sure as it is
    of the least sure guess that it trains on, the guess is as good.
    """
    if model is None:
        return set()
    ranking = model.ranking
    trusted = ranking.member.copy()
    kept_out = np.array([item for item in reserve if item < len(trusted)], dtype=np.int64)
    if trusted.any():
        trusted[kept_out] |= ranking.entropy[kept_out] <= ranking.entropy[ranking.member].max()
    vetoes = ledger.vetoes()
    return {
        item
        for item in np.flatnonzero(trusted & (ranking.guess >= 0)).tolist()
        if not ledger.known(item) and int(ranking.guess[item]) not in vetoes.get(item, ())
    }
