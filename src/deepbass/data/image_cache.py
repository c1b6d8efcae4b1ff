"""Decode image files once: keep their pixels on disk, and take them from there while the files stay as they are.

For every folder (or table) and settings there are two files in the cache, the pixels and the facts about them. Both
names end in a digest of all that decides the pixels; the facts come last, so they vouch for the pixels.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock, Timeout

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.core.foreign import decoding
from deepbass.data.decode import Decoded, Pixels, decode, in_memory
from deepbass.data.image_state import settle, state_of
from deepbass.data.images import need_pillow, rules
from deepbass.data.pixel_file import map_pixels, write_pixels
from deepbass.data.progress_bars import waiting
from deepbass.files import CACHE, cache_folder

SWITCH = "DEEPBASS_IMAGE_CACHE"  # 0: decode images at every start, and keep nothing
FORMAT = 2  # to be raised when decoding or what is kept of it changes
UNUSED = 30 * 24 * 3600.0  # seconds until what nobody reads makes room

# what may be deleted: the cache might have been put into a folder that has other things in it
_OURS = re.compile(r"[0-9a-f]{32}-[0-9a-z_]+\.(npy|json|tmp)")


@dataclass(frozen=True)
class _Entry:
    """Where the decoded images of a folder are kept."""

    cache: Path
    key: str  # of the folder and the settings: a newer entry of the same key replaces an older one
    digest: str  # of the files, and of all else that decides what comes out

    @property
    def pixels(self) -> Path:
        return self.cache / f"{self.key}-{self.digest}.npy"

    @property
    def facts(self) -> Path:
        return self.cache / f"{self.key}-{self.digest}.json"

    @property
    def lock(self) -> Path:
        return self.cache / f"{self.key}.lock"


def read_images(
    place: Path, names: Sequence[str], paths: Sequence[Path], config: Config, *, progress: bool = False
) -> Decoded:
    """Decode images, or open what an earlier start decoded from the same files with the same settings.

    ``place`` is the folder or table that lists them, resolved; ``names`` are the files' names in there.
    """
    need_pillow()
    if os.environ.get(SWITCH) == "0":
        return decode(paths, config, in_memory, progress)
    state = state_of(names, paths)
    entry = _Entry(
        cache_folder() / "images",
        _digest(str(place), config.image_size, config.colour),
        _digest(FORMAT, rules(), state.digest),
    )
    found = _open(entry, len(paths))
    if found is not None:
        return found
    try:
        entry.cache.mkdir(parents=True, exist_ok=True)
        with _locked(entry.lock, progress):
            found = _open(entry, len(paths))  # another process may have been at it
            if found is not None:
                return found
            _make_room(entry)
            settle(state)
            return _build(entry, place, paths, config, progress)
    except OSError as error:
        note = (
            f"the decoded images cannot be kept in {entry.cache} ({error.strerror or error}), so they are in memory "
            f"and will be decoded again next time: set {CACHE} to a folder that has room and may be written, or do "
            f"without ({SWITCH}=0)"
        )
        return replace(decode(paths, config, in_memory, progress), notes=(note,))


def _digest(*things: object) -> str:
    return hashlib.sha256(ascii(things).encode()).hexdigest()[:32]


def _open(entry: _Entry, files: int) -> Decoded | None:
    """Map what is in the cache; None if it is not there, or not whole."""
    try:
        with decoding(entry.facts, "note of decoded images", "They are decoded again.", DataError):
            facts = json.loads(entry.facts.read_text(encoding="ascii"))
            count, channels, height, width = shape = tuple(facts["shape"])
            failed = {int(i): str(reason) for i, reason in facts["failed"].items()}
            if facts["digest"] != _digest(shape, failed) or count + len(failed) != files:
                return None
            decoded = Decoded(map_pixels(entry.pixels, (count, channels, height, width)), failed)
    except DataError:
        return None
    for path in (entry.pixels, entry.facts):
        with suppress(OSError):  # a cache that is read-only cannot note when it was used
            os.utime(path)
    return decoded


def _build(entry: _Entry, place: Path, paths: Sequence[Path], config: Config, progress: bool) -> Decoded:
    """Decode into a folder aside, move the pixels to their place when they are whole, and vouch for them at last."""
    with tempfile.TemporaryDirectory(
        prefix=f"{entry.key}-", suffix=".tmp", dir=entry.cache, ignore_cleanup_errors=True
    ) as aside:

        def gather(images: Iterable[Pixels], most: int, shape: tuple[int, int, int]) -> Pixels:
            path = Path(aside, f"{shape[0]}.npy")  # decoding may gather twice: three channels, then the one of them
            return map_pixels(path, write_pixels(path, images, most, shape))

        decoded = decode(paths, config, gather, progress)
        if not (decoded.lasting and len(decoded.pixels)):
            return decoded  # to be decoded again next time; until then its map lives on without a name
        shape, failed = decoded.pixels.shape, decoded.failed
        del decoded  # Windows does not move what is mapped
        _move(Path(aside, f"{shape[1]}.npy"), entry.pixels)

    facts = entry.cache / f"{entry.key}-facts.tmp"
    try:
        with facts.open("w", encoding="ascii") as file:
            noted = {"place": str(place), "shape": shape, "failed": failed, "digest": _digest(shape, failed)}
            json.dump(noted, file)
            file.flush()
            os.fsync(file.fileno())
        _move(facts, entry.facts)
    finally:
        facts.unlink(missing_ok=True)
    kept = _open(entry, len(paths))
    if kept is None:
        raise OSError("they were removed at once")
    return kept


def _move(path: Path, to: Path) -> None:
    """Give a whole file its name, for the eyes of its owner only: the images may be, too."""
    path.chmod(0o600)
    path.replace(to)


def _make_room(entry: _Entry) -> None:
    """Remove what the same folder had before, what killed builds left of it, and what nobody has read for long.

    Whoever still has such a file mapped keeps it until the end.
    """
    long_ago = time.time() - UNUSED
    for path in entry.cache.iterdir():
        with suppress(OSError):  # gone already, or held by Windows
            if not _OURS.fullmatch(path.name):
                continue
            if not path.name.startswith(entry.key) and path.stat().st_mtime > long_ago:
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


@contextmanager
def _locked(path: Path, progress: bool) -> Iterator[None]:
    """Let one process at a time decode a folder, and the others wait for it; the lock dies with its process."""
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        with waiting("Another process is decoding these images", progress):
            lock.acquire()
    try:
        yield
    finally:
        lock.release()
