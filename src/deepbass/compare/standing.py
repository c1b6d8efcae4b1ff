"""How the methods stand: means over runs, what plain is, what ours saves, and the verdict for every budget."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from deepbass.bench.cells import FAILED, CellResult
from deepbass.bench.results import Results
from deepbass.compare.methods import OURS, PLAIN
from deepbass.compare.plan import Comparison
from deepbass.compare.saving import ABOUT, Saving, jackknife, saving
from deepbass.core.errors import StoreError
from deepbass.core.foreign import guarded, reason_of

ACCURACY, BALANCED, MACRO_F1 = "accuracy", "balanced_accuracy", "macro_f1"
MEASURES = {ACCURACY: "accuracy", BALANCED: "balanced accuracy", MACRO_F1: "macro F1"}
ABOVE, LEVEL, BELOW, ONE_RUN = "better", "no worse", "worse", "one run says little"

Runs = Mapping[int, CellResult]  # by number of the run


@dataclass(frozen=True)
class Spread:
    """A mean over runs and its standard error."""

    mean: float
    error: float | None  # None: one run has none
    runs: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread | None:
        """Average; None where there is nothing to average."""
        listed = list(values)
        if not listed:
            return None
        error = statistics.stdev(listed) / math.sqrt(len(listed)) if len(listed) > 1 else None
        return cls(statistics.fmean(listed), error, len(listed))


@dataclass(frozen=True)
class Standing:
    """Ours beside plain with as many labels, by one measure."""

    labels: int
    plain: str  # the better of the plain methods, by mean
    theirs: Spread
    ours: Spread
    difference: Spread  # ours - plain's, over the runs that both have
    saved: Saving

    @property
    def verdict(self) -> str:
        """Say in a word whether ours is below plain by more than one standard error, or above it by more."""
        error = self.difference.error
        if error is None:
            return ONE_RUN
        if self.difference.mean < -error:
            return BELOW
        return ABOVE if self.difference.mean > error else LEVEL


@dataclass(frozen=True)
class Outcome:
    """A comparison and the records of its cells."""

    plan: Comparison
    finished: Mapping[tuple[str, str], Runs]  # by method and tier
    failed: tuple[CellResult, ...]
    missing: int  # cells that are not finished and did not fail

    def runs(self, method: str, labels: int | str) -> Runs:
        """Find the finished runs of a method with so many labels."""
        return self.finished.get((method, str(labels)), {})

    def spread(self, method: str, labels: int | str, measure: str = ACCURACY) -> Spread | None:
        """Average a measure over the runs of a method."""
        return Spread.of(_values(self.runs(method, labels), measure).values())

    def seconds(self, method: str, labels: int | str) -> Spread | None:
        """Average how long the runs of a method took."""
        return Spread.of(sum(record.seconds.values()) for record in self.runs(method, labels).values())

    def labels_spent(self, method: str, labels: int | str) -> Spread | None:
        """Average how many labels the runs of a method were given."""
        return Spread.of(record.labels for record in self.runs(method, labels).values() if record.labels is not None)

    def plain(self, labels: int, measure: str = ACCURACY) -> str | None:
        """Name the plain method that is better by mean with so many labels; None where none was run."""
        means = {name: spread.mean for name in PLAIN if (spread := self.spread(name, labels, measure)) is not None}
        return max(means, key=lambda name: means[name]) if means else None

    def plain_curve(self, measure: str = ACCURACY) -> list[tuple[int, float]]:
        """List what plain reaches, by number of labels."""
        curve = []
        for labels in self.plan.plain_labels:
            name = self.plain(labels, measure)
            spread = self.spread(name, labels, measure) if name else None
            if spread is not None:
                curve.append((labels, spread.mean))
        return curve

    def without(self, run: int) -> Outcome:
        """Leave one run out everywhere."""
        kept = {key: {n: record for n, record in runs.items() if n != run} for key, runs in self.finished.items()}
        return replace(self, finished=kept)

    def standing(self, labels: int, measure: str = ACCURACY, method: str = OURS) -> Standing | None:
        """Hold a method against plain with as many labels; None where either was not run."""
        name = self.plain(labels, measure)
        theirs = self.spread(name, labels, measure) if name else None
        ours = self.spread(method, labels, measure)
        if name is None or theirs is None or ours is None:
            return None
        mine, plains = (_values(self.runs(each, labels), measure) for each in (method, name))
        difference = Spread.of(mine[run] - plains[run] for run in mine if run in plains)
        if difference is None:  # no run in common
            return None
        return Standing(labels, name, theirs, ours, difference, self._saving(labels, measure, method, ours.mean))

    def standings(self, measure: str = ACCURACY) -> list[Standing]:
        """Hold ours against plain for every budget that both have."""
        found = [self.standing(labels, measure) for labels in self.plan.labels]
        return [standing for standing in found if standing is not None]

    def _saving(self, labels: int, measure: str, method: str, mean: float) -> Saving:
        """Tell the saving factor, with its standard error by leaving out one run after the other."""
        found = saving(labels, mean, self.plain_curve(measure))
        runs = {run for records in self.finished.values() for run in records}
        if found.bound != ABOUT or len(runs) < 2:
            return found
        logs = []
        for run in sorted(runs):
            rest = self.without(run)
            spread, curve = rest.spread(method, labels, measure), rest.plain_curve(measure)
            if spread is None or not curve:
                return found
            logs.append(math.log(saving(labels, spread.mean, curve).factor))
        error = jackknife(logs)
        return replace(found, error=None if error is None else found.factor * error)


def read_outcome(results: Results) -> Outcome:
    """Read what a results folder holds of the comparison that it is about; cells of other settings do not count."""
    with guarded(
        lambda cause: StoreError(f"{results.folder} holds no whole comparison ({reason_of(cause)}): run it again.")
    ):
        comparison = Comparison.of(results.about.get("plan", {}))
    finished: dict[tuple[str, str], dict[int, CellResult]] = {}
    failed, missing = [], 0
    for cell in comparison.cells():
        record = results.read(cell)
        if record is not None and record.finished and record.accuracy is not None:
            finished.setdefault((cell.row, cell.tier), {})[cell.run] = record
        elif record is not None and record.status == FAILED:
            failed.append(record)
        else:
            missing += 1
    return Outcome(comparison, finished, tuple(failed), missing)


def _values(runs: Runs, measure: str) -> dict[int, float]:
    values = {run: getattr(record, measure) for run, record in runs.items()}
    return {run: value for run, value in values.items() if value is not None}
