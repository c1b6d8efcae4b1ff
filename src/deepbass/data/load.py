"""Load data from anywhere into one form: a pool, its hidden truth, and a validation part."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.core.labels import UNKNOWN, Classes
from deepbass.core.raw_samples import RawSamples
from deepbass.data.classes import as_labels, find_classes, to_classes
from deepbass.data.draw import draw_pool, hold_out
from deepbass.data.featurised import FeaturePart, Featurise, with_features, with_raw
from deepbass.data.pool import Pool
from deepbass.data.sample_arrays import as_samples, looks_unscaled
from deepbass.data.source import Part, Source
from deepbass.data.sources import open_source

PIXELS = "pixels"  # images as they are, or the numbers of an array


@dataclass(frozen=True, eq=False)
class Data:
    """What a run learns from and is measured with."""

    name: str  # "mnist", or the path's stem
    pool: Pool
    truth: Classes  # of the pool, for the oracle's eyes only; UNKNOWN where nobody knows
    classes: tuple[str, ...]  # their names, in order
    validation: Pool
    validation_labels: Classes  # all known
    notes: tuple[str, ...]  # what the user should be told
    features: str = PIXELS  # what the network sees of the samples


def load(
    source: str,
    config: Config,
    *,
    folder: Path | None = None,
    progress: bool = False,
    featurise: Featurise | None = None,
) -> Data:
    """Load a data set by name (toy, digits, mnist, cifar-10, ...) or from a path.

    ``folder`` is where the user keeps files of named data sets, before the network is asked for them. ``featurise``
    computes what the network sees of images, texts and rows of tables; without it images are pixels.
    """
    return assemble(open_source(source, config, folder, progress, featurise=featurise), config)


def from_arrays(
    X: ArrayLike | RawSamples,
    y: ArrayLike,
    X_val: ArrayLike | RawSamples | None = None,
    y_val: ArrayLike | None = None,
    *,
    config: Config,
    name: str = "arrays",
    featurise: Featurise | None = None,
) -> Data:
    """Take data from arrays in memory, which are not copied; -1 (or no text) in ``y`` is an unknown label.

    With ``featurise``, X may also be a list of texts, a list of rows (mappings of columns to cells), or any samples
    that are read one at a time; arrays of pictures are given to it as pictures.
    """
    if (X_val is None) != (y_val is None):
        raise DataError("X_val and y_val go together: give both or neither.")
    validation = None if X_val is None or y_val is None else Part(X_val, y_val, "X_val", "validation")
    source = Source(name, Part(X, y, "X", "train"), validation)
    featured = None if featurise is None else with_features(with_raw(source, config.features), featurise)
    return assemble(featured or source, config)


def assemble(source: Source, config: Config) -> Data:
    """Check a source, number its classes, and make pool and validation part of it."""
    notes = list(source.notes)
    pool, labels = _checked(source.train)
    unscaled = None if isinstance(source.train, FeaturePart) else looks_unscaled(source.train.X, source.train.where)
    notes += [unscaled] if unscaled else []
    found = find_classes(labels, source.train.where)
    truth = to_classes(labels, found, source.train.where)
    classes = source.classes or tuple(str(class_) for class_ in found)

    if source.validation is not None:
        validation, labels = _checked(source.validation)
        _check_alike(source.train, pool, source.validation, validation)
        validation_labels = to_classes(labels, found, source.validation.where)
        known = np.flatnonzero(validation_labels != UNKNOWN)
        if len(known) < len(validation):
            notes.append(f"{len(validation) - len(known)} validation samples without a label were left out")
        validation, validation_labels = validation.part(known), validation_labels[known]
    else:
        held = hold_out(truth, len(classes), config.validation, config.seed)
        validation, validation_labels = pool.part(held), truth[held]
        rest = np.setdiff1d(np.arange(len(pool)), held)
        pool, truth = pool.part(rest), truth[rest]
    if not len(validation):
        raise DataError(
            f"{source.name} has no labelled samples to validate with: label some of the validation part, "
            "or at least two samples of a class."
        )

    if config.pool is not None and config.pool > len(pool):
        notes.append(f"pool = {config.pool} is more than the {len(pool)} training samples there are: all are used")
    elif config.pool is not None:
        drawn = draw_pool(truth, config.pool, config.seed)
        pool, truth = pool.part(drawn), truth[drawn]
    pool, truth = _computed(source.train, pool, truth, config, notes)
    held_part = source.validation or source.train
    validation, validation_labels = _computed(held_part, validation, validation_labels, config, notes)
    features = source.train.name if isinstance(source.train, FeaturePart) else PIXELS
    return Data(source.name, pool, truth, classes, validation, validation_labels, tuple(notes), features)


def _computed(part: Part, pool: Pool, labels: Classes, config: Config, notes: list[str]) -> tuple[Pool, Classes]:
    """Compute the features of all that is used and nothing else; samples that failed are left out."""
    if not isinstance(part, FeaturePart):
        return pool, labels
    kept = part.compute(pool, config.strict, notes)
    return pool.part(kept), labels[kept]


def _checked(part: Part) -> tuple[Pool, NDArray[Any]]:
    if isinstance(part, FeaturePart):
        pool = Pool(cast(NDArray[Any], part.features), part.names, raw=part.raw)
        return pool, as_labels(part.y, len(part.raw), part.where)
    samples = as_samples(part.X, part.where)
    return Pool(samples, part.names), as_labels(part.y, len(samples), part.where)


def _check_alike(train: Part, pool: Pool, part: Part, validation: Pool) -> None:
    """Refuse parts that a network would see as unlike things."""
    if pool.shape != validation.shape:
        raise DataError(
            f"Samples of {part.where} have shape {validation.shape}, those of {train.where} {pool.shape}: "
            "bring both to one shape."
        )
    if pool.pixels != validation.pixels:
        raise DataError(
            f"One of {train.where} and {part.where} holds uint8 pixels, which are divided by 256, and the other does "
            "not: bring both to one type."
        )
