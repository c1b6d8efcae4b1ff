"""What features make of a source's raw samples, and how its parts go on with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.core.labels import Ids
from deepbass.core.raw_samples import RawSamples
from deepbass.data.listing import name_some
from deepbass.data.raw_images import ArrayImages, is_picture
from deepbass.data.raw_rows import RowNumbers, TableRows, Texts
from deepbass.data.source import Part, Source, is_raw


@dataclass(frozen=True, eq=False)
class Featurised:
    """The features of a source's parts: a row for every sample that did not fail, in order."""

    train: NDArray[Any]
    validation: NDArray[Any] | None = None
    failed: Mapping[int, str] = field(default_factory=dict)  # rows of the training part that have none, and why
    validation_failed: Mapping[int, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what the user should be told
    name: str = ""  # of the features


# computes the features of both parts, whose X are raw; None: these images are best seen as they are, as pixels
Featurise = Callable[[Part, Part | None], Featurised | None]


@dataclass(frozen=True, eq=False)
class FeaturePart(Part):
    """Features and their labels, with the samples that they were computed from."""

    raw: RawSamples | None = None
    raw_rows: Ids | None = None  # row i of X was computed from the row raw_rows[i]; None: all were, in order


def with_raw(source: Source) -> Source:
    """Take arrays for the pictures, texts or rows that they hold; arrays of other numbers stay what they are."""
    validation = None if source.validation is None else _as_raw(source.validation)
    return replace(source, train=_as_raw(source.train), validation=validation)


def with_features(source: Source, featurise: Featurise, config: Config) -> Source | None:
    """Put features in the place of raw samples; None if they are best seen as they are.

    Samples that failed are left out, named and counted, or refused where ``config`` is strict.
    """
    if not is_raw(source.train.X):
        return None
    if source.validation is not None and not is_raw(source.validation.X):
        raise DataError(
            f"{source.validation.where} and {source.train.where} hold unlike things: bring both to one kind."
        )
    made = featurise(source.train, source.validation)
    if made is None:
        return None
    notes = [*source.notes, *made.notes]
    train = _featured(source.train, made.train, made.failed, config.strict, notes)
    validation = source.validation
    if validation is not None:
        if made.validation is None:
            raise DataError(
                f"The features {made.name!r} have nothing for {validation.where}: compute them for both parts."
            )
        validation = _featured(validation, made.validation, made.validation_failed, config.strict, notes)
    return replace(source, train=train, validation=validation, notes=tuple(notes), features=made.name)


def _as_raw(part: Part) -> Part:
    if is_raw(part.X):
        return part
    names = RowNumbers(f"{part.names}/") if isinstance(part.names, str) else part.names
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


def _featured(
    part: Part, features: NDArray[Any], failed: Mapping[int, str], strict: bool, notes: list[str]
) -> FeaturePart:
    raw = part.X
    if not is_raw(raw):
        raise DataError(f"{part.where} has features already.")
    named = [f"{raw.name(row)} ({failed[row]})" for row in sorted(failed)]
    if named and strict:
        raise DataError(f"Unreadable samples, and strict is on: {name_some(named)}. Repair or remove them.")
    if len(named) == len(raw):
        raise DataError(f"{part.where} has no sample that features could be computed of: {name_some(named)}.")
    if len(features) + len(failed) != len(raw):
        raise DataError(
            f"{part.where} has {len(raw)} samples, {len(failed)} of which failed, but there are {len(features)} rows "
            "of features: return one for every other sample."
        )
    if not failed:
        return FeaturePart(features, part.y, part.where, part.names, raw)
    notes.append(f"{len(named)} sample{'s' if len(named) > 1 else ''} skipped: {name_some(named)}")
    kept: Ids = np.setdiff1d(np.arange(len(raw)), np.fromiter(failed, dtype=np.int64))
    names: Sequence[str] = [raw.name(int(row)) for row in kept]
    return FeaturePart(features, np.asarray(part.y)[kept], part.where, names, raw, kept)
