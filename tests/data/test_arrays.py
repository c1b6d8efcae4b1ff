"""Laws of .npy and .npz files: mapped where they can be, never unpickled, and equal to the arrays saved."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.data import load
from deepbass.data.arrays import from_npy, from_npz

X = np.random.default_rng(0).integers(0, 256, (60, 6, 5), dtype=np.uint8)
y = np.arange(60) % 3


COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def pack(folder: Path, compression: int, samples: bytes | None = None) -> Path:
    """Write X and y into an .npz file; ``samples`` stand for X if they are given."""
    with zipfile.ZipFile(folder / "some.npz", "w", compression) as archive:
        for name, array in (("X.npy", X), ("y.npy", y)):
            buffer = io.BytesIO()
            np.save(buffer, array)
            archive.writestr(name, samples if samples is not None and name == "X.npy" else buffer.getvalue())
    return folder / "some.npz"


@pytest.mark.parametrize("name", ["X", "X_train", "x_train", "scans"])
def test_labels_are_found_beside_the_samples(name: str, tmp_path: Path) -> None:
    np.save(tmp_path / f"{name}.npy", X)
    np.save(tmp_path / ("y_train.npy" if "train" in name else "y.npy"), y)
    data = load(str(tmp_path / f"{name}.npy"), Config())
    assert data.name == name
    assert data.pool.shape == (1, 6, 5)
    assert len(data.pool) + len(data.validation) == 60


def test_a_folder_of_arrays_brings_its_validation_part(tmp_path: Path) -> None:
    arrays: dict[str, NDArray[Any]] = {"X": X, "y": y, "X_val": X[:9], "y_val": y[:9]}
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    data = load(str(tmp_path), Config())
    assert (len(data.pool), len(data.validation)) == (60, 9)
    np.testing.assert_array_equal(data.validation.read(range(9)) * 256, X[:9, None])
    np.testing.assert_array_equal(data.truth, y)


def test_npy_files_stay_on_disk(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    assert isinstance(from_npy(tmp_path).train.X, np.memmap)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("names", [("X", "y", "X_val", "y_val"), ("x_train", "y_train", "x_test", "y_test")])
def test_npz_files_are_read_as_saved(save: Any, order: Any, names: tuple[str, ...], tmp_path: Path) -> None:
    arrays = (np.asarray(X, order=order), y, X[:9], y[:9])
    save(tmp_path / "some.npz", **dict(zip(names, arrays, strict=True)))
    data = load(str(tmp_path / "some.npz"), Config())
    assert data.name == "some"
    np.testing.assert_array_equal(data.pool.read(range(60)) * 256, X[:, None])
    np.testing.assert_array_equal(data.validation.read(range(9)) * 256, X[:9, None])
    np.testing.assert_array_equal(data.truth, y)
    assert isinstance(from_npz(tmp_path / "some.npz").train.X, np.memmap) == (save is np.savez)


def test_text_labels_are_read_from_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "some.npz", X=X, y=np.array(["a", "b", ""])[y])
    assert load(str(tmp_path / "some.npz"), Config()).classes == ("a", "b")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_pickles_in_an_npz_file_are_never_opened(save: Any, tmp_path: Path) -> None:
    save(tmp_path / "some.npz", X=np.array([[1], [1, 2]], dtype=object), y=[0, 1])
    with pytest.raises(DataError, match=r"some\.npz: X\.npy is not a readable array .*ragged"):
        load(str(tmp_path / "some.npz"), Config())


def test_pickles_in_an_npy_file_are_never_opened(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", np.array([[1], [1, 2]], dtype=object), allow_pickle=True)
    np.save(tmp_path / "y.npy", [0, 1])
    with pytest.raises(DataError, match=r"X\.npy is not a readable .*ragged"):
        load(str(tmp_path), Config())


def test_missing_labels_are_named(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", X)
    np.savez(tmp_path / "some.npz", x_train=X)
    np.savez(tmp_path / "other.npz", data=X, target=y)
    with pytest.raises(DataError, match="X has no labels beside it: add y"):
        load(str(tmp_path / "X.npy"), Config())
    with pytest.raises(DataError, match="x_train has no labels beside it: add y_train"):
        load(str(tmp_path / "some.npz"), Config())
    with pytest.raises(DataError, match="it holds data, target, but should hold X and y"):
        load(str(tmp_path / "other.npz"), Config())


@pytest.mark.parametrize("keep", [0, 5, 100, 500])
def test_truncated_files_are_refused(keep: int, tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    np.savez(tmp_path / "some.npz", X=X, y=y)
    for name in ("X.npy", "some.npz"):
        path = tmp_path / name
        path.write_bytes(path.read_bytes()[:keep])
        with pytest.raises(DataError, match=f"{name} is not a readable"):
            load(str(path), Config())


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_any_compression_that_python_knows_is_read(compression: int, tmp_path: Path) -> None:
    data = load(str(pack(tmp_path, compression)), Config())
    assert len(data.pool) + len(data.validation) == 60


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_damaged_member_is_named_whatever_its_decoder_raises(compression: int, tmp_path: Path) -> None:
    path = pack(tmp_path, compression)
    content = bytearray(path.read_bytes())
    middle = content.index(b"y.npy") // 2
    content[middle : middle + 3] = bytes(byte ^ 0xFF for byte in content[middle : middle + 3])
    if compression == zipfile.ZIP_STORED:  # numbers that nobody packed: what is damaged here is the header
        content[content.index(b"NUMPY")] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"some\.npz: X\.npy is not a readable array"):
        load(str(path), Config())


def forged(length: int, header: bytes) -> bytes:
    return b"\x93NUMPY\x02\0" + struct.pack("<I", length) + header


@pytest.mark.parametrize("compression", [None, *COMPRESSIONS])
@pytest.mark.parametrize(
    "content",
    [
        forged(0xFFFFFFFF, b"{'descr': '|u1'"),
        forged(64, b"{'descr': '|u1', 'fortran_order': False, 'shape': (9999999999,)}"),
        forged(67, b"{'descr': '<U999999999', 'fortran_order': False, 'shape': (999999,)}"),
        forged(66, b"{'descr': '|u1', 'fortran_order': False, 'shape': (-99999, -99999)}"),
    ],
    ids=["length", "shape", "type", "negative"],
)
def test_a_header_that_announces_the_moon_allocates_nothing(
    content: bytes, compression: int | None, tmp_path: Path
) -> None:
    if compression is None:
        path = tmp_path / "X.npy"
        path.write_bytes(content)
        np.save(tmp_path / "y.npy", y)
    else:
        path = pack(tmp_path, compression, content)
    read = from_npy if compression is None else from_npz
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=r"X\.npy is not a readable"):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_header_that_announces_more_than_there_is_is_refused(compression: int, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, X)
    path = pack(tmp_path, compression, buffer.getvalue().replace(b"(60, 6, 5)", b"(99, 6, 5)"))
    with pytest.raises(DataError, match=r"X\.npy is not a readable array"):
        load(str(path), Config())
