"""What every kind of source gives: one or two parts of samples and labels, as they were found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False)
class Part:
    """Samples and their labels, not checked yet."""

    X: ArrayLike
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


def name_of(path: Path) -> str:
    """Name the data of a path: a folder by its name, a file by its stem."""
    whole = path.resolve()
    return whole.name if whole.is_dir() else whole.stem
