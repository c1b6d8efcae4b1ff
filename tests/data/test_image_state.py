"""Laws of the state of files: any change shows, and nothing else does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from deepbass.data.image_state import COARSE_TICK, FINE_TICK, SECOND, FilesState, settle, state_of

NAMES = ["a.png", "b.png", "c.png"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / name).write_bytes(b"pixels")
    (tmp_path / "link.png").symlink_to("a.png")
    (tmp_path / "twin.png").hardlink_to(tmp_path / "a.png")  # of the same size and times
    settle(state(tmp_path))
    return tmp_path


def state(folder: Path, names: list[str] | None = None) -> FilesState:
    names = names or [*NAMES, "link.png"]
    return state_of(names, [folder / name for name in names])


def in_disguise(folder: Path) -> None:
    """Change a file's content, but neither its size nor its date."""
    stat = (folder / "b.png").stat()
    (folder / "b.png").write_bytes(b"PIXELS")
    os.utime(folder / "b.png", ns=(stat.st_atime_ns, stat.st_mtime_ns))


def swap(folder: Path) -> None:
    (folder / "a.png").rename(folder / "x")
    (folder / "b.png").rename(folder / "a.png")
    (folder / "x").rename(folder / "b.png")


def turn_the_link(folder: Path) -> None:
    (folder / "link.png").unlink()
    (folder / "link.png").symlink_to("twin.png")


CHANGES: list[Callable[[Path], object]] = [
    in_disguise,
    swap,
    turn_the_link,
    lambda folder: (folder / "c.png").write_bytes(b"more pixels"),
    lambda folder: (folder / "c.png").write_bytes(b"pixels"),
    lambda folder: (folder / "c.png").unlink(),
    lambda folder: (folder / "c.png").touch(),
    lambda folder: (folder / "c.png").chmod(0),
]


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_to_a_file_shows(change: Callable[[Path], object], folder: Path) -> None:
    before = state(folder)
    assert state(folder) == before
    change(folder)
    assert state(folder).digest != before.digest


def test_names_and_their_order_show(folder: Path) -> None:
    lists = [NAMES, NAMES[:2], NAMES[::-1], [*NAMES, "link.png"]]
    assert len({state(folder, names).digest for names in lists}) == len(lists)
    same = [folder / "a.png"]
    assert state_of(["a.png"], same).digest != state_of(["b.png"], same).digest


def test_names_that_are_no_text_and_files_that_are_gone_have_a_state(folder: Path) -> None:
    name = os.fsdecode(b"\xff.png")
    assert state(folder, [name]).digest != state(folder, ["gone.png"]).digest
    (folder / "ring.png").symlink_to("ring.png")
    state(folder, ["ring.png"])


def test_after_settling_even_the_next_write_shows(folder: Path) -> None:
    path = folder / "a.png"
    for i in range(10):
        path.write_bytes(b"pixels")
        before = state(folder)
        settle(before)
        path.write_bytes(b"PIXELS" if i % 2 else b"pixels")  # at once, and of the same size
        assert state(folder) != before


@pytest.mark.parametrize(
    ("age", "whole_second", "longest"),
    [
        (0, False, FINE_TICK),
        (COARSE_TICK, False, 0),
        (-3600 * SECOND, False, FINE_TICK),  # a date in the future
        (0, True, COARSE_TICK),  # a file system that counts seconds only
        (2 * COARSE_TICK, True, 0),
    ],
)
def test_settling_takes_a_tick_at_most(
    age: int, whole_second: bool, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    newest = time.time_ns() - age
    settle(FilesState("", newest // SECOND * SECOND if whole_second else newest | 1))
    assert len(slept) == bool(longest)
    assert sum(slept) * SECOND <= longest
