"""What a feature extractor is: samples go in as they were found, a row of numbers for each comes out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import ConfigError
from deepbass.core.raw_samples import Kind, RawSamples

Features = NDArray[np.float32]  # B x width
State = dict[str, Any]  # arrays, and whatever JSON can hold: what it takes to compute the same elsewhere
Progress = Callable[[int, int], None]  # called with (samples done, samples in all)


class Extractor(Protocol):
    """Computes features. What decides the numbers is in its identity, so that nothing stale is ever used."""

    @property
    def name(self) -> str:
        """The name of the setting, such as imagenet."""

    @property
    def identity(self) -> str:
        """All that decides the numbers: package, version, digest of the weights, input size, what was fitted."""

    @property
    def kind(self) -> Kind:
        """What it reads."""

    @property
    def width(self) -> int:
        """How many numbers a sample becomes."""

    @property
    def batch(self) -> int:
        """How many samples are best computed at a time."""

    def describe(self) -> str:
        """Say in a sentence, for users, what it sees of a sample, and at what size."""

    def prepare(self, sample: Any) -> Any:
        """Make one sample small and ready. Threads that read ahead do so, and large pictures are not kept."""

    def compute_prepared(self, prepared: Sequence[Any]) -> Features:
        """Compute the features of samples that are ready."""

    def compute(self, batch: Sequence[Any]) -> Features:
        """Compute the features of samples as they were found."""

    def state(self) -> State:
        """List what it takes to compute the same elsewhere; `saved_extractor.from_state` makes it an extractor."""


@runtime_checkable
class FittedExtractor(Extractor, Protocol):
    """An extractor that has to see samples, without their labels, before it can compute."""

    def fit(self, samples: RawSamples, rows: NDArray[np.int64]) -> None:
        """Learn from these samples what the features are; unreadable ones are left out."""


class JoinedExtractor(FittedExtractor, Protocol):
    """An extractor of several kinds of features, each of which can be computed and kept for itself."""

    @property
    def parts(self) -> tuple[Extractor, ...]:
        """List them."""

    @property
    def factors(self) -> tuple[float, ...]:
        """Tell what the features of each are multiplied by."""


def side_by_side(parts: Sequence[Features], factors: Sequence[float]) -> Features:
    """Put features of the same samples side by side, each kind multiplied by its factor."""
    return np.concatenate([part * np.float32(by) for part, by in zip(parts, factors, strict=True)], axis=-1)


class PreparingExtractor:
    """What most extractors share: computing is preparing every sample, then computing what is prepared."""

    batch = 64

    def prepare(self, sample: Any) -> Any:
        """Take a sample as it is."""
        return sample

    def compute_prepared(self, prepared: Sequence[Any]) -> Features:
        """Compute the features of samples that are ready."""
        raise NotImplementedError

    def compute(self, batch: Sequence[Any]) -> Features:
        """Compute the features of samples as they were found."""
        return self.compute_prepared([self.prepare(sample) for sample in batch])


def check_same(state: State, extractor: Extractor) -> None:
    """Refuse to go on with other features than a model was trained on."""
    if state["identity"] != extractor.identity:
        raise ConfigError(
            f"The model was trained on {extractor.name} features of {state['identity']!r}, but what is installed makes "
            f"{extractor.identity!r}: install the same versions, or train again."
        )


def not_installed(name: str, extra: str) -> ConfigError:
    """Say what to install for an extractor."""
    return ConfigError(f"features = {name!r} takes packages that are missing: pip install 'deepbass[{extra}]'.")


def digest_of_file(path: Path) -> str:
    """Sum up a file of weights in a few characters."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def digest_of_arrays(*arrays: NDArray[Any] | str) -> str:
    """Sum up what was fitted in a few characters."""
    digest = hashlib.sha256()
    for array in arrays:
        if isinstance(array, str):
            digest.update(array.encode("utf-8", "surrogatepass"))
        else:
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
