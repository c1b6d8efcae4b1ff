"""What features make of a source's raw samples, and how its parts go on with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepbass.core.errors import DataError
from deepbass.core.labels import Ids
from deepbass.core.raw_samples import RawSamples
from deepbass.data.listing import name_some
from deepbass.data.pool import Pool
from deepbass.data.raw_images import ArrayImages, is_picture
from deepbass.data.raw_rows import RowNumbers, TableRows, Texts
from deepbass.data.raw_series import ArraySeries, is_series, is_stack
from deepbass.data.source import Part, Source, is_raw

SERIES = "series"  # values of the setting features
PICTURES = ("pixels", "imagenet", "imagenet-depths")


class FeatureRows(Protocol):
    """Features by row of the raw samples, float32, computed when they are wanted."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many samples there are, and numbers of each."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""

    @property
    def failed(self) -> Mapping[int, str]:
        """Which rows have no features, and why; as far as is known by now."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any) -> NDArray[np.float32]:
        """Read rows that were computed."""

    def compute(self, rows: ArrayLike) -> None:
        """Compute these rows, or those of them that are not there yet."""


@dataclass(frozen=True, eq=False)
class Featurised:
    """The features of a source's parts."""

    train: FeatureRows
    validation: FeatureRows | None = None
    notes: tuple[str, ...] = ()  # what the user should be told
    name: str = ""  # of the features


# opens the features of both parts, whose X are raw; None: these images are best seen as they are, as pixels
Featurise = Callable[[Part, Part | None], Featurised | None]


@dataclass(frozen=True, eq=False)
class FeaturePart(Part):
    """Features and their labels, with the samples that they are computed from: rows are the same."""

    features: FeatureRows
    raw: RawSamples
    name: str  # of the features

    def compute(self, pool: Pool, strict: bool, notes: list[str]) -> Ids:
        """Compute the features of a pool and return the ids of samples that have them.

        Samples that failed are named and counted, or refused where ``strict`` is set.
        """
        rows = pool.rows
        self.features.compute(rows)
        failed = np.isin(rows, list(self.features.failed))
        named = [f"{self.raw.name(row)} ({self.features.failed[row]})" for row in rows[failed].tolist()]
        if named and strict:
            raise DataError(f"Unreadable samples, and strict is on: {name_some(named)}. Repair or remove them.")
        if len(rows) and failed.all():
            raise DataError(f"{self.where} has no sample that features could be computed of: {name_some(named)}.")
        if named:
            notes.append(f"{len(named)} sample{'s' if len(named) > 1 else ''} skipped: {name_some(named)}")
        return np.flatnonzero(~failed)


def with_raw(source: Source, features: str = "auto") -> Source:
    """Take arrays for the pictures, series, texts or rows that they hold; arrays of other numbers stay what they are.

    Whether an array of three dimensions holds pictures or series is told by the wanted ``features``; those that read
    both, or any, leave it to what the training part looks like.
    """
    series = is_stack(source.train.X) and (
        features == SERIES or (features not in PICTURES and is_series(source.train.X))
    )
    validation = None if source.validation is None else _as_raw(source.validation, series)
    return replace(source, train=_as_raw(source.train, series), validation=validation)


def with_features(source: Source, featurise: Featurise) -> Source | None:
    """Put features in the place of raw samples; None if they are best seen as they are."""
    if not is_raw(source.train.X):
        return None
    if source.validation is not None and not is_raw(source.validation.X):
        raise DataError(
            f"{source.validation.where} and {source.train.where} hold unlike things: bring both to one kind."
        )
    made = featurise(source.train, source.validation)
    if made is None:
        return None
    train, validation = _featured(source.train, made.train, made.name), None
    if source.validation is not None:
        if made.validation is None:
            raise DataError(
                f"The features {made.name!r} have nothing for {source.validation.where}: compute them for both parts."
            )
        validation = _featured(source.validation, made.validation, made.name)
    return replace(source, train=train, validation=validation, notes=(*source.notes, *made.notes))


def _as_raw(part: Part, series: bool) -> Part:
    if is_raw(part.X):
        return part
    names = RowNumbers(f"{part.names}/") if isinstance(part.names, str) else part.names
    if series and is_stack(part.X):
        return replace(part, X=ArraySeries(np.asanyarray(part.X), names))
    if is_picture(part.X):
        return replace(part, X=ArrayImages(np.asanyarray(part.X), names))
    if (texts := _listed(part.X, str)) is not None:
        return replace(part, X=Texts(texts, names))
    if (rows := _listed(part.X, Mapping)) is not None:
        table = TableRows.of(rows, names)
        return replace(part, X=table)
    return part


def _listed(X: Any, kind: type) -> list[Any] | None:
    """List what are texts or rows, in whatever they are held; None for numbers."""
    if isinstance(X, np.ndarray):
        X = X.tolist() if X.ndim == 1 and X.dtype.kind in "OUT" else None
    elif type(X).__name__ == "Series":  # of pandas or polars
        X = list(X)
    if not isinstance(X, list | tuple) or not X or not isinstance(X[0], kind):
        return None
    return list(X)


def _featured(part: Part, features: FeatureRows, name: str) -> FeaturePart:
    raw = part.X
    if not is_raw(raw):
        raise DataError(f"{part.where} has features already.")
    if len(features) != len(raw):
        raise DataError(
            f"{part.where} has {len(raw)} samples, but there are {len(features)} rows of features: make one for each."
        )
    return FeaturePart(part.X, part.y, part.where, part.names, features, raw, name)
