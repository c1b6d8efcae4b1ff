"""Laws of the image cache among processes: killed at any moment, several at once, or short of room."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from deepbass.core.config import Config
from deepbass.data.decode import decode, in_memory
from deepbass.data.image_cache import read_images
from tests.data.pictures import mixed_folder

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no kill -9 and no limits here"),
    pytest.mark.usefixtures("image_cache"),
]

PRELUDE = """
import hashlib, os, resource, signal, sys
from pathlib import Path
import PIL.Image
from deepbass.core.config import Config
from deepbass.data.image_cache import read_images

PIL.Image.init()
folder, cache = Path(sys.argv[1]), sys.argv[2]
paths = sorted(folder.rglob("*.*"))
names = [path.relative_to(folder).as_posix() for path in paths]
"""

READ = """
opened = 0

def count(event, arguments):
    global opened
    opened += event == "open" and str(folder) in str(arguments[0])

sys.addaudithook(count)
limit = int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
decoded = read_images(folder, names, paths, Config())
print(hashlib.sha256(decoded.pixels.tobytes()).hexdigest(), decoded.failed, decoded.notes, opened, sep="\\n")
"""

# reads into a new cache again and again, killed a moment later each time, until it comes to the end
KILL = """
def read(last):
    seen = 0

    def count(event, arguments):  # whatever changes the cache, and every image that is opened, is a moment
        nonlocal seen
        path = str(arguments[0]) if arguments else ""
        reads = event in ("os.listdir", "os.mkdir", "os.utime") or (event == "open" and arguments[1] != "w")
        if str(folder) in path or (cache in path and not reads):
            seen += 1
            if seen == last:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    os.environ["DEEPBASS_CACHE"] = f"{cache}/{last}"
    read_images(folder, names, paths, Config())
    os._exit(0)

last, code = 0, -signal.SIGKILL
while code == -signal.SIGKILL:
    last += 1
    child = os.fork() or read(last)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(code)
"""


def start(code: str, folder: Path, cache: Path, limit: int = -1) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", PRELUDE + code, str(folder), str(cache), str(limit)],
        env={**os.environ, "DEEPBASS_CACHE": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(child: subprocess.Popen[str]) -> list[str]:
    """Wait for what a child has to say."""
    said, complained = child.communicate(timeout=120)
    assert child.returncode == 0, complained
    return said.splitlines()


def assert_sound(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read with a cache as it was left, and check that its images are the folder's and that nothing else is in it."""
    monkeypatch.setenv("DEEPBASS_CACHE", str(cache))
    paths = sorted(folder.rglob("*.*"))
    names = [path.relative_to(folder).as_posix() for path in paths]
    decoded, plain = read_images(folder, names, paths, Config()), decode(paths, Config(), in_memory)
    np.testing.assert_array_equal(decoded.pixels, plain.pixels)
    assert (decoded.failed, decoded.notes) == (plain.failed, ())
    assert sorted(path.suffix for path in (cache / "images").iterdir()) == [".json", ".lock", ".npy"]


def test_killed_at_any_moment_it_is_never_taken_for_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = mixed_folder(tmp_path / "images", 20, 2)
    assert finish(start(KILL, folder, tmp_path / "caches")) == ["0"]
    caches = list((tmp_path / "caches").iterdir())
    assert len(caches) > 15
    assert sum(any(cache.glob("images/*.tmp")) for cache in caches) > 10
    assert sum(any(cache.glob("images/*.json")) for cache in caches) == 2  # killed after that, or not at all
    for cache in caches:
        assert_sound(folder, cache, monkeypatch)


def test_processes_that_start_together_all_get_the_images_and_one_decodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = mixed_folder(tmp_path / "images", 150, 80)
    children = [start(READ, folder, tmp_path / "cache") for _ in range(3)]
    said = [finish(child) for child in children]
    assert len({tuple(lines[:3]) for lines in said}) == 1
    assert said[0][2] == "()"
    assert sorted(int(lines[3]) > 0 for lines in said) == [False, False, True]
    assert_sound(folder, tmp_path / "cache", monkeypatch)


def test_a_full_disk_is_noted_and_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = mixed_folder(tmp_path / "images", 20, 30)
    whole = finish(start(READ, folder, tmp_path / "roomy"))
    short = finish(start(READ, folder, tmp_path / "short", limit=10_000))  # bytes a file, fewer than the pixels take
    assert short[:2] == whole[:2]
    assert whole[2] == "()"
    assert "cannot be kept in" in short[2]
    assert "File too large" in short[2]
    assert [path.suffix for path in (tmp_path / "short" / "images").iterdir()] == [".lock"]
    assert_sound(folder, tmp_path / "short", monkeypatch)
