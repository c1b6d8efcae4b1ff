"""Read IDX files, the format of MNIST.

Two zero bytes, a byte for the type of the numbers, a byte for the number of dimensions, the dimensions as big-endian
32-bit numbers, then the numbers themselves.
"""

from __future__ import annotations

import gzip
import math
import re
import struct
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DataError
from deepbass.core.foreign import decoding, excerpt
from deepbass.core.labels import UNKNOWN
from deepbass.data.source import Part, Source, name_of

TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
CHUNK = 1 << 20

# train-images-idx3-ubyte as published; .idx3-ubyte as some tools unpack it; emnist-letters-train-... with a prefix
_NAME = re.compile(r"(?P<set>.*?)(?P<part>train|t10k|test)-(?P<kind>images|labels)[-.]idx\d-\w+?(?P<gz>\.gz)?")


class _Header(NamedTuple):
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    bytes: int  # of the header itself

    @property
    def body(self) -> int:
        """How many bytes must follow: counted in Python, where a forged header cannot overflow."""
        return self.dtype.itemsize * math.prod(self.shape)


def read_idx(path: Path) -> NDArray[Any]:
    """Read one IDX file of any type and size: memory-mapped, or decompressed if it ends in .gz."""
    with decoding(path, "IDX file", "It may be truncated: get it again.", DataError):
        return _unpack(path) if path.suffix == ".gz" else _map(path)


def find_idx(path: Path) -> tuple[Path, str] | None:
    """Find the folder and prefix of a set of IDX files, given the folder, one of the files, or their prefix."""
    if path.is_dir():
        return (path, "") if _files(path, "") else None
    if match := _NAME.fullmatch(path.name):
        return (path.parent, match["set"]) if path.is_file() else None
    for prefix in (path.name, f"{path.name}-"):
        if path.parent.is_dir() and _files(path.parent, prefix):
            return path.parent, prefix
    return None


def from_idx(folder: Path, prefix: str = "", *, unlabelled: bool = False) -> Source:
    """Read images and labels for training, and those for testing if they are there.

    With ``unlabelled`` there need not be files of labels.
    """
    files = _files(folder, prefix)

    def part(key: str, name: str) -> Part:
        for kind in ("images",) if unlabelled else ("images", "labels"):
            if (key, kind) not in files:
                raise DataError(f"{folder} has no {prefix}{key}-{kind}-idx*-ubyte file, plain or .gz: add it.")
        images, labels = files[key, "images"], files.get((key, "labels"))
        samples = read_idx(images)
        known = read_idx(labels) if labels else np.full(samples.shape[:1], UNKNOWN)
        return Part(samples, known, str(images), name)

    parts = {key for key, _ in files}
    test = next((part(key, "validation") for key in ("t10k", "test") if key in parts), None)
    return Source(prefix.rstrip("-") or name_of(folder), part("train", "train"), test)


def _files(folder: Path, prefix: str) -> dict[tuple[str, str], Path]:
    """List a set's files by part and kind; a plain file goes before its compressed twin."""
    found = {}
    for path in sorted(folder.iterdir(), reverse=True):  # backwards: x sorts before x.gz, and so overwrites it
        match = _NAME.fullmatch(path.name)
        if match and match["set"] == prefix and path.is_file():
            found[match["part"], match["kind"]] = path
    return found


def _map(path: Path) -> NDArray[Any]:
    with path.open("rb") as file:
        header = _read_header(path, file)
    actual = path.stat().st_size - header.bytes
    if actual != header.body:
        raise _wrong_length(path, header, str(actual))
    if not header.body:
        return np.empty(header.shape, header.dtype)
    return np.memmap(path, header.dtype, "r", header.bytes, header.shape)


def _unpack(path: Path) -> NDArray[Any]:
    with gzip.open(path) as file:
        header = _read_header(path, file)
        body = bytearray()
        while len(body) <= header.body and (chunk := file.read(CHUNK)):  # never more than was announced
            body += chunk
    if len(body) != header.body:
        raise _wrong_length(path, header, f"{len(body)} or more" if len(body) > header.body else str(len(body)))
    return np.frombuffer(body, header.dtype).reshape(header.shape)


def _read_header(path: Path, file: IO[bytes] | gzip.GzipFile) -> _Header:
    magic = file.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in TYPES or magic[3] == 0:
        raise DataError(f"{path} is not an IDX file: it begins with {magic.hex(' ') or 'nothing'}.")
    sizes = file.read(4 * magic[3])
    if len(sizes) < 4 * magic[3]:
        raise DataError(f"{path} is truncated: its header should have {4 + 4 * magic[3]} bytes, not {4 + len(sizes)}.")
    shape = struct.unpack(f">{magic[3]}I", sizes)
    return _Header(np.dtype(TYPES[magic[2]]), shape, 4 + len(sizes))


def _wrong_length(path: Path, header: _Header, actual: str) -> DataError:
    return DataError(
        f"{path} is truncated or tampered with: its header announces "
        f"{excerpt(' x '.join(map(str, header.shape)))} values, "
        f"so {header.body} bytes should follow, but {actual} do. Get the file again."
    )
