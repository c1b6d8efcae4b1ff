"""Features of the user's own: a function that returns an nn.Module, or anything that can be called with a batch.

It is code, and is run for who names it, never because a folder does: see core/own_model.py.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from deepbass.core.errors import ConfigError, DataError
from deepbass.core.foreign import excerpt, guarded, reason_of
from deepbass.core.own_model import import_function
from deepbass.core.raw_samples import Kind, RawSamples, UnreadableSample
from deepbass.features.checked import PreparedSample, compute_checked
from deepbass.features.extractor import Features, PreparingExtractor, State, check_same
from deepbass.features.picture_sizes import IMAGENET_MEAN, IMAGENET_STD, as_square, normalised

SIDE = 224  # pixels, unless the module says otherwise: `module.side`, or timm's `default_cfg`
TRIED = 100  # unreadable samples in a row before the first one that tells the width


class OwnFeatures(PreparingExtractor):
    """Whatever a function of the user's own returns, called with batches."""

    batch = 32

    def __init__(self, reference: str, kind: Kind) -> None:
        """Call the function that the user has named; the width is known once `probe` has computed a sample."""
        self.name, self.kind = reference, kind
        self.width = 0
        function = import_function("features", reference)
        with guarded(lambda cause: ConfigError(f"features {reference!r}: calling it failed ({reason_of(cause)}).")):
            self._made: Any = function()
        if not callable(self._made):
            raise ConfigError(
                f"features {reference!r} returned a {type(self._made).__name__}: return a torch.nn.Module, or a "
                "function that is called with a list of samples."
            )
        self._module = self._made if isinstance(self._made, nn.Module) else None
        if self._module is not None:
            self._module.eval()
        self._preprocess = getattr(self._made, "preprocess", None)
        settings = getattr(self._made, "default_cfg", None) or {}
        self.side = int(getattr(self._made, "side", 0) or settings.get("input_size", (3, SIDE, SIDE))[-1])
        self._mean, self._std = settings.get("mean", IMAGENET_MEAN), settings.get("std", IMAGENET_STD)
        self._source = _digest(function, self._made)

    @property
    def identity(self) -> str:
        """The function's file, the weights, and the size of the input."""
        return f"own {self.name} {self._source}, {self._input()}, width {self.width}"

    def describe(self) -> str:
        """Say what it is given of a sample."""
        return f"{self.name}: {self.width} numbers a sample, computed from {self._input()}"

    def _input(self) -> str:
        if self._preprocess is not None:
            return "what its own preprocess makes of a sample"
        return f"pictures of {self.side} x {self.side} pixels" if self._takes_pictures else "samples as they were found"

    @property
    def _takes_pictures(self) -> bool:
        return self.kind == "image" and self._module is not None

    def probe(self, samples: RawSamples) -> None:
        """Compute the first sample that can be read, to learn the width."""
        row, sample = _first(samples)
        name = excerpt(samples.name(row))
        with guarded(lambda cause: DataError(f"features = {self.name!r} fail on {name}: {reason_of(cause)}.")):
            prepared = self.prepare(sample)
            found: Any = self.compute_prepared([prepared])
        if found is None or np.ndim(found) != 2 or not found.shape[1]:
            what = "nothing" if found is None else f"an array of shape {np.shape(found)}"
            raise DataError(f"features = {self.name!r} returned {what} for {name}: return samples x numbers.")
        self.width = found.shape[1]
        compute_checked(self, [PreparedSample(row, name, prepared)])

    def prepare(self, sample: Any) -> Any:
        """Make one sample what the module or function takes."""
        if self._preprocess is not None:
            return self._preprocess(sample)
        return as_square(sample, self.side) if self._takes_pictures else sample

    def compute_prepared(self, prepared: Sequence[Any]) -> Features:
        """Call the module or function with a batch; what is more than a row a sample is flattened."""
        batch: Any = list(prepared)
        if self._preprocess is None and self._takes_pictures:
            batch = torch.from_numpy(normalised(np.stack(batch), self._mean, self._std))
        elif isinstance(batch[0], torch.Tensor):
            batch = torch.stack(batch)
        with torch.inference_mode():
            found = self._made(batch)
        if isinstance(found, torch.Tensor):
            found = found.detach().float().cpu().numpy()
        if found is None:  # the check of what is computed names the sample
            return found  # type: ignore[return-value]
        array = np.asarray(found, dtype=np.float32)
        return array.reshape(len(array), -1) if array.ndim > 1 and len(array) else array

    def state(self) -> State:
        """The name of the function: the code is not ours to copy about."""
        return {"name": self.name, "identity": self.identity, "kind": self.kind, "width": self.width}

    @classmethod
    def from_state(cls, state: State, named: str) -> OwnFeatures:
        """Make the extractor that a model was trained with, of the function that the user has ``named`` again."""
        extractor = cls(named, state["kind"])
        extractor.width = state["width"]
        check_same({**state, "identity": state["identity"].replace(state["name"], named)}, extractor)
        return extractor


def _digest(function: Any, made: Any) -> str:
    """Sum up what decides the numbers as far as can be seen: the file of the function, and a module's weights."""
    digest = hashlib.sha256()
    with suppress(TypeError, OSError):
        digest.update(Path(inspect.getsourcefile(function) or "").read_bytes())
    if isinstance(made, nn.Module):
        for name, weights in made.state_dict().items():
            digest.update(name.encode())
            try:
                content = weights.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
            except (AttributeError, RuntimeError, TypeError):  # quantised, sparse, or no tensor at all
                content = repr(weights).encode()
            digest.update(content)
    return digest.hexdigest()[:16]


def _first(samples: RawSamples) -> tuple[int, Any]:
    """Read the first sample that can be read."""
    for row in range(min(len(samples), TRIED)):
        try:
            return row, samples.read(row)
        except UnreadableSample:
            continue
    raise DataError("None of the first samples can be read.")
