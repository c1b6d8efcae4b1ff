"""Compute a batch and trust nothing: samples that fail are named, an extractor that returns nonsense is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from deepbass.core.errors import ConfigError, DataError, DeepBassError
from deepbass.core.foreign import excerpt, reason_of
from deepbass.core.raw_samples import UnreadableSample
from deepbass.features.extractor import Extractor, Features

CheckedBatch = tuple[list[int], Features, dict[int, str]]  # rows that worked, their features, why others did not


class PreparedSample(NamedTuple):
    """A sample that is ready to be computed."""

    row: int
    name: str
    prepared: Any


def prepare_checked(
    extractor: Extractor, rows: Iterable[int], read: Callable[[int], Any], name: Callable[[int], str]
) -> tuple[list[PreparedSample], dict[int, str]]:
    """Read samples and make them ready; tell why those that fail do."""
    ready, failed = [], {}
    for row in rows:
        try:
            prepared = extractor.prepare(read(row))
        except UnreadableSample as error:
            failed[row] = reason_of(error)
        except ConfigError:  # of a machine that does not see its file: it is no fault of the sample
            raise
        except Exception as error:
            failed[row] = f"{extractor.name} features cannot be computed ({reason_of(error)})"
        else:
            ready.append(PreparedSample(row, name(row), prepared))
    return ready, failed


def compute_checked(extractor: Extractor, batch: Sequence[PreparedSample]) -> CheckedBatch:
    """Compute a batch: the rows that worked, their features, and why the others did not.

    If the whole batch raises, its samples are tried one by one; if each of several raises, it is the extractor.
    """
    try:
        return [ready.row for ready in batch], _computed(extractor, batch), {}
    except DeepBassError:
        raise
    except Exception as cause:
        if len(batch) == 1:
            return [], np.empty((0, extractor.width), np.float32), {batch[0].row: reason_of(cause)}
    rows, parts, failed = [], [], {}
    for ready in batch:
        found, part, why = compute_checked(extractor, [ready])
        rows += found
        parts.append(part)
        failed.update(why)
    if not rows:
        raise DataError(
            f"features = {extractor.name!r} fail on every sample, beginning with {excerpt(batch[0].name)}: "
            f"{failed[batch[0].row]}."
        )
    return rows, np.concatenate(parts), failed


def _computed(extractor: Extractor, batch: Sequence[PreparedSample]) -> Features:
    found: object = extractor.compute_prepared([ready.prepared for ready in batch])
    who = f"features = {extractor.name!r}"
    first = excerpt(batch[0].name)
    if found is None:
        raise DataError(f"{who} returned nothing for {first}: return an array of samples x numbers.")
    try:
        features = np.asarray(found, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"{who} returned no numbers for {first} ({reason_of(error)}).") from error
    if features.ndim != 2 or len(features) != len(batch):
        raise DataError(
            f"{who} returned an array of shape {features.shape} for {len(batch)} samples, beginning with {first}: "
            "it must be samples x numbers."
        )
    if features.shape[1] != extractor.width:
        raise DataError(
            f"{who} returned {features.shape[1]} numbers a sample, beginning with {first}, but {extractor.width} "
            "before: every sample must become as many."
        )
    wrong = np.flatnonzero(~np.isfinite(features).all(axis=1))
    if len(wrong):
        raise DataError(
            f"{who} returned numbers that are not finite (NaN or infinite) for {excerpt(batch[wrong[0]].name)}."
        )
    return features
