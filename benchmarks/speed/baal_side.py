"""baal: Monte-Carlo dropout as its documents show it, ``MCDropoutModule`` and ``ModelWrapper.predict_on_dataset``."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, Subset, TensorDataset

from deepbass.core.belief import Floats
from deepbass.core.labels import Ids
from deepbass.learn.models import paper_cnn
from speed.start import CLASSES, Start
from speed.task import Task, mnist, pixels
from speed.timed import Timed, clocked, quickest

# by name, so that types are checked alike whether it is installed or not
_dropout: Any = importlib.import_module("baal.bayesian.dropout")
_wrapper: Any = importlib.import_module("baal.modelwrapper")

_SHARE = 10  # a tenth of the pool is timed: its loader works once a sample, so passes cannot be left out


class BaalSide:
    """baal in its own process."""

    def __init__(self, task: Task, start: Start) -> None:
        self._task = task
        data = mnist(task)
        self._data = TensorDataset(torch.from_numpy(pixels(data)), torch.from_numpy(data.truth))
        model = paper_cnn((1, 28, 28), CLASSES)
        model.load_state_dict({name: torch.from_numpy(array) for name, array in start.weights.items()})
        self._model = _dropout.MCDropoutModule(model)
        ways = {"replicate_in_memory=True": True, "replicate_in_memory=False": False}
        few = Subset(self._data, range(2 * task.batch))
        self._how, self._tried = quickest(
            {name: partial(self._predict, self._wrapped(way), few) for name, way in ways.items()}
        )
        self._quickest = self._wrapped(ways[self._how])

    @property
    def about(self) -> dict[str, Any]:
        """Threads, and the quicker of its two ways."""
        return {"threads": torch.get_num_threads(), "infer": self._how, "tried": self._tried}

    @property
    def pieces(self) -> dict[str, Callable[[], Timed]]:
        """Inference alone: the rest of an iteration is not baal's."""
        return {"pool": self._pool}

    def answers(self, what: str, ids: Ids, passes: int) -> Floats:
        """Average the probabilities over passes."""
        logits_N_C_T = self._quickest.predict_on_dataset(
            Subset(self._data, ids.tolist()), iterations=passes, verbose=False
        )
        mean: Floats = torch.from_numpy(logits_N_C_T).double().softmax(1).mean(-1).numpy()
        return mean

    def _wrapped(self, replicate: bool) -> Any:
        options = _wrapper.TrainingArgs(
            batch_size=self._task.batch, use_cuda=False, workers=0, replicate_in_memory=replicate
        )
        return _wrapper.ModelWrapper(self._model, options)

    def _predict(self, wrapper: Any, data: Dataset[Any]) -> None:
        wrapper.predict_on_dataset(data, iterations=self._task.passes_pool, verbose=False)

    def _pool(self) -> Timed:
        share = 1 if self._task.whole else _SHARE
        some = np.arange(0, self._task.samples, share)
        how = "in whole" if share == 1 else f"{len(some):,} of {self._task.samples:,} samples"
        return clocked(partial(self._predict, self._quickest, Subset(self._data, some.tolist())), share, how)
