"""Samples as they were found, before anything is computed of them: images, texts, rows of a table, series over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from deepbass.core.errors import DataError

Kind = Literal["image", "text", "row", "series"]
Cell = str | float | None  # of a table; None: nothing is there
Row = Mapping[str, Cell]  # a row of a table, by column


class RawSamples(Protocol):
    """Samples 0 to n - 1, read one at a time: what feature extractors compute from, and what people are shown."""

    @property
    def kind(self) -> Kind:
        """What `read` returns: a Pillow image (L or RGB, 8 bits, upright), a text, a row, or an array T x F."""

    def __len__(self) -> int: ...

    def name(self, row: int) -> str:
        """Name a sample, for errors and for people."""

    def read(self, row: int) -> Any:
        """Read one sample; raises `UnreadableSample`, which says why in a few words, without a path."""

    def key(self, row: int) -> bytes:
        """Sum a sample up in a few bytes: while the key stays the same, so does what is read. Cheap: no decoding."""


class UnreadableSample(DataError):  # noqa: N818
    """A sample that cannot be read, and why in a few words that may be read by anybody."""
