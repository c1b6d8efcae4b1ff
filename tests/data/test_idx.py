"""Laws of IDX files: what was written is read, and a damaged file never is."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.data import load
from deepbass.data.idx import TYPES, read_idx

in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def idx_bytes(array: NDArray[Any], code: int = 0x08) -> bytes:
    header = bytes([0, 0, code, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.astype(TYPES[code]).tobytes()


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def write_set(folder: Path, *, prefix: str = "", suffix: str = "", test: bool = True, sep: str = "-") -> None:
    images = np.random.default_rng(0).integers(0, 256, (40, 5, 4))
    labels = np.arange(40) % 4
    for part in ("train", "t10k") if test else ("train",):
        write(folder / f"{prefix}{part}-images{sep}idx3-ubyte{suffix}", idx_bytes(images))
        write(folder / f"{prefix}{part}-labels{sep}idx1-ubyte{suffix}", idx_bytes(labels))


@in_one_folder
@given(
    code=st.sampled_from(sorted(TYPES)),
    shape=st.lists(st.integers(0, 4), min_size=1, max_size=4),
    suffix=st.sampled_from(["", ".gz"]),
)
def test_any_array_survives_the_round_trip(code: int, shape: list[int], suffix: str, tmp_path: Path) -> None:
    array = np.random.default_rng(len(shape)).integers(0, 100, shape)
    read = read_idx(write(tmp_path / f"some{suffix}", idx_bytes(array, code)))
    np.testing.assert_array_equal(read, array)


@in_one_folder
@given(cut=st.integers(0, 4 + 12 + 24 - 1), suffix=st.sampled_from(["", ".gz"]))
def test_any_truncation_is_refused(cut: int, suffix: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"cut{suffix}", idx_bytes(np.ones((2, 3, 4)))[:cut])
    with pytest.raises(DataError, match=path.name):
        read_idx(path)


@in_one_folder
@given(cut=st.integers(0, 200))
def test_any_truncation_of_the_compressed_file_is_refused(cut: int, tmp_path: Path) -> None:
    whole = gzip.compress(idx_bytes(np.random.default_rng(0).integers(0, 256, (10, 5, 5))))
    path = tmp_path / "cut.gz"
    path.write_bytes(whole[:cut])
    with pytest.raises(DataError, match=r"cut\.gz"):
        read_idx(path)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_the_message_names_expected_and_actual_bytes(suffix: str, tmp_path: Path) -> None:
    content = idx_bytes(np.ones((2, 3, 4)))
    with pytest.raises(DataError, match=r"2 x 3 x 4 values, so 24 bytes should follow, but 20 do"):
        read_idx(write(tmp_path / f"short{suffix}", content[:-4]))
    with pytest.raises(DataError, match=r"24 bytes should follow, but 27"):
        read_idx(write(tmp_path / f"long{suffix}", content + b"abc"))


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_header_that_announces_the_moon_allocates_nothing(suffix: str, tmp_path: Path) -> None:
    content = b"\0\0\x08\x03" + b"\xff" * 12 + b"few"
    with pytest.raises(DataError, match="but 3 do"):
        read_idx(write(tmp_path / f"forged{suffix}", content))


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("size", [0, 1])
def test_more_dimensions_than_numpy_has_are_refused(suffix: str, size: int, tmp_path: Path) -> None:
    content = b"\0\0\x08\x64" + struct.pack(">100I", *[size] * 100) + b"x" * size
    with pytest.raises(DataError, match="not a readable IDX file"):
        read_idx(write(tmp_path / f"deep{suffix}", content))


def test_what_is_no_idx_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"not an IDX file: it begins with 89 50 4e 47"):
        read_idx(write(tmp_path / "picture", b"\x89PNG...."))
    with pytest.raises(DataError, match=r"nowhere is not a readable IDX file \(No such file or directory\)\."):
        read_idx(tmp_path / "nowhere")


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("sep", ["-", "."])
def test_a_folder_a_file_and_a_prefix_lead_to_the_same_set(suffix: str, sep: str, tmp_path: Path) -> None:
    write_set(tmp_path, suffix=suffix, sep=sep)
    write_set(tmp_path, prefix="letters-", suffix=suffix, sep=sep)
    for source in (tmp_path, tmp_path / f"train-labels{sep}idx1-ubyte{suffix}", tmp_path / "letters"):
        data = load(str(source), Config())
        assert (len(data.pool), len(data.validation)) == (40, 40)
        assert data.pool.shape == (1, 5, 4)
        assert data.classes == ("0", "1", "2", "3")
        assert data.name == ("letters" if source.name == "letters" else tmp_path.name)
        assert data.validation.name(3) == "validation/3"


def test_without_a_test_part_some_is_held_out(tmp_path: Path) -> None:
    write_set(tmp_path, test=False)
    data = load(str(tmp_path), Config(validation=0.3))
    assert (len(data.pool), len(data.validation)) == (28, 12)


def test_missing_labels_are_named(tmp_path: Path) -> None:
    write_set(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(DataError, match="no t10k-labels-idx"):
        load(str(tmp_path), Config())


def test_a_plain_file_goes_before_its_compressed_twin(tmp_path: Path) -> None:
    write_set(tmp_path)
    write(tmp_path / "train-images-idx3-ubyte.gz", b"not an IDX file")
    assert len(load(str(tmp_path), Config()).pool) == 40
