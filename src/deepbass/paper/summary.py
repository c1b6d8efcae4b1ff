"""Records gathered into the paper's rows: what counts, what does not, and how each row compares."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deepbass.bench.cells import STARTED, CellResult
from deepbass.paper.rows import EXPERIMENTS, ROWS, RUNS, TIERS, Row
from deepbass.paper.verdict import Verdict, judge

APART = 0.3  # points between two of the paper's values, below which their order says little


@dataclass(frozen=True)
class Line:
    """A row of the paper in one tier, and what became of its runs. Only ``runs`` count."""

    row: Row
    tier: str
    runs: tuple[CellResult, ...] = ()  # finished, with the row's settings
    failed: tuple[CellResult, ...] = ()
    unfinished: tuple[CellResult, ...] = ()

    @property
    def accuracies(self) -> list[float]:
        """List the accuracies that count, in percent."""
        return [100 * record.accuracy for record in self.runs if record.accuracy is not None]

    @property
    def verdict(self) -> Verdict:
        """Compare with what the paper reports."""
        return judge(self.accuracies, self.row.paper)

    @property
    def protocol(self) -> bool:
        """Whether the tier runs the row as the paper did, so that agreement means something."""
        return self.row.cell(self.tier, 0).settings == self.row.cell("full", 0).settings

    @property
    def records(self) -> tuple[CellResult, ...]:
        """All cells of the row that were ever started."""
        return self.runs + self.failed + self.unfinished


@dataclass(frozen=True)
class ExperimentProgress:
    """How far the cells of an experiment and tier are."""

    experiment: str
    tier: str
    measured: int  # rows with at least one run
    rows: int
    finished: int
    planned: int
    failed: int
    unfinished: int
    hours: float  # of computing, by the finished cells


@dataclass(frozen=True)
class Order:
    """Whether rows stand above one another as in the paper."""

    pairs: int
    swapped: tuple[tuple[Line, Line], ...]  # the first one is higher in the paper, and not here


@dataclass(frozen=True)
class Summary:
    """All rows in all tiers, and the records that belong to none of them as they are now."""

    lines: tuple[Line, ...]
    strangers: tuple[CellResult, ...]  # made with other settings, or of rows that are no more

    def of(self, tier: str, *experiments: str) -> list[Line]:
        """Find the lines of a tier, of some experiments or of all."""
        return [
            line for line in self.lines if line.tier == tier and (not experiments or line.row.experiment in experiments)
        ]

    def line(self, tier: str, experiment: str, row: str) -> Line:
        """Find one line."""
        (found,) = (line for line in self.of(tier, experiment) if line.row.name == row)
        return found

    def begun(self, tier: str, *experiments: str) -> bool:
        """Tell whether any cell was ever started."""
        return any(line.records for line in self.of(tier, *experiments))

    def progress(self) -> list[ExperimentProgress]:
        """Count the cells by experiment and tier."""
        return [_progress(e, tier, self.of(tier, e)) for tier in reversed(TIERS) for e in EXPERIMENTS]

    def failures(self) -> list[CellResult]:
        """List the cells that failed and were not run again."""
        return [record for line in self.lines for record in line.failed]

    def records(self) -> list[CellResult]:
        """List all records of today's rows."""
        return [record for line in self.lines for record in line.records]


def summarise(records: Iterable[CellResult]) -> Summary:
    """Sort records into rows and tiers; a record counts if its settings are those of its row now."""
    homes: dict[tuple[str, str, str], list[CellResult]] = {
        (row.experiment, row.name, tier): [] for row in ROWS for tier in TIERS
    }
    known = {(row.experiment, row.name): row for row in ROWS}
    strangers = []
    for record in records:
        cell = record.cell
        row = known.get((cell.experiment, cell.row))
        if row is None or cell.tier not in TIERS or dict(cell.settings) != row.cell(cell.tier, cell.run).settings:
            strangers.append(record)
        else:
            homes[cell.experiment, cell.row, cell.tier].append(record)
    lines = [_line(row, tier, homes[row.experiment, row.name, tier]) for tier in TIERS for row in ROWS]
    return Summary(tuple(lines), tuple(strangers))


def order(lines: Iterable[Line]) -> Order:
    """Hold every two measured rows against the paper, where it sets them apart."""
    measured = sorted((line for line in lines if line.runs), key=lambda line: -line.row.paper.accuracy)
    pairs = [
        (higher, lower)
        for higher, lower in itertools.combinations(measured, 2)
        if higher.row.paper.accuracy - lower.row.paper.accuracy > APART
    ]
    return Order(len(pairs), tuple(pair for pair in pairs if _mean(pair[0]) <= _mean(pair[1])))


def _line(row: Row, tier: str, records: Sequence[CellResult]) -> Line:
    runs = tuple(record for record in records if record.finished and record.accuracy is not None)
    unfinished = tuple(record for record in records if record.status == STARTED)
    counted = {record.cell.run for record in runs + unfinished}
    return Line(row, tier, runs, tuple(record for record in records if record.cell.run not in counted), unfinished)


def _progress(experiment: str, tier: str, lines: Sequence[Line]) -> ExperimentProgress:
    return ExperimentProgress(
        experiment,
        tier,
        sum(bool(line.runs) for line in lines),
        len(lines),
        sum(len(line.runs) for line in lines),
        len(lines) * RUNS[tier],
        sum(len(line.failed) for line in lines),
        sum(len(line.unfinished) for line in lines),
        sum(sum(record.seconds.values()) for line in lines for record in line.runs) / 3600,
    )


def _mean(line: Line) -> float:
    return sum(line.accuracies) / len(line.accuracies)
