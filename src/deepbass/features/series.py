"""Features of series over time: their numbers on one scale, in windows where there are many, and how they run.

Fitted on the series at hand, without labels: mean and spread of each of the F columns, over all series and moments, and
of the numbers that sum a column up. These weigh as much as all windows: where a wave begins may say little, and how
fast it is a lot, or the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DataError
from deepbass.core.raw_samples import Kind, RawSamples, UnreadableSample
from deepbass.features.extractor import Features, PreparingExtractor, State, digest_of_arrays

VERSION = 1  # to be raised when a series becomes other numbers
MOST_ROWS = 5_000  # series that are fitted on: evenly spread over all, if there are more
MOST = 512  # numbers of all windows together, if F is not larger
CLIP = 5.0  # standard deviations: further outliers are no further away
_FITTED = ("mean", "spread", "sums_mean", "sums_spread")
SUMS = 4  # numbers that sum a column up: spread, lowest, highest, mean step from one moment to the next


class SeriesFeatures(PreparingExtractor):
    """A series becomes the means of its windows in time, column by column, and four numbers that sum up each column."""

    name = "series"
    kind: Kind = "series"
    batch = 1024

    def __init__(self) -> None:
        self._steps = 0
        self._mean_F: NDArray[np.float64] = np.zeros(0)
        self._spread_F: NDArray[np.float64] = np.ones(0)
        self._sums_mean: NDArray[np.float64] = np.zeros(0)
        self._sums_spread: NDArray[np.float64] = np.ones(0)

    @property
    def windows(self) -> int:
        """How many windows in time there are: every moment is one, unless that is too many."""
        return min(self._steps, max(1, MOST // max(1, len(self._mean_F))))

    @property
    def width(self) -> int:
        """How many numbers a series becomes."""
        return (self.windows + SUMS) * len(self._mean_F)

    @property
    def identity(self) -> str:
        """The shape, and what was fitted."""
        return f"series {VERSION} {self._steps} {digest_of_arrays(*self._fitted)}"

    @property
    def _fitted(self) -> tuple[NDArray[np.float64], ...]:
        return self._mean_F, self._spread_F, self._sums_mean, self._sums_spread

    def describe(self) -> str:
        """Say what it sees of a series."""
        every = "every moment" if self.windows == self._steps else f"the means of {self.windows} windows in time"
        return (
            f"series: {self.width} numbers each, from {self._steps} moments of {len(self._mean_F)} columns: {every} on "
            "one scale, and spread, lowest, highest and mean step of each column"
        )

    def fit(self, samples: RawSamples, rows: NDArray[np.int64]) -> None:
        """Learn the shape, and the mean and spread of every column; unreadable series are left out."""
        chosen = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS)).astype(int))]
        moments, sums = _Moments(), _Moments()
        for values_T_F in _readable(samples, chosen):
            moments.add(values_T_F)
            self._steps = len(values_T_F)
        if not moments.count:
            raise DataError("None of the series that were tried can be read.")
        self._mean_F, self._spread_F = moments.found()
        for values_T_F in _readable(samples, chosen):
            sums.add(_sums(self._scaled(values_T_F[None])).reshape(1, -1))
        self._sums_mean, self._sums_spread = sums.found()

    def prepare(self, sample: Any) -> Any:
        """Take a series of the right shape."""
        values = np.asarray(sample, dtype=np.float32)
        if values.shape != (self._steps, len(self._mean_F)):
            fitting = f"{self._steps} x {len(self._mean_F)}"
            raise UnreadableSample(f"it has the shape {' x '.join(map(str, values.shape))}, not {fitting}")
        if not np.isfinite(values).all():
            raise UnreadableSample("it holds what is not a finite number")
        return values

    def compute_prepared(self, prepared: Sequence[Any]) -> Features:
        """Compute the features of series."""
        scaled_B_T_F = self._scaled(np.stack(prepared).astype(np.float64))
        edges = np.linspace(0, self._steps, self.windows + 1).astype(int)
        means_B_W_F = np.add.reduceat(scaled_B_T_F, edges[:-1], axis=1) / np.diff(edges)[:, None]
        sums = (_sums(scaled_B_T_F).reshape(len(prepared), -1) - self._sums_mean) / self._sums_spread
        weight = np.sqrt(self.windows / SUMS)
        both = [means_B_W_F.reshape(len(prepared), -1), weight * np.clip(sums, -CLIP, CLIP)]
        return np.concatenate(both, axis=1).astype(np.float32)

    def _scaled(self, values_B_T_F: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bring every column to one scale."""
        return np.clip((values_B_T_F - self._mean_F) / self._spread_F, -CLIP, CLIP)

    def state(self) -> State:
        """List what was fitted."""
        return {
            "name": self.name,
            "version": VERSION,
            "steps": self._steps,
            **dict(zip(_FITTED, self._fitted, strict=True)),
        }

    @classmethod
    def from_state(cls, state: State) -> SeriesFeatures:
        """Make it again."""
        mean, spread, sums_mean, sums_spread = (np.asarray(state[name], np.float64) for name in _FITTED)
        columns = len(np.atleast_1d(mean))
        shapes = [array.shape for array in (mean, spread, sums_mean, sums_spread)]
        fits = shapes == [(columns,), (columns,), (SUMS * columns,), (SUMS * columns,)]
        if state["version"] != VERSION or not fits or state["steps"] < 1:
            raise ValueError("what was fitted of the series is not as this version has it")
        made = cls()
        made._steps, made._mean_F, made._spread_F = int(state["steps"]), mean, spread
        made._sums_mean, made._sums_spread = sums_mean, sums_spread
        return made


class _Moments:
    """Mean and spread of columns, added up as rows come."""

    def __init__(self) -> None:
        self.count = 0
        self._sum, self._squares = np.zeros(1), np.zeros(1)
        self._first = np.zeros(1)  # taken off before squaring: large numbers lose less

    def add(self, rows: NDArray[np.float64]) -> None:
        if not self.count:
            self._first = rows.mean(0)
        rows = rows - self._first
        self.count += len(rows)
        self._sum, self._squares = self._sum + rows.sum(0), self._squares + np.square(rows).sum(0)

    def found(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Tell mean and spread; a column of one value has the spread 1."""
        mean = self._sum / self.count
        spread = np.sqrt(np.maximum(self._squares / self.count - np.square(mean), 0))
        mean = mean + self._first
        return mean, np.where(spread > 1e-9 * (1e-9 + np.abs(mean)), spread, 1.0)


def _readable(samples: RawSamples, rows: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
    for row in rows.tolist():
        with suppress(UnreadableSample):
            yield samples.read(row).astype(np.float64)


def _sums(scaled_B_T_F: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum every column up: spread, lowest, highest, mean step."""
    steps_B_T_F = np.abs(np.diff(scaled_B_T_F, axis=1, prepend=scaled_B_T_F[:, :1]))
    return np.stack([scaled_B_T_F.std(1), scaled_B_T_F.min(1), scaled_B_T_F.max(1), steps_B_T_F.mean(1)], axis=1)
