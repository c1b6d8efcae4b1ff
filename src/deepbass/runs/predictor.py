"""One predictor for all that judge or use a model: features, network, and the mean over dropout passes.

Its masks are the same for every sample and for ever, so that a prediction hangs on the sample alone: not on what is
judged beside it, nor on the order. `LocalLearner.predict` does the same for a model that is being trained.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from torch import nn

from deepbass.core.belief import Floats, entropy
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError, DataError, StoreError
from deepbass.core.foreign import excerpt, reason_of
from deepbass.core.own_model import is_code
from deepbass.core.raw_samples import UnreadableSample
from deepbass.data.images import fit_pixels, need_pillow
from deepbass.data.incoming import WORDS, NewSample, Wanted
from deepbass.data.pool import LEVELS, Pool
from deepbass.data.raw_images import ArrayImages, ImageFiles, is_picture
from deepbass.data.sample_arrays import view_samples
from deepbass.data.source import is_raw
from deepbass.features.checked import PreparedSample, compute_checked
from deepbass.features.extractor import Extractor
from deepbass.features.saved_extractor import unpack_extractor
from deepbass.learn.learner import engine_for, pick_device
from deepbass.runs.saved_model import SavedModel, open_saved
from deepbass.store.names import FEATURES_FILE

BATCH = 256  # samples judged at a time where the features do not say


class Prediction(NamedTuple):
    """What a model makes of a sample; of one that cannot be read, why not."""

    name: str
    probs_C: Floats | None
    entropy: float = 0.0  # how unsure the model is, from 0 to 1
    why: str = ""


class _Ready(NamedTuple):
    name: str
    prepared: Any
    why: str = ""


class Predictor:
    """A trained model with all that it takes to use it."""

    def __init__(self, saved: SavedModel, network: nn.Module, extractor: Extractor | None) -> None:
        self.saved, self.network, self.extractor = saved, network, extractor
        self.note = saved.note  # what the user should be told of where the model comes from
        self.passes = saved.config.predict_passes  # dropout passes that a prediction is the mean of; 0: dropout off
        self.text, self.target = saved.config.text, saved.config.target
        self.shape, self.pixels = saved.shape, saved.pixels
        self.classes: tuple[str, ...] = tuple(dict.fromkeys(saved.classes))
        # outputs of one name, such as those of classes that people have merged since, count as one
        places = [self.classes.index(name) for name in saved.classes]
        self.outputs_to_classes = np.eye(len(self.classes))[places]
        outputs = len(saved.classes)
        device = pick_device("cpu" if saved.config.device == "cpu" else "auto")  # it may have been trained elsewhere
        like = Pool(np.zeros((2, *saved.shape), dtype=np.float32), "like")
        self._engine = engine_for(network.to(device), like, outputs, saved.config, device)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        model: nn.Module | str | None = None,
        features: str | None = None,
        passes: int | None = None,
    ) -> Self:
        """Load the model of a run, of a labelling project (its newest) or of an export.

        Code of one's own, a network or features, is run only if it is named again: ``model="net.py:build"``,
        ``features="backbone.py:make"``. ``passes`` overrides the setting ``predict_passes``.
        """
        saved = open_saved(Path(path).expanduser())
        if passes is not None:
            saved = replace(saved, config=Config.of({**saved.config.as_dict(), "predict_passes": passes}))
        return cls(saved, saved.network(model), _extractor(saved, Path(path), features))

    @property
    def wanted(self) -> Wanted:
        """What samples it takes."""
        if self.extractor is not None:
            columns = getattr(self.extractor, "columns", ())
            return Wanted(self.extractor.kind, None, self.text, columns=tuple(columns))
        picture = len(self.shape) == 3 and self.shape[0] in (1, 3) and self.pixels is not False
        return Wanted("image" if picture else "array", self.shape, side=max(self.shape[1:]) if picture else None)

    @property
    def batch(self) -> int:
        """How many samples are judged at a time."""
        return self.extractor.batch if self.extractor is not None else BATCH

    def predict(self, samples: Any) -> Floats:
        """Predict class probabilities, N x C: of an array, of texts, rows, pictures or paths of pictures."""
        found = []
        for prediction in self.stream(self._incoming(samples)):
            if prediction.probs_C is None:
                raise DataError(f"{excerpt(prediction.name)} cannot be judged: {prediction.why}.")
            found.append(prediction.probs_C)
        return np.stack(found) if found else np.empty((0, len(self.classes)))

    def stream(self, items: Iterable[NewSample | None]) -> Iterator[Prediction]:
        """Judge samples as they come, in their order, some at a time; None among them asks for what is due by now."""
        batch: list[_Ready] = []
        for item in items:
            if item is not None:
                batch.append(self._ready(item))  # at once: pictures are large until then
            if batch and (item is None or len(batch) == self.batch):
                yield from self._judged(batch)
                batch = []
        yield from self._judged(batch)

    def _ready(self, item: NewSample) -> _Ready:
        name, sample = item
        try:
            if isinstance(sample, UnreadableSample):
                raise sample
            return _Ready(name, self._seen(sample) if self.extractor is None else self.extractor.prepare(sample))
        except UnreadableSample as error:
            return _Ready(name, None, reason_of(error))
        except DataError:
            raise
        except Exception as error:
            return _Ready(name, None, f"it cannot be prepared ({reason_of(error)})")

    def _seen(self, sample: Any) -> NDArray[np.float32]:
        """Bring one sample to what the network sees: pictures to its size, bytes divided as in the training."""
        if hasattr(sample, "convert"):  # a decoded picture
            channels, height, width = self.shape
            sample = fit_pixels(sample, (width, height), grey=channels == 1)
        values = np.asarray(sample)
        if values.shape != self.shape:
            raise DataError(f"A sample has the shape {values.shape}, but the model takes {self.shape}.")
        if values.dtype == np.uint8 and self.pixels is not False:
            divided: NDArray[np.float32] = np.divide(values, LEVELS, dtype=np.float32)
            return divided
        if self.pixels and values.dtype != np.uint8:
            raise DataError(
                f"The model was trained on bytes, but these are {values.dtype}: give it the pixels as uint8, 0 to 255."
            )
        seen: NDArray[np.float32] = values.astype(np.float32)
        if not np.isfinite(seen).all():
            raise UnreadableSample("it holds what is not a finite number")
        return seen

    def _judged(self, batch: Sequence[_Ready]) -> Iterator[Prediction]:
        good = [place for place, ready in enumerate(batch) if not ready.why]
        why = {place: ready.why for place, ready in enumerate(batch) if ready.why}
        inputs: NDArray[np.float32] = np.empty((0, *self.shape), dtype=np.float32)
        if good and self.extractor is not None:
            prepared = [PreparedSample(place, batch[place].name, batch[place].prepared) for place in good]
            good, inputs, failed = compute_checked(self.extractor, prepared)
            why.update(failed)
        elif good:
            inputs = np.stack([batch[place].prepared for place in good])
        found = {}
        if good:
            probs_N_C = self.judge_inputs(inputs, passes=self.passes)
            unsure_N = entropy(probs_N_C) if len(self.classes) > 1 else np.zeros(len(good))
            found = dict(zip(good, zip(probs_N_C, unsure_N.tolist(), strict=True), strict=True))
        for place, ready in enumerate(batch):
            yield Prediction(ready.name, *found.get(place, (None, 0.0)), why=why.get(place, ""))

    def judge_inputs(self, inputs: NDArray[np.float32], *, passes: int) -> Floats:
        """Predict class probabilities from what the network sees."""
        if passes:
            probs_N_O = self._engine.mean(inputs, passes)
        else:
            probs_N_O = self._engine.probabilities(Pool(inputs, "inputs"), np.arange(len(inputs)), lambda share: None)
        probs_N_C: Floats = probs_N_O @ self.outputs_to_classes
        return probs_N_C

    def _incoming(self, samples: Any) -> Iterator[NewSample]:
        """Take whatever Python programs hold samples in."""
        kind = self.wanted.kind
        if is_raw(samples):
            if samples.kind != kind:
                raise DataError(f"These are {WORDS[samples.kind]}, but the model was trained on {WORDS[kind]}.")
            yield from (NewSample(samples.name(row), _read(samples, row)) for row in range(len(samples)))
        elif kind in ("image", "array", "series") and hasattr(samples, "__array__"):
            yield from self._from_array(np.asanyarray(samples))
        elif isinstance(samples, str | PathLike | Mapping):
            raise DataError(f"Give several samples, as in predict([...]), not one {type(samples).__name__}.")
        else:
            yield from (NewSample(f"sample {row}", self._checked(sample)) for row, sample in enumerate(samples))

    def _from_array(self, array: NDArray[Any]) -> Iterator[NewSample]:
        if self.wanted.kind == "series":
            yield from (NewSample(f"sample {row}", one) for row, one in enumerate(array))
            return
        seen = view_samples(array, "The array")
        if self.extractor is not None or (seen.shape[1:] != self.shape and array.dtype == np.uint8):
            if not is_picture(array):
                raise DataError(f"Samples of shape {seen.shape[1:]} are no pictures, which the model takes.")
            pictures = ArrayImages(array)
            yield from (NewSample(f"sample {row}", _read(pictures, row)) for row in range(len(pictures)))
        else:
            yield from (NewSample(f"sample {row}", seen[row]) for row in range(len(seen)))

    def _checked(self, sample: Any) -> Any:
        """Refuse a sample of another kind than the model was trained on; a path becomes its picture."""
        kind = self.wanted.kind
        if kind == "image" and isinstance(sample, str | PathLike):
            need_pillow()
            return _read(ImageFiles([Path(sample)], [str(sample)], self.wanted.side), 0)
        if kind in ("array", "series"):
            return np.asarray(sample)
        fits = {"text": isinstance(sample, str), "row": isinstance(sample, Mapping)}.get(kind, True)
        if not fits:
            raise DataError(f"A {type(sample).__name__} is none of the {WORDS[kind]} that the model was trained on.")
        return sample


def _read(samples: Any, row: int) -> Any:
    try:
        return samples.read(row)
    except UnreadableSample as error:
        return error


def _extractor(saved: SavedModel, path: Path, named: str | None) -> Extractor | None:
    used = saved.config.features
    if saved.extractor is None:
        if used == "pixels":
            if named not in (None, "pixels", "auto"):
                raise ConfigError(
                    f"{path} was trained on samples as they are, not on features {named!r}: leave it out."
                )
            return None
        raise StoreError(
            f"{path} was trained on the features {used!r}, but has no {FEATURES_FILE} that says how they are computed: "
            "restore it from a copy, or train again."
        )
    try:
        return unpack_extractor(saved.extractor.read_bytes(), saved.extractor, named=named)
    except ConfigError as error:
        if is_code(used) and named is None:
            again = f"deepbass predict {shlex.quote(str(path))} ... --features {shlex.quote(used)}"
            raise ConfigError(f"{error} On the command line: {again}") from error
        raise
    except OSError as error:
        raise StoreError(f"Cannot read {saved.extractor}: {reason_of(error)}.") from error
