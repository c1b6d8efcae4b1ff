"""A run is a directory: made once, locked by one, readable by all, moved by copying."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from deepbass.core.errors import StoreError
from deepbass.core.labels import NO_ANSWERS, NO_IDS
from deepbass.store import FORMAT, RunDir
from deepbass.store.names import RUN_DB_FILE, RUN_FILE

CONFIG = {"seed": 1, "iterations": 20}
HOLD = """
import sys, time
from deepbass.store import RunDir
run = RunDir.open(sys.argv[1])
print("held", flush=True)
time.sleep(60)
"""


def make(path: Path) -> RunDir:
    return RunDir.create(path, config=CONFIG, data={"name": "toy"}, versions={"numpy": "2"})


def some_run(path: Path) -> Path:
    with make(path) as run:
        run.events.add_initial(np.array([3, 4]), np.array([0, 1]))
        run.checkpoints.save(0, {"model": b"weights"}, {"ended": None})
        run.events.commit_step(0, {"accuracy": 0.5}, {"train": 1.0}, NO_IDS, NO_ANSWERS, "simulated")
    return path


def test_what_was_created_is_what_opens(tmp_path: Path) -> None:
    with make(tmp_path / "deep" / "down") as made:
        about = made.about
        assert (about["format"], about["config"], about["data"]) == (FORMAT, CONFIG, {"name": "toy"})
    with RunDir.open(str(tmp_path / "deep" / "down")) as opened:
        assert opened.about == about


@pytest.mark.parametrize("name", ["with blank", "what?#%20", "ünï"])
def test_a_path_may_have_any_name(tmp_path: Path, name: str) -> None:
    with RunDir.open(some_run(tmp_path / name), lock=False) as run:
        assert len(run.events.steps()) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_copying_the_directory_moves_the_run(tmp_path: Path) -> None:
    original = some_run(tmp_path / "a")
    shutil.copytree(original, tmp_path / "b")
    shutil.rmtree(original)
    with RunDir.open(tmp_path / "b") as run:
        assert run.events.labels_now() == {3: 0, 4: 1}
        assert run.checkpoints.newest({0})[0].files == {"model": b"weights"}


def test_an_existing_run_is_never_overwritten(tmp_path: Path) -> None:
    path = some_run(tmp_path / "run")
    before = (path / RUN_FILE).read_bytes()
    with pytest.raises(StoreError, match=r"holds a run already: `deepbass resume .*run` goes on with it"):
        make(path)
    assert (path / RUN_FILE).read_bytes() == before


def test_nothing_is_made_where_something_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreError, match="is a file"):
        make(tmp_path / "file")
    with pytest.raises(StoreError, match=r"Cannot make .*file/run"):
        make(tmp_path / "file" / "run")
    with pytest.raises(StoreError, match="is not empty and holds no run"):
        make(tmp_path)
    assert (tmp_path / "file").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    make(tmp_path / "empty").close()


def test_what_json_cannot_hold_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        RunDir.create(tmp_path / "run", config={"path": tmp_path}, data={}, versions={})
    with pytest.raises(StoreError, match="keep = 1"):
        RunDir.create(tmp_path / "run", config={}, data={}, versions={}, keep=1)
    assert not (tmp_path / "run").exists()


def test_what_is_not_a_run_does_not_open_and_stays_untouched(tmp_path: Path) -> None:
    for lock in (True, False):
        with pytest.raises(StoreError, match="does not exist"):
            RunDir.open(tmp_path / "nowhere", lock=lock)
        with pytest.raises(StoreError, match="not a run, or one that was killed while being made"):
            RunDir.open(tmp_path, lock=lock)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "was changed or is damaged"),
        (b"\xff\x00", "was changed or is damaged"),
        (b"[1]", r"it = \[1\] is not an object"),
        (b"{}", "format is missing"),
        (b'{"format": 1}', "deepbass is missing"),
    ],
)
def test_a_tampered_run_json_is_noticed(tmp_path: Path, content: bytes, message: str) -> None:
    path = some_run(tmp_path / "run")
    (path / RUN_FILE).write_bytes(content)
    with pytest.raises(StoreError, match=message):
        RunDir.open(path)


def test_another_format_names_both_versions(tmp_path: Path) -> None:
    path = some_run(tmp_path / "run")
    about = json.loads((path / RUN_FILE).read_text())
    (path / RUN_FILE).write_text(json.dumps({**about, "format": 7, "deepbass": "9.9"}))
    with pytest.raises(StoreError, match=r"was made by deepbass 9\.9 \(format 7\), this is .* \(format 1\)"):
        RunDir.open(path, lock=False)


@pytest.mark.parametrize("content", [b"", b"not a database at all, but long enough to look like one" * 40])
def test_a_damaged_database_is_a_store_error_and_frees_the_lock(tmp_path: Path, content: bytes) -> None:
    path = some_run(tmp_path / "run")
    (path / RUN_DB_FILE).write_bytes(content)
    for _ in range(2):  # the second time would fail on the lock, were it still held
        with pytest.raises(StoreError, match=r"damaged"):
            RunDir.open(path)


def test_a_missing_database_is_a_store_error(tmp_path: Path) -> None:
    path = some_run(tmp_path / "run")
    (path / RUN_DB_FILE).unlink()
    for lock in (True, False):
        with pytest.raises(StoreError, match=r"Cannot open the database in .*run\.db"):
            RunDir.open(path, lock=lock)
    assert not (path / RUN_DB_FILE).exists()


def test_one_at_a_time_may_write_and_all_may_read(tmp_path: Path) -> None:
    path = some_run(tmp_path / "run")
    with RunDir.open(path) as writer:
        with pytest.raises(StoreError, match=rf"in use by process {os.getpid()} on .* since 20"):
            RunDir.open(path)
        with RunDir.open(path, lock=False) as reader:
            writer.events.commit_step(1, {}, {}, NO_IDS, NO_ANSWERS, "simulated")
            assert [step.iteration for step in reader.events.steps()] == [0, 1]
            with pytest.raises(StoreError, match="readonly"):
                reader.events.rewind(0)
    RunDir.open(path).close()


def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    path = some_run(tmp_path / "run")
    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match=f"in use by process {holder.pid} "):
            RunDir.open(path)
        RunDir.open(path, lock=False).close()
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        RunDir.open(path).close()


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """Make a folder that other users can look into, unlike tmp_path."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    for place in (folder, *folder.rglob("*")):
        place.chmod(0o755)
    shutil.rmtree(folder)


def _as_reader_of_a_read_only_place(path: Path, code: str) -> str:
    """Run code as a user without rights on ``path``; root is never refused, so it becomes nobody first."""
    for place in (*path.rglob("*"), path):
        place.chmod(0o555 if place.is_dir() else 0o444)
    # what is imported on first use is imported before: nobody may not read a Python below /root
    start = "import os, sys, urllib.parse; from deepbass.store import RunDir\nif os.getuid() == 0: os.setuid(65534)\n"
    done = subprocess.run([sys.executable, "-c", start + code, path], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


READ_STEPS = "with RunDir.open(sys.argv[1], lock=False) as run: print(len(run.events.steps()), 'steps')"


def test_a_run_on_a_read_only_disk_can_be_read_but_not_locked(public_folder: Path) -> None:
    path = some_run(public_folder / "run")
    assert _as_reader_of_a_read_only_place(path, READ_STEPS) == "1 steps\n"
    assert "StoreError: Cannot lock" in _as_reader_of_a_read_only_place(path, "RunDir.open(sys.argv[1])")
    make_inside = "RunDir.create(sys.argv[1] + '/new', config={}, data={}, versions={})"
    assert "StoreError: Cannot make" in _as_reader_of_a_read_only_place(path, make_inside)


def test_a_read_only_copy_never_shows_less_than_was_committed(public_folder: Path) -> None:
    with make(public_folder / "run") as run:
        run.events.commit_step(0, {}, {}, NO_IDS, NO_ANSWERS, "simulated")
        shutil.copytree(run.path, public_folder / "copy")
    (public_folder / "copy" / "run.db-shm").unlink()  # with it SQLite reads the -wal file; without it cannot
    assert "StoreError: Cannot open" in _as_reader_of_a_read_only_place(public_folder / "copy", READ_STEPS)
