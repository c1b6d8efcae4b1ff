"""A file or folder is there whole or not at all, whatever happens while it is written."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from deepbass.files import replace_file, whole_file, whole_folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_holds_the_new_content_after_the_block_and_the_old_until_then(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")
    with whole_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("there", [True, False])
def test_a_block_that_fails_leaves_what_was_there_and_nothing_beside_it(tmp_path: Path, there: bool) -> None:
    path, folder = tmp_path / "file", tmp_path / "folder"
    if there:
        replace_file(path, b"old")
        folder.mkdir()
        (folder / "old").touch()
    before = names(tmp_path)
    with pytest.raises(ZeroDivisionError), whole_file(path) as file:
        file.write(b"half of it")
        raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError), whole_folder(folder) as filled:
        (filled / "new").touch()
        raise ZeroDivisionError
    assert names(tmp_path) == before
    assert not there or (path.read_bytes(), names(folder)) == (b"old", ["old"])


@pytest.mark.parametrize(("owner", "call"), [(os, "fsync"), (Path, "replace")])
def test_a_full_disk_leaves_the_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, call: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "file"
    replace_file(path, b"old")
    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
        patch.setattr(owner, call, fail)
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_a_process_that_dies_while_it_writes_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")
    code = (
        "import os, pathlib, sys\nfrom deepbass.files import whole_file\n"
        "with whole_file(pathlib.Path(sys.argv[1])) as file:\n    file.write(b'half'); file.flush(); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == 9
    assert path.read_bytes() == b"old"


def test_writers_of_one_file_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = [bytes([number]) * 100_000 for number in range(8)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda content: replace_file(path, content), contents * 4))
    assert path.read_bytes() in contents
    assert names(tmp_path) == ["file"]


def test_a_file_for_its_owners_eyes_is_so_from_the_start(tmp_path: Path) -> None:
    with whole_file(tmp_path / "file", mode=0o600):
        (temporary,) = tmp_path.iterdir()
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_a_folder_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    for content in ("old", "new"):
        with whole_folder(tmp_path / "folder") as folder:
            (folder / content).touch()
        assert names(tmp_path / "folder") == [content]
    assert names(tmp_path) == ["folder"]
