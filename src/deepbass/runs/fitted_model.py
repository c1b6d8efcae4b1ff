"""A trained network with all that it takes to predict, as plain values: small, to be pickled, sent and saved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import safetensors.torch
import torch
from torch import nn

from deepbass.core.belief import Floats
from deepbass.core.config import Config
from deepbass.core.own_parts import own_training, to_predict_with
from deepbass.features.saved_extractor import pack_extractor, unpack_extractor
from deepbass.learn.learner import LocalLearner
from deepbass.learn.packed_state import packed_weights
from deepbass.runs.in_memory import Seen, new_learner, predict, stand_in


@dataclass(frozen=True, eq=False)
class FittedModel:
    """What a learner has learned, without the samples that it learned from."""

    config: Config
    shape: tuple[int, ...]
    pixels: bool  # whether it was trained on bytes, which are divided by 256
    classes: int
    state: bytes  # as the learner packed it
    features: str
    extractor: bytes | None = None  # packed, as a run keeps it
    network: nn.Module | None = None  # of the caller's own: its weights do not matter

    @classmethod
    def of(cls, learner: LocalLearner, config: Config, seen: Seen, classes: int, own: nn.Module | None) -> FittedModel:
        """Take a learner at its word."""
        extractor = None if seen.extractor is None else pack_extractor(seen.extractor)
        pool = seen.pool
        return cls(config, pool.shape, pool.pixels, classes, learner.state(), seen.features, extractor, own)

    def predict(self, X: Any, where: str = "X") -> Floats:
        """Predict class probabilities, samples x classes."""
        learner, seen = self._ready
        return predict(learner, X, seen, where=where)

    def weights(self) -> bytes:
        """Pack the network's weights alone, as safetensors."""
        return safetensors.torch.save(self._ready[0].weights())

    @cached_property
    def _ready(self) -> tuple[LocalLearner, Seen]:
        extractor = None
        if self.extractor is not None:
            extractor = unpack_extractor(self.extractor, "the model", named=self.config.features)
        seen = Seen(stand_in(self.shape, self.pixels), self.features, extractor)
        with torch.random.fork_rng(devices=[]):
            # there is nothing to learn any more
            alone = replace(to_predict_with(self.config), advice="none", neighbours="pixels")
            learner = new_learner(alone, seen, self.classes, self.network)
        if "learner" in own_training(self.config):  # what it packed beside the weights, it alone could read
            learner.model.load_state_dict(packed_weights(self.state, "The model"))
        else:
            learner.restore(self.state)
        return learner, seen

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_ready"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
