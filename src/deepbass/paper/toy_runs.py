"""Which runs of the toy the paper's Figures 1 and 2 stand for, and the decision fields in their results."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deepbass.bench.cells import CellResult
from deepbass.core.errors import StoreError
from deepbass.core.foreign import decoding
from deepbass.data.built_in import toy
from deepbass.paper.summary import Summary
from deepbass.report.facts import Field

MOST_PLACES = 1 << 20  # of a field, all the same how many its bytes would unpack to
PANELS = ("initial", "semi-supervised", "active", "active-semi-supervised")  # rows, from left to right


@dataclass(frozen=True)
class ToyRun:
    """One choice of initial labels, and what each way of learning made of it."""

    seed: int
    panels: Mapping[str, CellResult]  # by row

    def accuracy(self, row: str) -> float:
        """Look the validation accuracy of a panel up, a share."""
        return self.panels[row].accuracy or 0.0

    @property
    def gain(self) -> float:
        """What pseudo-labels alone added to the initial model; below 0 they did harm."""
        return self.accuracy("semi-supervised") - self.accuracy("initial")


def toy_runs(summary: Summary) -> list[ToyRun]:
    """Find the runs that have all four panels: of the full tier, or where it has none of another with its settings."""
    for tier in ("full", "quick"):
        lines = [summary.line(tier, "toy", row) for row in PANELS]
        if not all(line.protocol for line in lines):
            continue
        by_row = [{record.cell.run: record for record in line.runs if record.field_} for line in lines]
        seeds = sorted(set.intersection(*(set(records) for records in by_row)))
        if seeds:
            return [
                ToyRun(seed, {row: records[seed] for row, records in zip(PANELS, by_row, strict=True)})
                for seed in seeds
            ]
    return []


def easy(runs: Sequence[ToyRun]) -> ToyRun | None:
    """Choose the run for Figure 1: the best initial model, so initial labels that are easy to learn from."""
    return max(runs, key=lambda run: run.accuracy("initial"), default=None)


def ill_posed(runs: Sequence[ToyRun]) -> ToyRun | None:
    """Choose the run for Figure 2: of all but Figure 1's, the one to which pseudo-labels did most harm."""
    first = easy(runs)
    return min((run for run in runs if run is not first), key=lambda run: run.gain, default=None)


def decoded(record: CellResult) -> Field:
    """Unpack the decision field of a cell; its points come back from the seed."""
    advice = "Delete the cell's file, and deepbass reproduce makes it again."
    with decoding(record.cell.key, "decision field", advice, StoreError):
        kept = dict(record.field_ or {})
        side = int(kept["side"])
        packed = zlib.decompressobj().decompress(base64.b64decode(kept["second"], validate=True), MOST_PLACES)
        second_Y_X = np.frombuffer(packed, dtype=np.uint8).reshape(side, side) / 255
        xs, ys = (np.linspace(float(low), float(high), side) for low, high in (kept["x"], kept["y"]))
        train = toy(record.cell.settings["seed"]).train
        points, truth = np.asarray(train.X), np.asarray(train.y)
        known, initial = (np.asarray(kept[name], dtype=np.int64) for name in ("known", "initial"))
        return Field(xs, ys, np.stack([1 - second_Y_X, second_Y_X], axis=-1), points, truth, known, initial)
