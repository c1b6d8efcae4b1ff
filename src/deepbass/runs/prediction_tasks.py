"""Predictions on a cluster: batches of samples as tasks, whose results come back in the order of the samples.

The model travels once, as safetensors and plain values, and every worker builds it once. Batches are what one process
would have made of the samples, so that predictions are its bits. Samples are read no further ahead than the workers
have use for: memory is bounded, however long the stream is.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch

from deepbass.cluster.connection import Cluster
from deepbass.cluster.in_order import AHEAD, RETRIES, cancel, result_of
from deepbass.cluster.parcels import Parcel, pack_sample, unpack_sample
from deepbass.core.belief import Floats
from deepbass.core.config import Config
from deepbass.core.own_model import is_code
from deepbass.core.raw_samples import UnreadableSample
from deepbass.data.incoming import NewSample
from deepbass.features.saved_extractor import pack_extractor, unpack_extractor
from deepbass.runs.predictor import Prediction, Predictor
from deepbass.runs.saved_model import SavedModel

_Named = tuple[str, Parcel]  # the name of a sample, and what it takes to read it
_Judged = tuple[Floats, list[float], dict[int, str]]  # of those that could be judged; why others could not, by place


class PredictionTasks:
    """A predictor whose work is done on a cluster."""

    def __init__(self, cluster: Cluster, predictor: Predictor, *, model: str | None, features: str | None) -> None:
        """Hand the model out; ``model`` and ``features`` are code that the user has named, which all nodes must see."""
        import ray

        code = [word.rpartition(":")[0] for word in (model, features) if word is not None and is_code(word)]
        cluster.can_see([file for file in code if file.endswith(".py")])
        self._size = predictor.batch
        self._most = AHEAD * cluster.workers
        extractor = None if predictor.extractor is None else pack_extractor(predictor.extractor)
        self._model = ray.put((_packed(predictor.saved), extractor, model, features))
        self._task = ray.remote(num_cpus=1, max_retries=RETRIES)(_judge)

    def stream(self, items: Iterable[NewSample | None]) -> Iterator[Prediction]:
        """Judge samples as `Predictor.stream` does; None among them asks for what is due by now."""
        waiting: deque[tuple[list[str], Any]] = deque()
        batch: list[_Named] = []
        try:
            for item in items:
                if item is not None:
                    batch.append((item.name, pack_sample(item.sample)))
                if batch and (item is None or len(batch) == self._size):
                    waiting.append(self._begun(batch))
                    batch = []
                while waiting and (item is None or len(waiting) >= self._most):
                    yield from _predictions(*waiting.popleft())
            if batch:
                waiting.append(self._begun(batch))
            while waiting:
                yield from _predictions(*waiting.popleft())
        finally:
            cancel(task for _, task in waiting)

    def _begun(self, batch: list[_Named]) -> tuple[list[str], Any]:
        return [name for name, _ in batch], self._task.remote(self._model, batch)


def _predictions(names: list[str], task: Any) -> Iterator[Prediction]:
    judged: _Judged = result_of(task)
    found = zip(*judged[:2], strict=True)
    for place, name in enumerate(names):
        if place in judged[2]:
            yield Prediction(name, None, why=judged[2][place])
        else:
            yield Prediction(name, *next(found))


def _packed(saved: SavedModel) -> tuple[str, bytes]:
    facts = {
        "path": str(saved.path),
        "config": saved.config.as_dict(),
        "shape": saved.shape,
        "classes": saved.classes,
        "where": saved.where,
        "pixels": saved.pixels,
    }
    return json.dumps(facts), safetensors.torch.save(saved.weights)


_Model = tuple[tuple[str, bytes], bytes | None, str | None, str | None]


def _judge(model: _Model, batch: list[_Named]) -> _Judged:
    """Judge a batch on a worker."""
    import torch

    torch.set_num_threads(1)
    predictor = _predictor(*model)
    predictions = list(predictor.stream(NewSample(name, _tried(parcel)) for name, parcel in batch))
    why = {place: each.why for place, each in enumerate(predictions) if each.probs_C is None}
    good = [each for each in predictions if each.probs_C is not None]
    probs = [each.probs_C for each in good if each.probs_C is not None]
    probs_N_C = np.stack(probs) if probs else np.empty((0, len(predictor.classes)))
    return probs_N_C, [each.entropy for each in good], why


def _tried(parcel: Parcel) -> Any:
    try:
        return unpack_sample(parcel)
    except UnreadableSample as error:
        return error


@lru_cache(maxsize=1)
def _predictor(
    packed: tuple[str, bytes], extractor: bytes | None, model: str | None, features: str | None
) -> Predictor:
    """Build the model once in a worker."""
    facts = json.loads(packed[0])
    config, weights = Config.of(facts["config"]), safetensors.torch.load(packed[1])
    path, where = Path(facts["path"]), facts["where"]
    shape, classes = tuple(facts["shape"]), tuple(facts["classes"])
    saved = SavedModel(path, config, shape, classes, weights, where, None, facts["pixels"])
    made = None if extractor is None else unpack_extractor(extractor, where, named=features)
    return Predictor(saved, saved.network(model), made)
