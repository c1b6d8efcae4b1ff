"""Decode NumPy's .npy format, whoever wrote the bytes: no pickle, and no more memory than there is content."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Iterable
from typing import IO, Any, Literal, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

HEAD = 1 << 14  # bytes that hold any header: NumPy refuses longer ones than 10,000
CHUNK = 1 << 12  # compressed bytes to unpack at a time: BZIP2 makes 20,000 times as many of them
# 3.0 differs from 2.0 in how the names of fields are written, and samples have none
_READ_HEADER = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
    (3, 0): npy.read_array_header_2_0,
}


class NpyHeader(NamedTuple):
    """What is announced of an array."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    order: Literal["C", "F"]
    length: int  # of the header itself, in bytes

    @property
    def body(self) -> int:
        """How many bytes must follow: counted in Python, where a forged header cannot overflow."""
        return self.dtype.itemsize * math.prod(self.shape)


def read_header(file: IO[bytes]) -> NpyHeader:
    """Read an array's header, from so few bytes that a forged length allocates nothing."""
    head = io.BytesIO(file.read(HEAD))
    version = npy.read_magic(head)
    if version not in _READ_HEADER:
        raise ValueError(f"format {version[0]}.{version[1]} is unknown")
    shape, fortran_order, dtype = _READ_HEADER[version](head)
    if dtype.hasobject:
        raise ValueError("it holds Python objects")
    if min(shape, default=0) < 0 or not dtype.itemsize:
        raise ValueError(f"its shape is {shape}, of {dtype.itemsize} bytes each")
    return NpyHeader(dtype, shape, "F" if fortran_order else "C", head.tell())


def read_array(file: IO[bytes]) -> NDArray[Any]:
    """Read an array from a stream, a little at a time and never more than announced."""
    content = bytearray(file.read(HEAD))
    header = read_header(io.BytesIO(content))
    whole = header.length + header.body
    while len(content) <= whole and (chunk := file.read(CHUNK)):
        content += chunk
    if len(content) != whole:
        held = "more" if len(content) > whole else len(content)
        raise ValueError(f"its header announces {whole} bytes, but there are {held}")
    return np.ndarray(header.shape, header.dtype, content, header.length, order=header.order)


def read_arrays(file: IO[bytes], names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Read arrays by name out of an .npz file."""
    with zipfile.ZipFile(file) as archive:
        arrays = {}
        for name in names:
            with archive.open(f"{name}.npy") as member:
                arrays[name] = read_array(member)
        return arrays
