"""Laws of keys: the same for the same content, another for any other, and remembered only while nothing has changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deepbass.data import content_keys
from deepbass.data.content_keys import ContentKeys, DigestMemory


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    monkeypatch.setattr(content_keys, "AT_ONCE", 3)
    monkeypatch.setattr(content_keys, "COARSE_TICK", -(10**12))  # as if all had been written long ago
    paths = [tmp_path / f"{i}.bin" for i in range(3)]
    for i, path in enumerate(paths):
        path.write_bytes(bytes([i]) * 1000)
    return paths


def keys(files: list[Path], memory: DigestMemory) -> list[bytes]:
    return [ContentKeys(memory).key(path) for path in files]


def test_a_file_that_changes_behind_its_date_has_another_key(files: list[Path], tmp_path: Path) -> None:
    before = keys(files, DigestMemory(tmp_path / "digests.db"))
    times = files[1].stat()
    assert keys(files, DigestMemory(tmp_path / "digests.db")) == before
    assert len(set(before)) == 3
    files[1].write_bytes(b"x" * 1000)
    os.utime(files[1], ns=(times.st_atime_ns, times.st_mtime_ns))
    assert keys(files, DigestMemory(tmp_path / "digests.db"))[1] != before[1]


def test_what_is_remembered_is_not_read_again(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = keys(files, DigestMemory(tmp_path / "digests.db"))
    monkeypatch.setattr(Path, "open", lambda *_: pytest.fail("a file was opened"))
    assert keys(files, DigestMemory(tmp_path / "digests.db")) == before


def test_a_file_written_a_moment_ago_is_not_remembered(tmp_path: Path) -> None:
    memory = DigestMemory(tmp_path / "digests.db")
    (tmp_path / "a").write_bytes(b"one")
    keys([tmp_path / "a"], memory)
    assert memory._fresh == {}


@pytest.mark.parametrize("damage", [b"no database", b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_damaged_memory_is_made_again(files: list[Path], tmp_path: Path, damage: bytes) -> None:
    before = keys(files, DigestMemory(tmp_path / "digests.db"))
    (tmp_path / "digests.db").write_bytes(damage)
    assert keys(files, DigestMemory(tmp_path / "digests.db")) == before
    keys(files, DigestMemory(tmp_path / "digests.db"))
    assert (tmp_path / "digests.db").read_bytes()[:15] == b"SQLite format 3"


def test_without_a_place_for_it_nothing_is_remembered(files: list[Path], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert keys(files, DigestMemory(tmp_path / "file" / "digests.db")) == keys(files, DigestMemory(tmp_path / "x.db"))


def test_an_unreadable_file_has_a_key_that_is_not_kept(tmp_path: Path) -> None:
    memory = DigestMemory(tmp_path / "digests.db")
    before = keys([tmp_path / "later"], memory)
    (tmp_path / "later").write_bytes(b"here")
    assert keys([tmp_path / "later"], memory) != before
