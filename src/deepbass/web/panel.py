"""The numbers of the live panel. What costs time is kept until the model, the classes or the audit answers change."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import Any

from deepbass.core.error_law import Estimate
from deepbass.core.guard import Evidence
from deepbass.label.acts import Act
from deepbass.label.class_list import ClassList
from deepbass.label.estimate import error_estimate, good_enough, standstill
from deepbass.label.guesses import THRESHOLD, guesses_of
from deepbass.label.ledger import Ledger
from deepbass.label.project import SOURCE, Project
from deepbass.label.trained_models import Model, audited
from deepbass.label.worth import judge, target_choices

_POINTS = 40  # of the curve of the error: it is sent with every receipt, and its chart is small


class Panel:
    """Adds up what people and model have done so far. Used by the service's thread only."""

    def __init__(self, project: Project, gone: Collection[int] = ()) -> None:
        self._project = project
        self._gone = gone
        self._model: Model | None = None
        self._estimates: list[Estimate] = []  # that were written down with the commits
        self._of_model: dict[str, Any] = self._look_at(None)
        self._error: dict[str, Any] = {}
        self._estimate: Estimate | None = None
        self._audit_labels: dict[int, int] = {}
        self._stale = True  # whether the error must be estimated anew

    def use(self, project: Project) -> None:
        """Take up what was chosen otherwise: the newest model is judged by the target of now."""
        self._project = project
        self._of_model = self._look_at(self._model)

    def heard(self, act: Act, ledger: Ledger) -> None:
        """Take note of an act: most do not concern the audit, whose estimate then holds."""
        self._stale = self._stale or act.why == "audit" or act.item in ledger.reserve

    def reclassed(self) -> None:
        """Take note that the classes have changed."""
        self._stale = True

    def numbers(self, ledger: Ledger, classes: ClassList, model: Model | None) -> dict[str, Any]:
        """Return the panel but for what the trainer is doing, which changes on its own.

        A model that has been resolved to other classes is another one here.
        """
        if model is not self._model:
            self._estimates = model.estimates() if model else []
            self._model, self._of_model, self._stale = model, self._look_at(model), True
        if self._stale:
            self._audit_labels, self._stale = ledger.audit_labels(), False
            self._estimate = error_estimate(model.ranking.predicted, self._audit_labels) if model else None
            self._error = _error(model, self._estimate)
        kinds, by_class, answered = ledger.by_kind, ledger.by_class, ledger.answered
        return {
            "labels": ledger.labels,
            "by_class": {class_: by_class.get(class_, 0) for class_ in classes.ids},
            "answers": sum(answered.values()),
            "skipped": kinds.get("skip", 0),
            "unsure": kinds.get("unsure", 0),
            "flagged": kinds.get("flag", 0),
            "flagged_labels": sum(ledger.label(item) is not None for item in ledger.flags()),
            "median_seconds": ledger.median_seconds,
            "threshold": THRESHOLD,
            "pseudo": len(guesses_of(model, ledger, THRESHOLD, self._gone)),
            **self._error,
            "target": self._project.settings.target_error,
            **self._of_model,
            "worth": self._worth(ledger, classes),
            "people": [
                {"name": name, "labels": labels}
                for name, labels in sorted(ledger.by_annotator.items())
                if name != SOURCE
            ],
            "disagreements": len(ledger.disagreements()),
            "ready": self._ready(ledger) if model is None else None,
        }

    def targets(self, ledger: Ledger, classes: ClassList, model: Model | None) -> list[dict[str, Any]]:
        """List the targets that may be chosen, and what each takes."""
        self.numbers(ledger, classes, model)  # brings the estimates up to now
        choices = target_choices(
            self._estimates,
            self._estimate,
            self._project.settings,
            reserve=len(ledger.reserve - set(self._gone)),
            seconds=ledger.median_seconds,
            kind=self._project.kind,
        )
        return [asdict(choice) for choice in choices]

    def _worth(self, ledger: Ledger, classes: ClassList) -> dict[str, Any]:
        """Say what the model is worth, and how far it is to the target."""
        worth = judge(
            self._estimates,
            self._estimate,
            self._audit_labels,
            dict(zip(classes.ids, classes.names, strict=True)),
            self._project.settings,
            reserve=len(ledger.reserve - set(self._gone)),
            seconds=ledger.median_seconds,
            enough=self._of_model["good_enough"] is not None,
            kind=self._project.kind,
        )
        return asdict(worth)

    def _ready(self, ledger: Ledger) -> dict[str, Any] | None:
        if self._project.ready(ledger):
            return None
        needs = self._project.needs(ledger)
        return {"need": [{"class": need.class_, "have": need.have, "need": need.need} for need in needs]}

    def _look_at(self, model: Model | None) -> dict[str, Any]:
        if model is None:
            return {"known_to_model": 0, "iteration": 0, "good_enough": None, "standstill": None, "believed": None}
        target = self._project.settings.target_error
        still = standstill(model.ranking, target)
        return {
            "known_to_model": model.ranking.known,
            "iteration": model.iteration,
            # of the estimates that were committed, and of no other: looking oftener would be cheating
            "good_enough": good_enough(self._estimates, target, self._project.kind),
            "standstill": still.evidence if still else None,
            "believed": _believed(model),
        }


def _believed(model: Model) -> str | None:
    """Say whether the model learns from its own guesses, and what labels that were kept from them say of these."""
    metrics = model.steps[-1].metrics if model.steps else {}
    labels, right, plain, weight = (
        metrics.get(name) for name in ("held_back", "held_back_right", "held_back_plain", "guess_weight")
    )
    if not labels or right is None or plain is None or weight is None:
        return None
    return Evidence("its own guesses", int(labels), right, plain, weight).words


def _error(model: Model | None, estimate: Estimate | None) -> dict[str, Any]:
    """Estimate the newest model's error, and put it at the end of what it was with fewer labels.

    One number for headline and chart: the chart ends with the headline, and without one there is no chart.
    """
    if model is None or estimate is None:
        return {"audit": None, "history": []}
    now = _point(model.ranking.known, estimate)
    curve: list[dict[str, float]] = []
    for step in model.history():
        then, known = audited(step), step.metrics.get("known")
        if then is not None and known is not None:
            _add(curve, _point(int(known), then))
    _add(curve, now)
    return {"audit": {"n": estimate.n, "errors": estimate.errors, **now}, "history": _thinned(curve)}


def _add(curve: list[dict[str, float]], point: dict[str, float]) -> None:
    """Add the next point in time; of those with the same number of labels the last one stays."""
    if curve and curve[-1]["labels"] == point["labels"]:
        curve.pop()
    curve.append(point)


def _point(labels: int, error: Estimate) -> dict[str, float]:
    return {
        "labels": labels,
        "estimate": round(error.estimate, 5),
        "low": round(error.low, 5),
        "high": round(error.high, 5),
    }


def _thinned(curve: list[dict[str, float]]) -> list[dict[str, float]]:
    """Leave as many points as can be told apart, with both ends."""
    if len(curve) <= _POINTS:
        return curve
    return [curve[round(place * (len(curve) - 1) / (_POINTS - 1))] for place in range(_POINTS)]
