"""A disk that takes no more stops a run with a word on what is safe and what helps, and nothing else is needed."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from deepbass.core.errors import StoreError
from deepbass.core.labels import NO_ANSWERS, NO_IDS
from deepbass.store import Events, RunDir
from deepbass.store.names import RUN_DB_FILE

SAFE = r"Everything up to iteration 0 is safe: {advice}, then `deepbass resume .*run`\."
ROOM = "make room"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    with RunDir.create(path, config={}, data={}, versions={}) as run:
        run.checkpoints.save(0, {"model": b"zero"}, {})
        run.events.commit_step(0, {}, {}, NO_IDS, NO_ANSWERS, "simulated")
    return path


def check_it_goes_on(path: Path) -> None:
    with RunDir.open(path) as run:
        assert [entry.name for entry in run.checkpoints.folder.iterdir()] == ["000000"]
        assert run.checkpoints.newest({0})[0].files == {"model": b"zero"}
        run.checkpoints.save(1, {"model": b"one"}, {})
        run.events.commit_step(1, {}, {}, NO_IDS, NO_ANSWERS, "simulated")
        assert [row.iteration for row in run.events.steps()] == [0, 1]


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, ROOM),
        (errno.EDQUOT, "delete files of yours, or have your quota raised"),
        (errno.EROFS, "mount the disk for writing, or choose another place"),
        (errno.EACCES, "check that you may write there, or choose another place"),
        (errno.EIO, "check the disk: it reports a fault"),
        (errno.ETXTBSY, "check the disk, and that you may write there"),
    ],
)
@pytest.mark.parametrize(("owner", "call"), [(os, "fsync"), (Path, "rename")])
def test_a_checkpoint_that_does_not_fit_leaves_the_one_before(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int, advice: str, owner: object, call: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with RunDir.open(path) as run:
        with (
            monkeypatch.context() as patch,
            pytest.raises(StoreError, match=f"{os.strerror(number)} .* MB free.*{SAFE.format(advice=advice)}"),
        ):
            patch.setattr(owner, call, fail)
            run.checkpoints.save(1, {"model": b"one"}, {})
        assert not list(run.checkpoints.folder.glob(".*"))
    check_it_goes_on(path)


LIMIT_FILE_SIZE = """
import resource, sys
from deepbass.store import RunDir
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
"""
BIG_CHECKPOINT = "run.checkpoints.save(1, {'model': bytes(10_000_000)}, {})"
BIG_STEP = "run.events.describe(1, 'x' * 10_000_000, None)"


@pytest.mark.parametrize("write", [BIG_CHECKPOINT, BIG_STEP])
def test_a_real_limit_of_the_system_is_a_store_error(path: Path, write: str) -> None:
    code = f"{LIMIT_FILE_SIZE}\nwith RunDir.open(sys.argv[1]) as run: {write}"
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
    assert "WriteError: Cannot write" in done.stderr
    assert "Everything up to iteration 0 is safe" in done.stderr
    check_it_goes_on(path)


def test_a_full_database_is_a_store_error_and_keeps_what_it_has(path: Path) -> None:
    with RunDir.open(path) as run:
        run.events._db.execute("PRAGMA max_page_count = 1")  # SQLite raises it to what is in use: full from now on
        with pytest.raises(
            StoreError, match=rf"Cannot write .* in .*run: .*full \(.* MB free\)\. {SAFE.format(advice=ROOM)}"
        ):
            run.events.describe(1, "x" * 1_000_000, None)
        assert len(run.events.steps()) == 1
    check_it_goes_on(path)


def test_a_database_that_became_read_only_asks_for_no_room(path: Path) -> None:
    with RunDir.open(path) as run:
        run.events._db.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreError, match=r"safe: check that you may write there.*, then `deepbass resume") as told:
            run.events.describe(1, "x", None)
        assert "room" not in str(told.value)
    check_it_goes_on(path)


def test_a_disk_that_is_full_at_the_start_says_to_start_again(tmp_path: Path) -> None:
    events = Events(tmp_path / RUN_DB_FILE, "rwc")
    events._db.execute("PRAGMA max_page_count = 1")
    with pytest.raises(StoreError, match=r"No iteration was saved yet: make room, then `deepbass resume"):
        events.describe(1, "x" * 1_000_000, None)
    events.close()


def test_a_run_that_cannot_be_made_is_known_to_be_half_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch, pytest.raises(StoreError, match=r"Cannot make the run .* No space left"):
        patch.setattr(os, "fsync", fail)
        RunDir.create(tmp_path / "run", config={}, data={}, versions={})
    with pytest.raises(StoreError, match="killed while being made"):
        RunDir.open(tmp_path / "run")
    with pytest.raises(StoreError, match="killed while being made, delete it"):
        RunDir.create(tmp_path / "run", config={}, data={}, versions={})
