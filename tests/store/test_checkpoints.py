"""A checkpoint is whole or it is noticed; the one before it is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbass.core.errors import StoreError
from deepbass.store import Checkpoints
from deepbass.store.names import CHECKPOINT_FILE, CHECKPOINTS_FOLDER, MODEL_FILE

FILES = {MODEL_FILE: bytes(range(256)), "labels.npy": b"", "x.json": b"{}"}
INFO = {"ended": None, "threshold": 0.1 + 0.2, "names": ["ä", "b"]}


def saved(folder: Path, *iterations: int, keep: int = 2) -> Checkpoints:
    checkpoints = Checkpoints(folder, keep)
    for iteration in iterations:
        checkpoints.save(iteration, FILES, INFO)
    return checkpoints


def damage(checkpoints: Checkpoints, iteration: int) -> None:
    file = checkpoints.folder / f"{iteration:06d}" / MODEL_FILE
    file.write_bytes(file.read_bytes()[:-1])


def test_some_files_can_be_read_without_the_others(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(3, {"a": b"one", "b": b"two"}, {"x": 1})
    (checkpoints.folder / "000003" / "b").write_bytes(b"damaged")
    found = checkpoints.load(3, only=("a", "c"))
    assert (found.files, found.info) == ({"a": b"one"}, {"x": 1})
    assert checkpoints.newest(only=("a",))[0].files == {"a": b"one"}
    (checkpoints.folder / "000003" / "a").write_bytes(b"own")
    with pytest.raises(StoreError, match="a was changed"):
        checkpoints.load(3, only=("a",))


def test_what_was_saved_is_what_loads(tmp_path: Path) -> None:
    loaded = saved(tmp_path / CHECKPOINTS_FOLDER, 3).load(3)
    assert (loaded.iteration, loaded.files, loaded.info) == (3, FILES, INFO)


def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 0, 1, 2, 10, 1_000_000, 1_000_001, keep=3)
    assert checkpoints.iterations() == [10, 1_000_000, 1_000_001]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["000010", "1000000", "1000001"]


@pytest.fixture(scope="module")
def checkpoints_1(tmp_path_factory: pytest.TempPathFactory) -> Checkpoints:
    return saved(tmp_path_factory.mktemp("checkpoints"), 1)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_any_flipped_bit_or_lost_tail_is_noticed(checkpoints_1: Checkpoints, data: st.DataObject) -> None:
    names = [CHECKPOINT_FILE, *(name for name, content in FILES.items() if content)]
    file = checkpoints_1.folder / "000001" / data.draw(st.sampled_from(names))
    whole = file.read_bytes()
    where = data.draw(st.integers(0, len(whole) - 1))
    flipped = bytes([whole[where] ^ data.draw(st.integers(1, 255))])
    file.write_bytes(whole[:where] + data.draw(st.sampled_from([flipped + whole[where + 1 :], b""])))
    try:
        with pytest.raises(StoreError, match="000001 is damaged"):
            checkpoints_1.load(1)
    finally:
        file.write_bytes(whole)
    assert checkpoints_1.load(1).files == FILES


@pytest.mark.parametrize("name", [CHECKPOINT_FILE, *FILES])
def test_any_missing_file_is_noticed(tmp_path: Path, name: str) -> None:
    checkpoints = saved(tmp_path, 1)
    (tmp_path / "000001" / name).unlink()
    with pytest.raises(StoreError, match=f"000001 is damaged: .*{name} is missing"):
        checkpoints.load(1)


def test_a_checkpoint_under_a_wrong_name_is_noticed(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 1)
    (tmp_path / "000001").rename(tmp_path / "000002")
    with pytest.raises(StoreError, match="damaged"):
        checkpoints.load(2)


def test_a_damaged_checkpoint_is_passed_over_aloud(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 4, 5)
    damage(checkpoints, 5)
    found, messages = checkpoints.newest({4, 5})
    assert found.iteration == 4
    assert len(messages) == 1
    assert "000005 is damaged: model.safetensors has 255 bytes instead of 256" in messages[0]


def test_a_checkpoint_without_a_committed_step_does_not_count(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 4, 5)
    assert checkpoints.newest({3, 4})[0].iteration == 4
    assert checkpoints.newest(None)[0].iteration == 5


def test_without_a_whole_checkpoint_there_is_nothing_to_go_on_from(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no checkpoint to go on from: start a new run"):
        Checkpoints(tmp_path / "none").newest(None)
    checkpoints = saved(tmp_path, 4, 5)
    damage(checkpoints, 4)
    damage(checkpoints, 5)
    with pytest.raises(StoreError, match=r"000005 is damaged.*000004 is damaged.*no checkpoint to go on from"):
        checkpoints.newest(None)


def test_the_forerunner_survives_when_damaged_iterations_are_done_again(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 8, 9, 10, keep=3)
    damage(checkpoints, 9)
    damage(checkpoints, 10)
    again = Checkpoints(tmp_path, keep=2)
    assert again.newest({8, 9, 10})[0].iteration == 8
    again.save(9, FILES, INFO)  # not committed yet: 8 is still what a resume needs
    assert again.iterations() == [8, 9]
    assert again.newest({8})[0].iteration == 8


def test_saving_an_iteration_again_replaces_it(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 1, 2)
    checkpoints.save(2, {"other": b"new"}, {})
    assert checkpoints.load(2).files == {"other": b"new"}
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["000001", "000002"]


@pytest.mark.parametrize("dies_at", [1, 2])
def test_dying_at_a_rename_never_loses_the_checkpoint_that_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies_at: int
) -> None:
    class DeadError(BaseException):
        pass

    renames = 0
    really_rename = Path.rename

    def rename(self: Path, target: Path) -> Path:
        nonlocal renames
        renames += 1
        if renames == dies_at:
            raise DeadError
        return really_rename(self, target)

    checkpoints = saved(tmp_path, 1, 2)
    with monkeypatch.context() as patch, pytest.raises(DeadError):
        patch.setattr(Path, "rename", rename)
        checkpoints.save(2, {"other": b"new"}, {})
    checkpoints.tidy()
    assert checkpoints.load(2).files == FILES
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["000001", "000002"]


def test_leftovers_of_a_killed_save_are_never_taken_for_a_checkpoint(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 1)
    leftover = tmp_path / f".000002.tmp-{os.getpid() + 1}"
    leftover.mkdir()
    (leftover / "model").write_bytes(b"half")
    assert checkpoints.iterations() == [1]
    checkpoints.tidy()
    assert not leftover.exists()


@pytest.mark.parametrize("name", ["../out", "a/b", "", ".", "..", "a\\b", "a\n", ".hidden", CHECKPOINT_FILE])
def test_files_have_plain_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="use a plain file name"):
        Checkpoints(tmp_path / CHECKPOINTS_FOLDER).save(1, {name: b""}, {})
    assert not (tmp_path / CHECKPOINTS_FOLDER).exists()


def test_one_checkpoint_is_too_few(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="keep = 1 is too small"):
        Checkpoints(tmp_path, keep=1)
