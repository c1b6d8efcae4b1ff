"""The features of samples, by row: computed in a stream, kept on disk, read as they are asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepbass.core.errors import DataError
from deepbass.core.foreign import excerpt, reason_of
from deepbass.core.raw_samples import RawSamples, UnreadableSample
from deepbass.features.checked import CheckedBatch, PreparedSample, compute_checked, prepare_checked
from deepbass.features.extractor import Extractor, Features, Progress
from deepbass.features.feature_cache import FeatureFiles
from deepbass.features.segment import DIGEST, Digests

_NOWHERE = -1


class BatchSpread(Protocol):
    """Computes batches of rows elsewhere, several side by side."""

    @property
    def side_by_side(self) -> int:
        """How many are computed at a time."""

    def __call__(
        self, samples: RawSamples, extractor: Extractor, batches: list[NDArray[np.int64]]
    ) -> Iterator[CheckedBatch]:
        """Yield the results of all batches, in their order."""


# for arrays that are opened meanwhile
SPREAD_BY: ContextVar[BatchSpread | None] = ContextVar("spread_by", default=None)


class FeatureArray:
    """Indexes like an array of samples x numbers: ``features[rows]`` is float32.

    Samples that are not computed yet, or failed, cannot be read: see ``ready`` and ``failed``. In memory there are some
    fifty bytes a sample, whatever the width.
    """

    dtype = np.dtype(np.float32)

    def __init__(self, samples: RawSamples, extractor: Extractor, folder: Path | None) -> None:
        """Find in ``folder`` what was computed before; None keeps nothing on disk."""
        self.extractor = extractor
        self.folder = folder
        self.failed: dict[int, str] = {}  # why, by row
        self.on_progress: Progress = silent  # for those who compute without saying whom to tell
        self._spread = SPREAD_BY.get()
        self._samples = samples
        self._rows = np.arange(len(samples))
        self._digests, self._which = self._sum_up()
        self._segment = np.full(len(self._digests), _NOWHERE, dtype=np.int32)
        self._position = np.zeros(len(self._digests), dtype=np.int64)
        self._files = FeatureFiles(extractor, folder, len(self._digests))
        self._read_news()

    def _sum_up(self) -> tuple[Digests, NDArray[np.intp]]:
        """Digest the samples' keys; samples of the same key have the same features."""
        digests = np.zeros(len(self), dtype=f"S{DIGEST}")
        for row in range(len(self)):
            try:
                digests[row] = self._digest(row)
            except (UnreadableSample, OSError) as error:
                self.failed[row] = reason_of(error)
                digests[row] = hashlib.blake2b(f"unreadable {row}".encode(), digest_size=DIGEST).digest()
        unique, which = np.unique(digests, return_inverse=True)
        return unique, which

    def _digest(self, row: int) -> bytes:
        return hashlib.blake2b(self._samples.key(row), digest_size=DIGEST).digest()

    def __len__(self) -> int:
        return len(self._rows)

    def name(self, row: int) -> str:
        """Name a sample."""
        return self._samples.name(row)

    @property
    def shape(self) -> tuple[int, int]:
        """How many samples there are, and numbers of each."""
        return len(self), self.extractor.width

    @property
    def ready(self) -> NDArray[np.bool_]:
        """Tell of every row whether it can be read."""
        ready: NDArray[np.bool_] = self._segment[self._which] != _NOWHERE
        return ready

    @property
    def side_by_side(self) -> int:
        """How many batches are computed at a time."""
        return 1 if self._spread is None else self._spread.side_by_side

    @property
    def notes(self) -> list[str]:
        """What users should know about where the features are."""
        return self._files.notes

    def __getitem__(self, rows: Any) -> Features:
        """Read features: of one row, of a slice, of an array of rows or of a mask."""
        chosen = self._rows[rows]
        which = self._which[np.atleast_1d(chosen)]
        segments, positions = self._segment[which], self._position[which]
        if (segments == _NOWHERE).any():
            row = int(np.atleast_1d(chosen)[segments == _NOWHERE][0])
            why = self.failed.get(row, "they are not computed yet")
            raise DataError(f"There are no features of {excerpt(self.name(row))}: {why}.")
        features = np.empty((len(which), self.extractor.width), dtype=np.float32)
        for number in np.unique(segments):
            here = segments == number
            features[here] = self._files.read(int(number), positions[here])
        return features if np.ndim(chosen) else features[0]

    def places(self) -> tuple[list[NDArray[Any]], NDArray[np.int32], NDArray[np.int64]]:
        """Tell where the rows are: the arrays that hold them, and of every row which of these, and its place there."""
        return self._files.arrays(), self._segment[self._which], self._position[self._which]

    def compute(self, rows: ArrayLike | None = None, progress: Progress | None = None) -> None:
        """Compute what is missing of these rows, in their order; None means all, in theirs.

        A process that computes the same is waited for, and what it has finished counts. Interrupted at any moment, what
        was finished is kept.
        """
        wanted = self._rows if rows is None else np.asarray(rows, dtype=np.int64)
        tell = progress if progress is not None else self.on_progress
        alone = False
        while not alone:
            self._read_news()
            tell(self._done(wanted), len(wanted))
            if not len(self._missing(wanted)):
                return
            with self._files.alone(self._digests.tobytes()) as alone:
                if alone:
                    self._compute(wanted, tell)

    def _missing(self, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
        """List rows to compute: one for each digest that has no features, in their order."""
        rows = wanted[self._segment[self._which[wanted]] == _NOWHERE]
        _, first = np.unique(self._which[rows], return_index=True)
        rows = rows[np.sort(first)]
        left: NDArray[np.int64] = rows[~self._has_failed(rows)]
        return left

    def _done(self, wanted: NDArray[np.int64]) -> int:
        ready = self._segment[self._which[wanted]] != _NOWHERE
        return int(np.count_nonzero(ready | self._has_failed(wanted)))

    def _has_failed(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.isin(rows, list(self.failed))

    def _compute(self, wanted: NDArray[np.int64], tell: Progress) -> None:
        self._read_news()
        rows, done = self._missing(wanted), self._done(wanted)
        times = np.bincount(self._which[wanted], minlength=len(self._digests))  # rows that share their features
        size = self.extractor.batch
        batches = [rows[start : start + size] for start in range(0, len(rows), size)]
        for batch, (found, features, failed) in zip(batches, self._computed(batches), strict=True):
            self.failed.update(failed)
            if found:
                self._keep(np.asarray(found), features)
            done += int(times[self._which[batch]].sum())
            tell(done, len(wanted))

    def _computed(self, batches: list[NDArray[np.int64]]) -> Iterator[CheckedBatch]:
        """Compute batches here, or by whoever computes features for this process."""
        if self._spread is None:
            for read in self._read_ahead(batches):
                same = [sample for sample in read if self._is_unchanged(sample.row)]
                yield compute_checked(self.extractor, same) if same else ([], self._none, {})
            return
        for found, features, failed in self._spread(self._samples, self.extractor, batches):
            same_rows = np.array([self._is_unchanged(row) for row in found], dtype=bool)
            yield [row for row, same in zip(found, same_rows, strict=True) if same], features[same_rows], failed

    @property
    def _none(self) -> Features:
        return np.empty((0, self.extractor.width), np.float32)

    def _is_unchanged(self, row: int) -> bool:
        """Tell whether what was read is still what its key said, which may be minutes old."""
        try:
            same = np.array(self._digest(row), dtype=self._digests.dtype) == self._digests[self._which[row]]
        except (UnreadableSample, OSError):
            same = np.False_
        if not same:
            self.failed[row] = "it was changed after the start"
        return bool(same)

    def _keep(self, rows: NDArray[np.int64], features: Features) -> None:
        which = self._which[rows]
        number, first = self._files.append(self._digests[which], features)
        self._segment[which] = number
        self._position[which] = first + np.arange(len(which))

    def _read_ahead(self, batches: list[NDArray[np.int64]]) -> Iterator[list[PreparedSample]]:
        """Read batches; one thread reads the next while this one is computed, so that two are in memory."""
        if self._samples.kind != "image" or not batches:
            yield from map(self._read, batches)
            return
        with ThreadPoolExecutor(1, thread_name_prefix="features") as reader:
            coming = reader.submit(self._read, batches[0])
            for following in batches[1:]:
                batch = coming.result()
                coming = reader.submit(self._read, following)
                yield batch
            yield coming.result()

    def _read(self, rows: NDArray[np.int64]) -> list[PreparedSample]:
        samples = self._samples
        ready, failed = prepare_checked(self.extractor, rows.tolist(), samples.read, samples.name)
        self.failed.update(failed)
        return ready

    def _read_news(self) -> None:
        """Take up what is on disk by now."""
        if not len(self._digests):
            return
        for number, digests, first in self._files.news(lambda digests: bool(self._find(digests)[0].size)):
            ours, at = self._find(digests)
            self._segment[at] = number
            self._position[at] = first + ours

    def _find(self, digests: Digests) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Find which of some digests are of these samples, and where among them."""
        at = np.minimum(np.searchsorted(self._digests, digests), len(self._digests) - 1)
        ours = np.flatnonzero(self._digests[at] == digests)
        return ours, at[ours]


def silent(done: int, total: int) -> None:
    """Tell nobody."""
