"""Read samples from .npy and .npz files, which stay on disk wherever they can."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DataError
from deepbass.core.foreign import decoding
from deepbass.core.labels import UNKNOWN
from deepbass.core.npy import NpyHeader, read_array, read_header
from deepbass.data.source import Part, Source, name_of

# what samples and labels are called, first found first; the last are Keras's names
TRAIN = (("X", "y"), ("X_train", "y_train"), ("x_train", "y_train"))
VALIDATION = (("X_val", "y_val"), ("X_test", "y_test"), ("x_val", "y_val"), ("x_test", "y_test"))

_LOCAL_HEADER = struct.Struct("<4s22xHH")  # what stands before a zip member: signature, lengths of name and extra
ADVICE = "Python objects, such as ragged shapes, are not read from files: save plain arrays of one shape."

Reader = Callable[[str], NDArray[Any]]


def is_array_folder(folder: Path) -> bool:
    """Tell whether a folder keeps its samples in .npy files."""
    return any((folder / f"{X}.npy").is_file() for X, _ in TRAIN)


def from_npy(path: Path, *, unlabelled: bool = False) -> Source:
    """Read X.npy (or a folder that has it) with y.npy beside it, and X_val.npy and y_val.npy if there are.

    With ``unlabelled`` there need not be a y.npy.
    """
    folder = path if path.is_dir() else path.parent
    present = {file.stem for file in folder.glob("*.npy")}
    pairs = TRAIN if path.is_dir() else ((path.stem, _label_file(path.stem)),)

    def read(name: str) -> NDArray[Any]:
        return _map_npy(folder / f"{name}.npy")

    return _source(path, present, read, pairs, unlabelled)


def from_npz(path: Path, *, unlabelled: bool = False) -> Source:
    """Read the arrays X, y and maybe X_val, y_val of one .npz file; Keras's names are understood as well.

    With ``unlabelled`` there need not be a y.
    """
    with decoding(path, ".npz file", "Write it again with np.savez.", DataError), zipfile.ZipFile(path) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}

    def read(name: str) -> NDArray[Any]:
        return _read_member(path, members[name])

    return _source(path, members, read, TRAIN, unlabelled)


def _source(
    path: Path, present: Iterable[str], read: Reader, train: Iterable[tuple[str, str]], unlabelled: bool
) -> Source:
    present = set(present)

    def part(pairs: Iterable[tuple[str, str]], name: str) -> Part | None:
        for X, y in pairs:
            if X not in present:
                continue
            if y not in present and not unlabelled:
                raise DataError(f"{path}: {X} has no labels beside it: add {y}, with -1 where a label is unknown.")
            samples = read(X)
            labels = read(y) if y in present else np.full(samples.shape[:1], UNKNOWN)
            return Part(samples, labels, f"{path} ({X})", name)
        return None

    found = part(train, "train")
    if found is None:
        known = ", ".join(sorted(present)) or "nothing"
        raise DataError(f"{path} has no samples: it holds {known}, but should hold X and y (or x_train and y_train).")
    return Source(name_of(path), found, part(VALIDATION, "validation"))


def _label_file(samples: str) -> str:
    return dict(TRAIN).get(samples, "y")


def _map_npy(path: Path) -> NDArray[Any]:
    with decoding(path, ".npy file of numbers or text", ADVICE, DataError), path.open("rb") as file:
        header = read_header(file)
        if (held := path.stat().st_size - header.length) < header.body:
            raise ValueError(f"its header announces {header.body} bytes of numbers, but there are {held}")
        return _map(path, header, 0)


def _read_member(path: Path, info: zipfile.ZipInfo) -> NDArray[Any]:
    """Map what is stored as it is; decompress the rest into memory."""
    with decoding(f"{path}: {info.filename}", "array", ADVICE, DataError):
        if info.compress_type == zipfile.ZIP_STORED:
            return _map_member(path, info)
        with zipfile.ZipFile(path) as archive, archive.open(info) as member:
            return read_array(member)


def _map_member(path: Path, info: zipfile.ZipInfo) -> NDArray[Any]:
    """Find where a stored member's numbers begin, and map them."""
    with path.open("rb") as file:
        file.seek(info.header_offset)
        signature, name_length, extra_length = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
        if signature != b"PK\x03\x04" or info.flag_bits & 1:
            raise ValueError("damaged or encrypted")
        begin = file.seek(name_length + extra_length, 1)
        header = read_header(file)
    if header.length + header.body != info.file_size:
        raise ValueError(f"{info.file_size} bytes, but its header announces {header.length + header.body}")
    return _map(path, header, begin)


def _map(path: Path, header: NpyHeader, begin: int) -> NDArray[Any]:
    if not header.body:  # nothing cannot be mapped
        return np.empty(header.shape, header.dtype)
    return np.memmap(path, header.dtype, "r", begin + header.length, header.shape, header.order)
