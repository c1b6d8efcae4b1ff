"""What the audit shows of the newest model, class by class: what it finds, and what it takes for what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from deepbass.core.quality import Quality, count_confusion
from deepbass.label.class_list import ClassList
from deepbass.label.ledger import Ledger
from deepbass.label.trained_models import Model

_MISTAKES = 200  # shown at a time


def audit_results(model: Model | None, ledger: Ledger, names: Sequence[str], classes: ClassList) -> dict[str, Any]:
    """Compare the model's predictions with what people said about audit images, never about any other.

    A prediction of a class that was removed is a mistake of no class: its place in the pairs is None.
    """
    predicted = model.ranking.predicted if model else np.zeros(0, np.int16)
    labels = ledger.audit_labels()
    scored = [item for item in labels if item < len(predicted) and predicted[item] >= 0 and labels[item] in classes]
    ids = list(classes.ids)
    place = {class_: i for i, class_ in enumerate(ids)}
    if not scored:
        return {"n": 0, "errors": 0, "classes": [], "pairs": [], "mistakes": []}
    gone = len(ids)  # the place of what is no class any more
    true = np.array([place[labels[item]] for item in scored])
    guess = np.array([place.get(int(predicted[item]), gone) for item in scored])
    quality = Quality(count_confusion(true, guess, len(ids) + 1))
    wrong = [item for item in scored if labels[item] != predicted[item]]
    found, said = quality.confusion.diagonal(), quality.confusion.sum(0)
    pairs = quality.as_dict()["confusion"]
    return {
        "n": len(scored),
        "errors": len(wrong),
        "balanced_accuracy": round(quality.balanced_accuracy, 5),
        "macro_f1": round(quality.macro_f1, 5),
        "classes": [
            {"class": class_, "n": int(quality.occurring[i]), "found": int(found[i]), "said": int(said[i])}
            for i, class_ in enumerate(ids)
        ],
        "pairs": [{"is": ids[t], "taken_for": ids[g] if g < gone else None, "times": count} for t, g, count in pairs],
        "mistakes": [_mistake(item, names, labels, int(predicted[item]), place) for item in wrong[:_MISTAKES]],
    }


def _mistake(
    item: int, names: Sequence[str], labels: dict[int, int], predicted: int, place: dict[int, int]
) -> dict[str, Any]:
    guess = predicted if predicted in place else None
    return {"item": item, "name": names[item], "label": labels[item], "guess": guess}
