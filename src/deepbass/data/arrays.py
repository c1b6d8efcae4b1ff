"""Read samples from .npy and .npz files, which stay on disk wherever they can."""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from deepbass.core.errors import DataError
from deepbass.core.labels import UNKNOWN
from deepbass.data.source import Part, Source, name_of

# what samples and labels are called, first found first; the last are Keras's names
TRAIN = (("X", "y"), ("X_train", "y_train"), ("x_train", "y_train"))
VALIDATION = (("X_val", "y_val"), ("X_test", "y_test"), ("x_val", "y_val"), ("x_test", "y_test"))

_LOCAL_HEADER = struct.Struct("<4s22xHH")  # what stands before a zip member: signature, lengths of name and extra
_READ_HEADER = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_BROKEN = (ValueError, OSError, EOFError, MemoryError, RuntimeError, struct.error, zipfile.BadZipFile, zlib.error)
_ADVICE = "Python objects, such as ragged shapes, are not read from files: save plain arrays of one shape."

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
    try:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    except _BROKEN as error:
        raise DataError(f"{path} is not a readable .npz file ({error}): write it again with np.savez.") from error

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
    try:
        return npy.open_memmap(path, mode="r")
    except _BROKEN as error:
        raise DataError(f"{path} is not a readable .npy file of numbers or text ({error}). {_ADVICE}") from error


def _read_member(path: Path, info: zipfile.ZipInfo) -> NDArray[Any]:
    """Map what is stored as it is; decompress the rest into memory."""
    try:
        with path.open("rb") as file:
            mapped = _map_member(path, info, file) if info.compress_type == zipfile.ZIP_STORED else None
        if mapped is not None:
            return mapped
        with zipfile.ZipFile(path) as archive, archive.open(info) as member:
            return npy.read_array(member, allow_pickle=False)
    except _BROKEN as error:
        raise DataError(f"{path}: {info.filename} is not a readable array ({error}). {_ADVICE}") from error


def _map_member(path: Path, info: zipfile.ZipInfo, file: IO[bytes]) -> NDArray[Any] | None:
    """Find where a stored member's numbers begin and map them; None for what cannot be mapped."""
    file.seek(info.header_offset)
    signature, name_length, extra_length = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    if signature != b"PK\x03\x04" or info.flag_bits & 1:
        raise ValueError("damaged or encrypted")
    file.seek(name_length + extra_length, 1)
    begin = file.tell()
    read_header = _READ_HEADER.get(npy.read_magic(file))
    if read_header is None:
        return None
    shape, fortran_order, dtype = read_header(file)
    if dtype.hasobject or 0 in shape:  # read_array says what is wrong with the one, and reads the other
        return None
    end = file.tell() + dtype.itemsize * math.prod(shape)
    if end != begin + info.file_size:
        raise ValueError(f"{info.file_size} bytes, but its header announces {end - begin}")
    return np.memmap(path, dtype, "r", file.tell(), shape, order="F" if fortran_order else "C")
