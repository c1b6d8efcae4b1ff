"""Learning curves of a row, averaged over its runs."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepbass.paper.summary import Line
from deepbass.report.words import SPACE

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MeanCurve:
    """Validation accuracy by iteration, as shares: mean and spread over runs."""

    mean: Floats  # by iteration; the first is the initial model
    sd: Floats | None  # None: one run has none
    runs: int
    ending: str  # the last mean, as the tables write it

    @property
    def low(self) -> Floats:
        """The lower edge of the band, or the curve itself."""
        return self.mean if self.sd is None else self.mean - self.sd

    @property
    def high(self) -> Floats:
        """The upper edge of the band, or the curve itself."""
        return self.mean if self.sd is None else self.mean + self.sd


def mean_curve(line: Line) -> MeanCurve | None:
    """Average the curves of a row's runs; None where there is none to be drawn."""
    curves = [record.curve.get("validation_accuracy", []) for record in line.runs]
    curves = [curve for curve in curves if len(curve) > 1 and None not in curve]
    if not curves:
        return None
    length = min(map(len, curves))
    values_R_I = np.array([curve[:length] for curve in curves], dtype=np.float64)
    sd = values_R_I.std(axis=0, ddof=1) if len(curves) > 1 else None
    last = statistics.fmean(100 * curve[length - 1] for curve in curves)  # rounded in the same way as theirs
    return MeanCurve(values_R_I.mean(axis=0), sd, len(curves), f"{last:.2f}{SPACE}%")
