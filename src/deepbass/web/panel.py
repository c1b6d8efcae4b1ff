"""The numbers of the live panel. What costs time is kept until the model or the audit answers change."""

from __future__ import annotations

from typing import Any

from deepbass.label.acts import Act
from deepbass.label.estimate import error_estimate, good_enough, standstill
from deepbass.label.ledger import Ledger
from deepbass.label.models import Model, audited
from deepbass.label.project import SOURCE, Project

_POINTS = 40  # of the curve of the error: it is sent with every receipt, and its chart is small


class Panel:
    """Adds up what people and model have done so far. Used by the desk's thread only."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._target = project.settings.target_error
        self._model: Model | None = None
        self._of_model: dict[str, Any] = self._look_at(None)
        self._audit: dict[str, Any] | None = None
        self._stale = True  # whether the estimate must be made anew

    def heard(self, act: Act, ledger: Ledger) -> None:
        """Take note of an act: most do not concern the audit, whose estimate then holds."""
        self._stale = self._stale or act.why == "audit" or act.item in ledger.reserve

    def numbers(self, ledger: Ledger, classes: int, model: Model | None) -> dict[str, Any]:
        """Return the panel but for what the trainer is doing, which changes on its own."""
        if model is not self._model:
            self._model, self._of_model, self._stale = model, self._look_at(model), True
        if self._stale:
            self._audit, self._stale = _estimate(model, ledger), False
        kinds, by_class, answered = ledger.by_kind, ledger.by_class, ledger.answered
        return {
            "labels": ledger.labels,
            "by_class": [by_class.get(class_, 0) for class_ in range(classes)],
            "answers": sum(answered.values()),
            "skipped": kinds.get("skip", 0),
            "unsure": kinds.get("unsure", 0),
            "flagged": kinds.get("flag", 0),
            "median_seconds": ledger.median_seconds,
            "audit": self._audit,
            "target": self._target,
            **self._of_model,
            "people": [
                {"name": name, "labels": labels}
                for name, labels in sorted(ledger.by_annotator.items())
                if name != SOURCE
            ],
            "disagreements": len(ledger.disagreements()),
            "ready": self._ready(ledger, classes) if model is None else None,
        }

    def _ready(self, ledger: Ledger, classes: int) -> dict[str, Any] | None:
        needs = self._project.needs(ledger, classes)
        if classes >= 2 and not needs:
            return None
        return {"need": [{"class": need.class_, "have": need.have, "need": need.need} for need in needs]}

    def _look_at(self, model: Model | None) -> dict[str, Any]:
        if model is None:
            return {
                "pseudo": 0,
                "known_to_model": 0,
                "iteration": 0,
                "good_enough": None,
                "standstill": None,
                "history": [],
            }
        still = standstill(model.ranking, self._target)
        return {
            "pseudo": int(model.ranking.member.sum()),
            "known_to_model": model.ranking.known,
            "iteration": model.iteration,
            # the estimates that were written down with the commits, and no other: looking oftener would be cheating
            "good_enough": good_enough(model.estimates(), self._target),
            "standstill": still.evidence if still else None,
            "history": _history(model),
        }


def _estimate(model: Model | None, ledger: Ledger) -> dict[str, Any] | None:
    estimate = error_estimate(model.ranking.predicted, ledger.audit_labels()) if model else None
    if estimate is None:
        return None
    return {
        "n": estimate.n,
        "errors": estimate.errors,
        "estimate": estimate.estimate,
        "low": estimate.low,
        "high": estimate.high,
    }


def _history(model: Model) -> list[dict[str, float]]:
    """List the error against the number of labels: the last step with each number counts."""
    points: dict[int, dict[str, float]] = {}
    for step in model.history():
        estimate, known = audited(step), step.metrics.get("known")
        if estimate is not None and known is not None:
            points[int(known)] = {
                "labels": int(known),
                "estimate": round(estimate.estimate, 5),
                "low": round(estimate.low, 5),
                "high": round(estimate.high, 5),
            }
    curve = [points[labels] for labels in sorted(points)]
    if len(curve) <= _POINTS:
        return curve
    return [curve[round(place * (len(curve) - 1) / (_POINTS - 1))] for place in range(_POINTS)]
