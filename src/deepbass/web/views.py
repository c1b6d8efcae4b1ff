"""What the page looks through: earlier answers, guesses, disagreements. Used by the service's thread only."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.labels import NO_IDS
from deepbass.label.acts import Act
from deepbass.label.agreement import agreements
from deepbass.label.alike import Alike
from deepbass.label.class_list import ClassList
from deepbass.label.guesses import THRESHOLD, Level, guesses_of
from deepbass.label.ledger import Ledger, Only
from deepbass.label.reasons import Reason
from deepbass.label.trained_models import Model

_CARDS = 200  # disagreements shown at a time: as they are settled, others follow


def act_json(act: Act, names: Sequence[str], classes: ClassList) -> dict[str, Any]:
    """Describe an act; where its class was removed it has none, but ``removed`` tells what that was called."""
    class_ = None if act.class_ is None else classes.resolve(act.class_)
    described = {"uid": act.uid, "item": act.item, "kind": act.kind, "class": class_, "name": names[act.item]}
    if act.note is not None:
        described["note"] = act.note
    if act.class_ is not None and class_ is None:
        described["removed"] = classes.name(act.class_)
    return described


@dataclass(frozen=True)
class Sought:
    """Which earlier answers are looked for; what is None or empty is not asked for."""

    before: int | None = None  # the id of an act, for the next page
    limit: int = 50
    annotator: str | None = None
    only: Only | None = None
    part: str = ""  # of the names of items
    class_: int | None = None  # that they name
    since: str = ""  # ISO-8601, UTC, as acts have it
    until: str = ""  # as above; not included


def _wanted(sought: Sought, names: Sequence[str], classes: ClassList) -> Callable[[Act], bool] | None:
    part = sought.part.casefold()
    if not part and sought.class_ is None and not sought.since and not sought.until:
        return None

    def wanted(act: Act) -> bool:
        return (
            (not sought.since or act.at >= sought.since)  # such times sort as text
            and (not sought.until or act.at < sought.until)
            and (sought.class_ is None or (act.class_ is not None and classes.resolve(act.class_) == sought.class_))
            and part in names[act.item].casefold()
        )

    return wanted


def history(
    ledger: Ledger,
    names: Sequence[str],
    classes: ClassList,
    sought: Sought,
    reasons: Callable[[Sequence[int]], Mapping[int, Reason]] = lambda acts: {},
) -> dict[str, Any]:
    """List the earlier answers that are sought, newest first; ``reasons`` tells why the model asked."""
    limit = sought.limit
    acts = ledger.history(sought.before, limit + 1, sought.annotator, sought.only, _wanted(sought, names, classes))
    asked = reasons([act.id for act in acts[:limit]])
    rows = [
        {
            **act_json(act, names, classes),
            "id": act.id,
            "annotator": act.annotator,
            "at": act.at,
            # what is skipped or flagged may still be asked, and nobody should know that it is a test question
            "why": act.why if act.kind == "label" else "",
            "asked": _reason_json(asked.get(act.id), classes),
            "label": ledger.label(act.item),
            "note": ledger.holds(act.item).note,
        }
        for act in acts[:limit]
    ]
    return {"acts": rows, "more": len(acts) > limit}


def _reason_json(reason: Reason | None, classes: ClassList) -> dict[str, Any] | None:
    """Describe why the model asked; classes are those of now, and one that was removed is None."""
    if reason is None:
        return None
    top = [(reason.first, reason.first_share), (reason.second, reason.second_share)]
    return {
        "rule": reason.rule,
        "top": [{"class": classes.resolve(id_), "share": share} for id_, share in top if id_ is not None],
    }


def guess_json(model: Model | None, item: int) -> dict[str, Any] | None:
    """Tell what the model thinks of an item, if it has seen it."""
    if model is None or item >= len(model.ranking.guess) or model.ranking.guess[item] < 0:
        return None
    ranking = model.ranking
    return {
        "class": int(ranking.guess[item]),
        "confidence": _number(ranking.confidence[item]),
        "entropy": _number(ranking.entropy[item]),
    }


def alike_json(found: Alike, names: Sequence[str], model: Model | None) -> dict[str, Any]:
    """Describe what is like an item, with the model's guess where it has one."""
    return {
        "class": found.class_,
        "why_none": found.why_none,
        "items": [
            {"item": item, "name": names[item], "distance": round(away, 4), "guess": guess_json(model, item)}
            for item, away in found.items
        ],
    }


def levels_json(levels: Sequence[Level]) -> dict[str, Any]:
    """Describe what thresholds would give."""

    def described(level: Level) -> dict[str, Any]:
        unknown = {"n": 0, "errors": 0, "estimate": None, "low": None, "high": None}
        error = unknown if level.error is None else asdict(level.error)
        return {"confidence": level.confidence, "guesses": level.guesses, **error}

    return {"default": THRESHOLD, "levels": [described(level) for level in levels]}


class Guesses:
    """What the model labelled itself and nobody has said anything about, most doubtful first."""

    def __init__(self, gone: Collection[int] = ()) -> None:
        self._gone = gone
        self._of: tuple[Model | None, int, float] | None = None
        self._ids: NDArray[np.int64] = NO_IDS
        self._guess: NDArray[np.int16] = np.empty(0, np.int16)
        self._reserved: NDArray[np.bool_] = np.empty(0, np.bool_)

    def page(
        self,
        model: Model | None,
        ledger: Ledger,
        names: Sequence[str],
        classes: ClassList,
        class_: int,
        least: float,
        offset: int,
        limit: int,
    ) -> dict[str, Any]:
        """List some guesses of a class, and count those of every class.

        Guesses about images of the audit reserve count as all others do, but are not shown (``kept`` is their number):
        people would mend the wrong ones, and the images left to measure the error with would be the right ones.
        """
        if self._of is None or self._of[0] is not model or self._of[1:] != (ledger.last, least):
            self._of = model, ledger.last, least
            self._ids, self._guess, self._reserved = self._sorted(model, ledger, least)
        of_class = self._guess == class_
        chosen, hidden = self._ids[of_class], self._reserved[of_class]
        items = []
        for item in chosen[~hidden][offset : offset + limit].tolist():
            guess = guess_json(model, item) or {}
            items.append({"item": item, "name": names[item], "guess": guess.pop("class"), **guess})
        return {
            "items": items,
            "total": len(chosen),
            "kept": int(np.count_nonzero(hidden)),
            "counts": {class_: int(np.count_nonzero(self._guess == class_)) for class_ in classes.ids},
            "threshold": THRESHOLD,
        }

    def _sorted(
        self, model: Model | None, ledger: Ledger, least: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int16], NDArray[np.bool_]]:
        """List the guesses that count, most doubtful first: items, classes, and whether each is of the reserve."""
        ids = guesses_of(model, ledger, least, self._gone)
        if model is None:
            return NO_IDS, self._guess[:0], self._reserved[:0]
        ranking = model.ranking
        ids = ids[np.argsort(-ranking.entropy[ids], kind="stable")]
        reserved = np.zeros(len(ranking.guess), dtype=np.bool_)
        reserve = np.fromiter(ledger.reserve, np.int64, len(ledger.reserve))
        reserved[reserve[reserve < len(reserved)]] = True
        return ids, ranking.guess[ids], reserved[ids]


class Disagreements:
    """Where people differ, and how far they agree."""

    def __init__(self) -> None:
        self._of = (-1, -1)
        self._found: dict[str, Any] = {}

    def all(self, ledger: Ledger, names: Sequence[str]) -> dict[str, Any]:
        """List what is to be settled, and compare every two people."""
        if self._of != (ledger.last, ledger.reopened):
            self._of, self._found = (ledger.last, ledger.reopened), _disagreements(ledger, names)
        return self._found


def _disagreements(ledger: Ledger, names: Sequence[str]) -> dict[str, Any]:
    def opinions(item: int) -> list[dict[str, Any]]:
        answers = ledger.answers(item, brought=False)
        return [{"annotator": annotator, "class": class_} for annotator, class_ in answers.items()]

    pairs = agreements(ledger.labels_by_person())
    return {
        "items": [
            {"item": item, "name": names[item], "answers": opinions(item)} for item in ledger.disagreements()[:_CARDS]
        ],
        "agreement": [{"people": list(people), "n": pair.n, "kappa": pair.kappa} for people, pair in pairs.items()],
    }


def _number(value: np.floating[Any]) -> float | None:
    return round(float(value), 5) if math.isfinite(value) else None
