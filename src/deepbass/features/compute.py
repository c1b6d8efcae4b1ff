"""The front door of the room: features of a training and a validation part, computed once, kept, read lazily."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from deepbass.core.errors import ConfigError, DataError
from deepbass.core.foreign import excerpt
from deepbass.core.own_model import check_named, is_code
from deepbass.core.raw_samples import RawSamples
from deepbass.features.choice import PIXELS, choose
from deepbass.features.extractor import Extractor, FittedExtractor, Progress
from deepbass.features.feature_cache import folder_for
from deepbass.features.joined_features import ComputedFeatures, features_of
from deepbass.features.picture_sizes import look_at, shorter_side


@dataclass(frozen=True)
class Computed:
    """Features of both parts, and of what they are."""

    train: ComputedFeatures
    validation: ComputedFeatures | None
    extractor: Extractor  # `saved_extractor.pack_extractor` makes it bytes, for a saved model

    @property
    def notes(self) -> list[str]:
        """Tell users what was computed, where it is not kept, and which samples failed."""
        notes = [self.extractor.describe()]
        for part in (self.train, self.validation):
            if part is not None:
                notes += [note for note in part.notes if note not in notes]
                notes += [_told(part)] if part.failed else []
        return notes


def compute_features(
    train: RawSamples,
    validation: RawSamples | None,
    choice: str,
    *,
    named: str | None = None,
    progress: Progress | None = None,
    order: ArrayLike | None = None,
    cache_folder: Path | None = None,
) -> Computed:
    """Compute the features of all samples, in a stream, except for those that were computed before.

    ``choice`` is a value of the setting `features` other than pixels; one that is code runs only if the user has
    ``named`` it. What must be fitted is fitted on the training part. ``progress`` is called with (samples done, samples
    in all), of both parts together; ``order`` has the training rows to begin with. Samples that fail are in ``failed``
    of each part, by row, and cannot be read; if all of them fail, that is an error.
    """
    computed = open_features(train, validation, choice, named=named, cache_folder=cache_folder)
    held = len(validation) if validation is not None else 0
    total = len(train) + held

    def tell(start: int) -> Progress | None:
        return None if progress is None else lambda done, _: progress(start + done, total)

    computed.train.compute(_ordered(order, len(train)), tell(0))
    if computed.validation is not None:
        computed.validation.compute(None, tell(len(train)))
    if len(train) and not computed.train.ready.any():
        row, why = next(iter(computed.train.failed.items()))
        raise DataError(f"None of the {len(train)} samples has features; {excerpt(train.name(row))}: {why}.")
    return computed


def open_features(
    train: RawSamples,
    validation: RawSamples | None,
    choice: str,
    *,
    named: str | None = None,
    cache_folder: Path | None = None,
) -> Computed:
    """Do as `compute_features` does, but compute nothing yet: what was kept is ready.

    For whoever has to answer meanwhile: `FeatureArray.compute` computes some rows after others, as they are needed.
    """
    check_named(choice, named, "The configuration", f"features={choice!r}", what="features")
    extractor = _extractor(train, named if named is not None and is_code(choice) else choose(train, choice).name)
    folder = folder_for(cache_folder)
    held = features_of(validation, extractor, folder) if validation is not None else None
    return Computed(features_of(train, extractor, folder), held, extractor)


def _extractor(train: RawSamples, name: str) -> Extractor:
    """Make an extractor; each is imported only when it is needed."""
    if is_code(name):
        from deepbass.features.own_features import OwnFeatures

        own = OwnFeatures(name, train.kind)
        own.probe(train)
        return own
    if name == "imagenet":
        from deepbass.features.imagenet import ImagenetFeatures, side_for

        return ImagenetFeatures(side_for(shorter_side(look_at(train))))
    if name == "imagenet-depths":
        from deepbass.features.imagenet import side_for
        from deepbass.features.imagenet_depths import ImagenetDepths

        return ImagenetDepths(side_for(shorter_side(look_at(train))))
    if name == "sentences":
        from deepbass.features.sentences import SentenceFeatures

        return SentenceFeatures()
    if name == PIXELS:
        raise ConfigError("features = 'pixels' are what the network sees anyway: there is nothing to compute.")
    return _fitted(train, name)


def _fitted(train: RawSamples, name: str) -> Extractor:
    from deepbass.features.sentences_words import SentencesWords
    from deepbass.features.series import SeriesFeatures
    from deepbass.features.tabular import TableFeatures
    from deepbass.features.tfidf import WordFeatures

    kinds: dict[str, type[FittedExtractor]] = {
        "words": WordFeatures,
        "sentences-words": SentencesWords,
        "series": SeriesFeatures,
        "table": TableFeatures,
    }
    extractor: FittedExtractor = kinds[name]()
    extractor.fit(train, np.arange(len(train)))
    return extractor


def _ordered(order: ArrayLike | None, count: int) -> ArrayLike:
    """Put some rows first, and all others after them."""
    rows = np.arange(count)
    if order is None:
        return rows
    asked = np.asarray(order, dtype=np.int64)
    first = asked[np.sort(np.unique(asked, return_index=True)[1])]
    return np.concatenate([first, rows[~np.isin(rows, first)]])


def _told(part: ComputedFeatures) -> str:
    shown = [f"{excerpt(part.name(row))} ({why})" for row, why in list(part.failed.items())[:5]]
    more = f" and {len(part.failed) - len(shown)} more" if len(part.failed) > len(shown) else ""
    return f"{len(part.failed)} of {len(part)} samples have no features and are left out: {', '.join(shown)}{more}"
