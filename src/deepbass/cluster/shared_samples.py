"""Samples that workers read for themselves: where they lie on storage that all see, or handed out once.

What travels is a description: plain values, and references to arrays in Ray's object store, which every machine fetches
once and all of its workers share.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DataError
from deepbass.core.samples import Samples
from deepbass.data.joined_arrays import JoinedArrays
from deepbass.data.pool import Pool
from deepbass.features.extractor import side_by_side
from deepbass.features.feature_array import FeatureArray
from deepbass.features.joined_features import JoinedFeatures
from deepbass.files import CACHE

Put = Callable[[Any], Any]  # into the object store; returns the reference
Get = Callable[[Any], Any]
MOST_HANDED = 4_000_000_000  # bytes of samples that are read here and handed out


@dataclass(frozen=True)
class MappedArray:
    """An array in a file, or a view of one."""

    path: str
    size: int  # bytes of the file: another one there has most likely another
    dtype: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class HandedArray:
    """An array in the object store."""

    reference: Any


@dataclass(frozen=True)
class SeveralArrays:
    """Arrays one after the other."""

    parts: tuple[ArrayHere, ...]


@dataclass(frozen=True)
class RowsOfArrays:
    """Rows of float32 from several arrays: row i is row ``position[i]`` of the array number ``which[i]``."""

    arrays: tuple[ArrayHere, ...]
    which: HandedArray
    position: HandedArray


@dataclass(frozen=True)
class ColumnsOfArrays:
    """Arrays of the same rows side by side, each multiplied by its factor."""

    parts: tuple[ArrayHere, ...]
    factors: tuple[float, ...]


ArrayHere = MappedArray | HandedArray | SeveralArrays | RowsOfArrays | ColumnsOfArrays


@dataclass(frozen=True)
class SharedSamples:
    """What a worker needs to open a pool."""

    samples: ArrayHere
    rows: HandedArray | None  # None: all, in their order


def share(samples: Samples, put: Put) -> SharedSamples:
    """Describe samples for workers; what only this process can read is read here, and handed out."""
    array = _describe(samples.samples, put) if isinstance(samples, Pool) else None
    if array is None or not isinstance(samples, Pool):
        return SharedSamples(HandedArray(put(_read(samples))), None)
    return SharedSamples(array, None if samples.whole else HandedArray(put(samples.rows)))


def open_shared(shared: SharedSamples, get: Get) -> Pool:
    """Open samples on a worker; what it cannot see is named with the path as this machine sees it."""
    rows = None if shared.rows is None else get(shared.rows.reference)
    return Pool(cast(NDArray[Any], _open(shared.samples, get)), "row", rows)


def _describe(array: Any, put: Put) -> ArrayHere | None:
    if isinstance(array, np.ndarray):
        return _mapped(array) or HandedArray(put(np.ascontiguousarray(array)))
    if isinstance(array, JoinedArrays):
        parts = [_describe(part, put) for part in array.parts]
        return SeveralArrays(tuple(part for part in parts if part)) if all(parts) else None
    if isinstance(array, JoinedFeatures):
        parts = [_describe(part, put) for part in array.parts]
        return ColumnsOfArrays(tuple(part for part in parts if part), array.extractor.factors)
    if isinstance(array, FeatureArray):
        arrays, which, position = array.places()
        described = tuple(_mapped(each) or HandedArray(put(each)) for each in arrays)
        return RowsOfArrays(described, HandedArray(put(which)), HandedArray(put(position)))
    return None


def _read(samples: Samples) -> NDArray[np.float32]:
    size = 4 * len(samples) * math.prod(samples.shape)
    if size > MOST_HANDED:
        raise DataError(
            f"The samples are no array in a file, and with {size / 1e9:.1f} GB too many to be handed out to workers: "
            "save them as a .npy file, on storage that every machine sees, and give its path."
        )
    return samples.read(np.arange(len(samples)))


def _mapped(array: NDArray[Any]) -> MappedArray | None:
    """Find the file that an array is a view of; None if there is none, or it has no name any more."""
    root: Any = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    path = getattr(root, "filename", None)
    if not isinstance(root, np.memmap) or path is None or not Path(path).is_file():
        return None
    offset = root.offset + array.ctypes.data - root.ctypes.data
    size = Path(path).stat().st_size
    return MappedArray(str(path), size, array.dtype.str, offset, array.shape, array.strides)


def _open(described: ArrayHere, get: Get) -> Any:
    match described:
        case MappedArray():
            return _map(described)
        case HandedArray():
            return get(described.reference)
        case SeveralArrays():
            return JoinedArrays([_open(part, get) for part in described.parts])
        case RowsOfArrays():
            arrays = [_open(array, get) for array in described.arrays]
            return ScatteredRows(arrays, get(described.which.reference), get(described.position.reference))
        case ColumnsOfArrays():
            return WideRows([_open(part, get) for part in described.parts], described.factors)


def _map(described: MappedArray) -> NDArray[Any]:
    path, here = Path(described.path), f"The worker on {platform.node()}"
    advice = f"Put the data, and what is kept of it ({CACHE}), on storage that every machine sees at the same path."
    try:
        size = path.stat().st_size
        if size != described.size:
            raise DataError(
                f"{here} sees another file at {path}: it has {size:,} bytes, not {described.size:,}. {advice}"
            )
        whole = np.memmap(path, np.uint8, "r")
    except OSError as error:
        raise DataError(f"{here} cannot read {path} ({error.strerror or error}). {advice}") from None
    return np.ndarray(described.shape, described.dtype, whole, described.offset, described.strides)


class ScatteredRows:
    """Indexes like one array of float32, by rows that lie in several."""

    dtype = np.dtype(np.float32)

    def __init__(
        self, arrays: Sequence[NDArray[Any]], which: NDArray[np.integer], position: NDArray[np.integer]
    ) -> None:
        self._arrays, self._which, self._position = arrays, which, position
        self.shape: tuple[int, ...] = (len(which), arrays[0].shape[1] if arrays else 0)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Read some rows."""
        which, position = self._which[rows], self._position[rows]
        found = np.empty((len(which), self.shape[1]), dtype=np.float32)
        for number in np.unique(which):
            here = which == number
            found[here] = self._arrays[number][position[here]]
        return found


class WideRows:
    """Indexes like one array of float32, by rows that are made of those of several."""

    dtype = np.dtype(np.float32)

    def __init__(self, parts: Sequence[ScatteredRows], factors: Sequence[float]) -> None:
        self._parts, self._factors = parts, factors
        self.shape: tuple[int, ...] = (len(parts[0]), sum(part.shape[1] for part in parts))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Read some rows."""
        return side_by_side([part[rows] for part in self._parts], self._factors)
