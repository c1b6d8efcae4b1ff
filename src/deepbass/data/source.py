"""What every kind of source gives: one or two parts of samples and labels, as they were found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard, overload

from numpy.typing import ArrayLike

from deepbass.core.raw_samples import RawSamples


@dataclass(frozen=True, eq=False)
class Part:
    """Samples and their labels, not checked yet."""

    X: ArrayLike | RawSamples  # numbers, or samples that features are computed from
    y: ArrayLike
    where: str  # for errors: "X", or a path
    names: Sequence[str] | str  # one per sample, or the part's name: "train" makes "train/0", "train/1", ...


@dataclass(frozen=True, eq=False)
class Source:
    """Everything that one place has to give."""

    name: str
    train: Part
    validation: Part | None = None  # None: a share of the training part is held out
    classes: tuple[str, ...] | None = None  # names of the classes 0..C-1; None: the labels themselves
    notes: tuple[str, ...] = ()
    features: str = ""  # the name of those that stand in the place of raw samples


def name_of(path: Path) -> str:
    """Name the data of a path: a folder by its name, a file by its stem."""
    whole = path.resolve()
    return whole.name if whole.is_dir() else whole.stem


def is_raw(X: Any) -> TypeGuard[RawSamples]:
    """Tell samples as they were found from arrays of numbers."""
    return all(hasattr(X, verb) for verb in ("kind", "name", "read", "key"))


class RawNames(Sequence[str]):
    """The names of raw samples, made when they are asked for: there may be millions."""

    def __init__(self, samples: RawSamples) -> None:
        self._samples = samples

    def __len__(self) -> int:
        return len(self._samples)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[str]: ...
    def __getitem__(self, row: int | slice) -> str | Sequence[str]:
        """Name a sample, or several."""
        if isinstance(row, slice):
            return [self._samples.name(i) for i in range(*row.indices(len(self)))]
        if not -len(self) <= row < len(self):
            raise IndexError(row)
        return self._samples.name(row % len(self))
