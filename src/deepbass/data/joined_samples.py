"""Samples of several parts, one after the other, as if they were one: nothing is copied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from deepbass.core.raw_samples import Kind, RawSamples, Row
from deepbass.data.raw_images import HasFiles, NamedFile


@runtime_checkable
class HasBeside(Protocol):
    """Texts whose rows have other columns."""

    def beside(self, row: int) -> Row:
        """Read the columns that may be shown beside a text."""


@dataclass(frozen=True)
class JoinedSamples:
    """The samples of several parts, one after the other."""

    parts: Sequence[RawSamples]

    @property
    def kind(self) -> Kind:
        """What all of them are."""
        return self.parts[0].kind

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def name(self, row: int) -> str:
        """Name a sample."""
        part, place = self._find(row)
        return part.name(place)

    def read(self, row: int) -> Any:
        """Read a sample."""
        part, place = self._find(row)
        return part.read(place)

    def key(self, row: int) -> bytes:
        """Sum a sample up."""
        part, place = self._find(row)
        return part.key(place)

    def file(self, row: int) -> NamedFile | None:
        """Tell where a picture is, if it is in a file of its own."""
        part, place = self._find(row)
        return part.file(place) if isinstance(part, HasFiles) else None

    def beside(self, row: int) -> Row:
        """Read the columns that may be shown beside a text."""
        part, place = self._find(row)
        return part.beside(place) if isinstance(part, HasBeside) else {}

    def _find(self, row: int) -> tuple[RawSamples, int]:
        for part in self.parts:
            if row < len(part):
                return part, row
            row -= len(part)
        raise IndexError(row)


def join(parts: Sequence[RawSamples]) -> RawSamples:
    """Take parts for one."""
    return parts[0] if len(parts) == 1 else JoinedSamples(parts)
