"""What the page looks through: earlier answers, the model's guesses, disagreements. Used by the desk's thread only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.label.acts import Act
from deepbass.label.agreement import agreements
from deepbass.label.ledger import Ledger, Only
from deepbass.label.models import Model
from deepbass.label.project import SOURCE

_CARDS = 200  # disagreements shown at a time: as they are settled, others follow


def act_json(act: Act, names: Sequence[str]) -> dict[str, Any]:
    """Describe what undo would take back."""
    return {"uid": act.uid, "item": act.item, "kind": act.kind, "class": act.class_, "name": names[act.item]}


def history(
    ledger: Ledger, names: Sequence[str], before: int | None, limit: int, annotator: str | None, only: Only | None
) -> dict[str, Any]:
    """List earlier answers, newest first."""
    acts = ledger.history(before, limit + 1, annotator, only)
    rows = [
        {
            **act_json(act, names),
            "id": act.id,
            "annotator": act.annotator,
            "at": act.at,
            "label": ledger.label(act.item),
        }
        for act in acts[:limit]
    ]
    return {"acts": rows, "more": len(acts) > limit}


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


class Guesses:
    """What the model labelled itself and nobody has said anything about, most doubtful first."""

    def __init__(self) -> None:
        self._of: tuple[Model, int] | None = None
        self._by_class: list[NDArray[np.int64]] = []

    def page(
        self,
        model: Model | None,
        ledger: Ledger,
        names: Sequence[str],
        classes: int,
        class_: int,
        offset: int,
        limit: int,
    ) -> dict[str, Any]:
        """List some guesses of a class, and count all."""
        if model is None:
            return {"items": [], "total": 0, "counts": [0] * classes}
        if self._of is None or self._of[0] is not model or self._of[1] != ledger.last or len(self._by_class) != classes:
            self._of, self._by_class = (model, ledger.last), _by_class(model, ledger, classes)
        chosen = self._by_class[class_]
        items = []
        for item in chosen[offset : offset + limit].tolist():
            guess = guess_json(model, item) or {}
            items.append({"item": item, "name": names[item], "guess": guess.pop("class"), **guess})
        return {"items": items, "total": len(chosen), "counts": [len(each) for each in self._by_class]}


class Disagreements:
    """Where people differ, and how far they agree."""

    def __init__(self) -> None:
        self._of = -1
        self._found: dict[str, Any] = {}

    def all(self, ledger: Ledger, names: Sequence[str]) -> dict[str, Any]:
        """List what is to be settled, and compare every two people."""
        if ledger.last != self._of:
            self._of, self._found = ledger.last, _disagreements(ledger, names)
        return self._found


def _by_class(model: Model, ledger: Ledger, classes: int) -> list[NDArray[np.int64]]:
    ranking = model.ranking
    shown = ranking.member & (ranking.guess >= 0)
    known = [item for item in ledger.known_items() if item < len(shown)]
    shown[known] = False
    for item, refused in ledger.vetoes().items():
        if item < len(shown) and int(ranking.guess[item]) in refused:
            shown[item] = False
    ids = np.flatnonzero(shown)
    ids = ids[np.argsort(-ranking.entropy[ids], kind="stable")]
    return [ids[ranking.guess[ids] == class_] for class_ in range(classes)]


def _disagreements(ledger: Ledger, names: Sequence[str]) -> dict[str, Any]:
    items = [
        {
            "item": item,
            "name": names[item],
            "answers": [{"annotator": who, "class": class_} for who, class_ in ledger.answers(item).items()],
        }
        for item in ledger.disagreements()[:_CARDS]
    ]
    labels: dict[str, dict[int, int]] = {}
    for item in ledger.known_items():
        answers = ledger.answers(item)
        if len(answers) > 1:
            for who, class_ in answers.items():
                if who != SOURCE:
                    labels.setdefault(who, {})[item] = class_
    agreement = [
        {"people": list(people), "n": found.n, "kappa": found.kappa} for people, found in agreements(labels).items()
    ]
    return {"items": items, "agreement": agreement}


def _number(value: np.floating[Any]) -> float | None:
    return round(float(value), 5) if math.isfinite(value) else None
