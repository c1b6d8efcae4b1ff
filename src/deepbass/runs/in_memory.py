"""A learner and its pool in memory, without a directory: what the estimator and the session are built around.

The loop, the networks and the features are those of a run; only what is kept, and where, is another.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from torch import nn

from deepbass.core.belief import Floats
from deepbass.core.config import OWN, WEIGHED, Config
from deepbass.core.errors import DataError
from deepbass.core.own_parts import OwnParts
from deepbass.core.presets import AUTO, suited
from deepbass.core.raw_samples import RawSamples
from deepbass.data.featurised import with_raw
from deepbass.data.in_python import from_python
from deepbass.data.listing import name_some
from deepbass.data.load import PIXELS
from deepbass.data.picture_arrays import pictures_as_pixels
from deepbass.data.pool import Pool
from deepbass.data.sample_arrays import as_samples, looks_unscaled
from deepbass.data.source import Part, Source, is_raw
from deepbass.features.extractor import Extractor
from deepbass.features.feature_array import FeatureArray
from deepbass.features.joined_features import ComputedFeatures, features_of
from deepbass.learn.choose_learner import learner_for
from deepbass.learn.learner import LocalLearner, OnProgress
from deepbass.learn.models import build
from deepbass.learn.self_taught import SelfTaught
from deepbass.runs.besides_pixels import features_for_advice, places_of
from deepbass.runs.configure import configure, reconfigure
from deepbass.runs.featurise import Featuriser

TABLE = "table"
_QUICK = (TABLE, "words", "series")  # features


@dataclass(frozen=True, eq=False)
class Seen:
    """Samples as a network sees them."""

    pool: Pool  # without the rows that cannot be read
    features: str = PIXELS
    extractor: Extractor | None = None  # None: the network sees the samples as they are
    notes: tuple[str, ...] = ()  # what was chosen for them
    concerns: tuple[str, ...] = ()  # what their owner should look into

    @property
    def flat(self) -> bool:
        """Whether these are plain columns of numbers."""
        return self.extractor is None and len(self.pool.shape) == 1


def look_at(
    X: Any,
    features: str = "auto",
    network: Any = "auto",
    on_progress: OnProgress = lambda what, share: None,
    *,
    where: str = "X",
) -> Seen:
    """See samples for the first time: choose features that suit them and the network, unless they are named."""
    raw = _as_raw(X, where, features)
    if not is_raw(raw):
        return _as_they_are(Pool(as_samples(raw, where), "row"), raw, where)
    name = network if isinstance(network, str) else OWN
    featuriser = Featuriser(features, network=name, named=features, on_progress=on_progress)
    made = featuriser(Part(raw, [], where, "row"), None)
    if made is None:  # pictures that are best seen as they are
        return _as_they_are(_pixels(X, None, where), from_python(X), where)
    extractor = featuriser.extractor
    assert extractor is not None
    # what is quickly computed is not kept on disk: whoever fits a table expects nothing to be written
    computed = FeatureArray(raw, extractor, None) if made.name in _QUICK else cast(ComputedFeatures, made.train)
    return _computed(computed, raw, extractor, made.notes, where)


def _as_they_are(pool: Pool, given: Any, where: str) -> Seen:
    unscaled = looks_unscaled(given, where) if len(pool.shape) > 1 else None  # columns are scaled, each for itself
    return Seen(pool, concerns=(unscaled,) if unscaled else ())


def look_again(X: Any, seen: Seen, *, where: str = "X") -> Seen:
    """See other samples as the ones before were seen, or refuse what is of another kind."""
    raw = _as_raw(X, where, seen.features)
    if seen.extractor is None:
        pool = _pixels(X, seen.pool.shape, where)
        if pool.shape != seen.pool.shape:
            raise DataError(f"{where} has samples of shape {pool.shape}, but the model takes {seen.pool.shape}.")
        if pool.pixels != seen.pool.pixels:
            trained = "bytes, which are divided by 256" if seen.pool.pixels else "other numbers than bytes"
            raise DataError(f"The model was trained on {trained}: give {where} in the same type.")
        return replace(seen, pool=pool)
    if not is_raw(raw) or raw.kind != seen.extractor.kind:
        kind = raw.kind if is_raw(raw) else "array of numbers"
        raise DataError(f"{where} is of another kind ({kind}) than the model was trained on ({seen.extractor.kind}).")
    return _computed(features_of(raw, seen.extractor, None), raw, seen.extractor, (), where)


def settings_for(seen: Seen, given: Mapping[str, Any]) -> Config:
    """Make the configuration that suits samples; what is given goes above it."""
    # columns of numbers are a table, whatever holds them: a head is solved on them, each on a scale of its own
    suits = suited(TABLE if seen.flat else seen.features, seen.pool.shape, len(seen.pool), given)
    if has_head(seen, given.get("model", "auto")):
        suits = {**suits, "model": "linear", "admit": WEIGHED}
    elif seen.flat:
        suits = suited(PIXELS, seen.pool.shape, len(seen.pool), given)
    chosen = configure("arrays", AUTO, {**suits, **given})
    return reconfigure({**chosen.as_dict(), "features": seen.features})


def has_head(seen: Seen, model: str) -> bool:
    """Tell whether a linear head is solved on these samples, rather than a network trained."""
    return model == "linear" or (model == "auto" and (seen.flat or seen.extractor is not None))


def new_learner(
    config: Config,
    seen: Seen,
    classes: int,
    model: nn.Module | None = None,
    on_progress: OnProgress = lambda what, share: None,
    own: OwnParts | None = None,
    places: SelfTaught | None = None,
) -> LocalLearner:
    """Make a learner that knows nothing yet; a model of the caller's own is copied, and stays as it is.

    ``places`` are those of the pool, where somebody has looked at them already.
    """
    network = copy.deepcopy(model) if model is not None else None
    if network is None:
        network = build(config, seen.pool.shape, classes, named=config.model)
    advised_by = features_for_advice(seen.pool, config, on_progress)
    if places is None:
        places = places_of(seen.pool, config, on_progress)
    return learner_for(network, seen.pool, classes, config, on_progress, own, advised_by, places)


def predict(learner: LocalLearner, X: Any, seen: Seen, *, where: str = "X") -> Floats:
    """Predict class probabilities of samples; one that cannot be read is named."""
    found = look_again(X, seen, where=where)
    rows = found.pool.row_map
    if not rows.same:
        missing = np.setdiff1d(np.arange(rows.total), rows.rows)
        raise DataError(
            f"{len(missing)} of the samples cannot be read, the first in row {missing[0]}: {found.concerns[-1]}."
        )
    return learner.predict(found.pool)


def stand_in(shape: Sequence[int], pixels: bool) -> Pool:
    """Make a pool for a learner that only predicts: two samples of nothing."""
    nothing = np.zeros((), dtype=np.uint8 if pixels else np.float32)
    return Pool(np.broadcast_to(nothing, (2, *shape)), "row")  # takes no memory, whatever a damaged file says


def _as_raw(X: Any, where: str, features: str) -> NDArray[Any] | RawSamples | Any:
    part = Part(from_python(X, where, rows=features == TABLE), [], where, "row")
    return with_raw(Source("arrays", part), features).train.X


def _pixels(X: Any, shape: tuple[int, ...] | None, where: str) -> Pool:
    """Take samples as they are: numbers, or pictures brought to one shape, the commonest if none is wanted."""
    held = from_python(X, where)
    if not is_raw(held):
        return Pool(as_samples(held, where), "row")
    if held.kind != "image" or (shape is not None and len(shape) != 3):
        raise DataError(f"{where} holds {held.kind}s, but the model takes samples of shape {shape}.")
    return Pool(pictures_as_pixels(held, shape), "row")


def _computed(
    features: ComputedFeatures, raw: RawSamples, extractor: Extractor, notes: Sequence[str], where: str
) -> Seen:
    features.compute(None)
    failed = features.failed
    if len(failed) == len(raw):
        row, why = next(iter(failed.items()))
        raise DataError(f"{where} has no sample that features could be computed of; {raw.name(row)}: {why}.")
    kept = np.setdiff1d(np.arange(len(raw)), list(failed))
    pool = Pool(cast(NDArray[Any], features), "row", kept, raw=raw)
    concerns: tuple[str, ...] = ()
    if failed:
        named = [f"row {row} ({why})" for row, why in sorted(failed.items())]
        concerns = (f"{len(failed)} sample{'s' if len(failed) > 1 else ''} left out: {name_some(named)}",)
    return Seen(pool, extractor.name, extractor, tuple(notes), concerns)
