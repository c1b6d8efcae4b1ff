"""Samples in whatever Python programs hold them: arrays, tensors, frames, sparse matrices, lists of texts or paths."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DataError
from deepbass.core.raw_samples import RawSamples
from deepbass.data.images import SUFFIXES, need_pillow
from deepbass.data.raw_images import ImageFiles
from deepbass.data.raw_rows import TableRows, Texts
from deepbass.data.source import is_raw

LARGEST_DENSE = 1 << 32  # bytes that a sparse matrix may take when it is written out
_FRAMES = ("pandas", "polars")
_NAMED_SHORTER = re.compile(r"\S+\.\w+$")  # a file's name without a space in it


def from_python(X: Any, where: str = "X", *, rows: bool = False) -> NDArray[Any] | RawSamples | Any:
    """Bring samples into an array of numbers, or into texts, pictures or rows of a table; all else stays as it is.

    A look at the container is all: numbers are checked where they are used. With ``rows`` a frame is a table in any
    case, also if all of its cells are numbers.
    """
    if is_frame(X):
        return _from_frame(X, rows)
    if is_sparse(X):
        return _dense(X, where)
    if type(X).__module__.partition(".")[0] == "torch":
        return X.detach().cpu().numpy()
    listed = None if is_raw(X) else _listed(X)
    return _from_list(listed) if listed and isinstance(listed[0], str | PathLike | Mapping) else X


def _from_list(listed: list[Any]) -> RawSamples:
    if isinstance(listed[0], Mapping):
        return TableRows.of(listed)
    if _are_paths(listed):
        need_pillow()
        return ImageFiles([Path(path).expanduser() for path in listed], [str(path) for path in listed])
    return Texts(listed)


def is_frame(X: Any) -> bool:
    """Tell a data frame of pandas or polars, without importing either."""
    return type(X).__module__.partition(".")[0] in _FRAMES and type(X).__name__ == "DataFrame"


def is_sparse(X: Any) -> bool:
    """Tell a sparse matrix or array of SciPy."""
    return type(X).__module__.startswith("scipy.sparse")


def _from_frame(frame: Any, rows: bool) -> NDArray[Any] | TableRows:
    """Take columns of numbers that are all there as an array, and any other frame as rows of a table."""
    numbers = [column for column in frame.columns if not rows and _is_numeric(frame[column])]
    if len(numbers) == len(frame.columns):
        array: NDArray[Any] = np.asarray(frame.to_numpy(), dtype=np.float64)
        if not np.isnan(array).any():
            return array
    names = [str(column) for column in frame.columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"The data frame has the column {twice!r} more than once: rename one of them.")
    columns = [frame[column].to_list() for column in frame.columns]
    return TableRows.of([dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)])


def _is_numeric(column: Any) -> bool:
    if hasattr(column.dtype, "is_numeric"):  # polars
        return bool(column.dtype.is_numeric()) and not column.null_count()
    return getattr(column.dtype, "kind", "O") in "biuf"


def _dense(X: Any, where: str) -> NDArray[Any]:
    size = X.shape[0] * X.shape[1] * 4
    if size > LARGEST_DENSE:
        raise DataError(
            f"{where} is a sparse matrix of {X.shape[0]} x {X.shape[1]}, which would take {size / (1 << 30):.1f} GB "
            "written out: reduce its columns first, as with sklearn.decomposition.TruncatedSVD; texts can be given as "
            "they are."
        )
    array: NDArray[Any] = X.toarray()
    return array


def _listed(X: Any) -> list[Any] | None:
    """List what may be texts, paths or rows; None for numbers."""
    if isinstance(X, np.ndarray):
        return X.tolist() if X.ndim == 1 and X.dtype.kind in "OUT" else None
    if type(X).__name__ == "Series" and type(X).__module__.partition(".")[0] in _FRAMES:
        return list(X)
    return list(X) if isinstance(X, list | tuple) and len(X) else None


def _are_paths(listed: Sequence[Any]) -> bool:
    """Tell paths of pictures from texts: every one has the suffix of a picture, and no text is that short."""
    return all(
        isinstance(each, PathLike)
        or (isinstance(each, str) and Path(each[-8:]).suffix.lower() in SUFFIXES and _NAMED_SHORTER.search(each))
        for each in listed
    )
