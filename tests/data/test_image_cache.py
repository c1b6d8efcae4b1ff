"""Laws of the image cache: it is never wrong, never in the way, and no image is decoded twice."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from deepbass.core.config import Config
from deepbass.data import load
from deepbass.data.decode import Decoded, decode, in_memory
from deepbass.data.image_cache import UNUSED, read_images
from tests.data.pictures import cut, mixed_folder, save_noise


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return mixed_folder(tmp_path / "images", 20, 8)


def names_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*"))


def read(folder: Path, config: Config | None = None) -> Decoded:
    names = names_of(folder)
    return read_images(folder, names, [folder / name for name in names], config or Config())


def afresh(folder: Path, config: Config | None = None) -> Decoded:
    """Decode without a cache."""
    return decode([folder / name for name in names_of(folder)], config or Config(), in_memory)


def assert_same(one: Decoded, other: Decoded) -> None:
    np.testing.assert_array_equal(one.pixels, other.pixels)
    assert one.failed == other.failed
    assert one.notes == other.notes


def kept(cache: Path) -> list[str]:
    """List the kinds of files in the cache."""
    return sorted(path.suffix for path in cache.iterdir())


@pytest.fixture
def no_image_opens(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Make from now on any attempt to open an image a failure."""

    def refuse(path: Path, **_: object) -> None:
        raise AssertionError(f"{path} was opened")

    return lambda: monkeypatch.setattr(Image, "open", refuse)


CONFIGS = [
    Config(),
    Config(image_size=10),
    Config(colour="grey"),
    Config(colour="colour", image_size=70),
]


@pytest.mark.parametrize("config", CONFIGS)
def test_cold_and_warm_are_as_without_a_cache_and_warm_opens_no_image(
    config: Config, folder: Path, image_cache: Path, no_image_opens: Callable[[], None]
) -> None:
    plain = afresh(folder, config)
    cold = read(folder, config)
    no_image_opens()
    warm = read(folder, config)
    for decoded in (cold, warm):
        assert_same(decoded, plain)
        assert isinstance(decoded.pixels, np.memmap)
    assert len(plain.failed) == 4
    assert kept(image_cache) == [".json", ".lock", ".npy"]


def test_a_run_sees_no_difference(folder: Path, image_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cold, warm = load(str(folder), Config()), load(str(folder), Config())
    assert kept(image_cache)
    monkeypatch.setenv("DEEPBASS_IMAGE_CACHE", "0")
    off = load(str(folder), Config())
    for data in (cold, warm):
        for part, plain in ((data.pool, off.pool), (data.validation, off.validation)):
            ids = range(len(plain))
            np.testing.assert_array_equal(part.read(ids), plain.read(ids))
            assert [part.name(i) for i in ids] == [plain.name(i) for i in ids]
        assert (data.notes, data.classes, data.truth.tolist()) == (off.notes, off.classes, off.truth.tolist())
    assert "4 images skipped" in off.notes[0]


def test_it_can_be_turned_off(folder: Path, image_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPBASS_IMAGE_CACHE", "0")
    assert_same(read(folder), afresh(folder))
    assert not image_cache.exists()


def size_of(path: Path) -> tuple[int, int]:
    with Image.open(path) as image:
        return image.size


def replace_in_disguise(folder: Path) -> None:
    """Put another image of the same size and date in place of one."""
    path = folder / "a" / "002.bmp"
    stat = path.stat()
    save_noise(folder / "other.bmp", size_of(path), 99)
    assert (folder / "other.bmp").stat().st_size == stat.st_size
    (folder / "other.bmp").replace(path)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def mend(folder: Path) -> None:
    save_noise(folder / "b" / "text.png", (20, 20), 5)


CHANGES: dict[str, Callable[[Path], object]] = {
    "added": lambda folder: save_noise(folder / "a" / "new.png", (20, 20), 7),
    "removed": lambda folder: (folder / "a" / "002.bmp").unlink(),
    "renamed": lambda folder: (folder / "a" / "002.bmp").rename(folder / "b" / "zzz.bmp"),
    "rewritten": lambda folder: save_noise(folder / "a" / "002.bmp", (20, 24), 8),
    "broken": lambda folder: cut(folder / "a" / "000.png"),
    "mended": mend,
    "replaced in disguise": replace_in_disguise,
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_is_seen_and_the_old_cache_goes(change: str, folder: Path, image_cache: Path) -> None:
    read(folder)
    before = set(image_cache.glob("*.npy"))
    CHANGES[change](folder)
    assert_same(read(folder), afresh(folder))
    assert kept(image_cache) == [".json", ".lock", ".npy"]
    assert set(image_cache.glob("*.npy")) != before


def test_a_change_right_after_reading_is_seen(folder: Path, image_cache: Path) -> None:
    path = folder / "a" / "002.bmp"
    size = size_of(path)
    for seed in range(5):  # of the same size each time, and as quickly as can be
        save_noise(path, size, seed)
        assert_same(read(folder), afresh(folder))


def test_what_decides_besides_the_files_is_seen(
    folder: Path, image_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read(folder)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 460)
    limited = read(folder)
    assert "too many pixels" in limited.failed.values()
    assert_same(limited, afresh(folder))
    monkeypatch.undo()
    assert "too many pixels" not in whole.failed.values()


def test_every_folder_and_setting_has_its_own(
    folder: Path, tmp_path: Path, image_cache: Path, no_image_opens: Callable[[], None]
) -> None:
    other = mixed_folder(tmp_path / "other", 30, 5)
    wanted = [(place, config) for place in (folder, other) for config in CONFIGS]
    plain = [afresh(*want) for want in wanted]
    for want in wanted:
        read(*want)
    no_image_opens()
    for want, expected in zip(wanted, plain, strict=True):
        assert_same(read(*want), expected)


def test_a_new_label_in_a_table_decodes_nothing(
    folder: Path, image_cache: Path, no_image_opens: Callable[[], None]
) -> None:
    names = [name for name in names_of(folder) if name[2:5].isdigit()]
    table = folder / "table.csv"

    def write(label: str) -> None:
        table.write_text("\n".join(["path,label", *(f"{name},{name[0]}" for name in names[1:]), f"{names[0]},{label}"]))

    write("a")
    load(str(table), Config())
    no_image_opens()
    write("")
    data = load(str(table), Config())
    unknown = [data.pool.name(i) for i in range(len(data.pool)) if data.truth[i] == -1]
    assert unknown == [names[0]]


def rewrite(**changes: object) -> Callable[[Path], None]:
    def damage(cache: Path) -> None:
        facts = next(cache.glob("*.json"))
        facts.write_text(json.dumps({**json.loads(facts.read_text()), **changes}))

    return damage


def truncate(pattern: str, keep: int) -> Callable[[Path], None]:
    return lambda cache: os.truncate(next(cache.glob(pattern)), keep)


DAMAGES: list[Callable[[Path], object]] = [
    truncate("*.npy", 0),
    truncate("*.npy", 100),
    truncate("*.npy", 3000),
    truncate("*.npy", 10**6),
    truncate("*.json", 0),
    truncate("*.json", 40),
    lambda cache: next(cache.glob("*.npy")).unlink(),
    lambda cache: next(cache.glob("*.json")).unlink(),
    lambda cache: next(cache.glob("*.json")).write_text("[1, 2]"),
    lambda cache: next(cache.glob("*.json")).write_bytes(b"\xff\x00"),
    rewrite(shape=[8, 3, 20, 21]),
    rewrite(shape=[8, 3, 20]),
    rewrite(shape="none"),
    rewrite(shape=[-1, None, 2.5, 10**30]),
    rewrite(failed={}),
    rewrite(failed=[]),
    rewrite(failed={"x": "y"}),
    rewrite(failed={str(i): "far out" for i in range(100, 104)}),
    rewrite(failed={str(i): "not these" for i in range(4)}),  # as many as there are, so every label would be off
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_is_built_anew(damage: Callable[[Path], object], folder: Path, image_cache: Path) -> None:
    read(folder)
    damage(image_cache)
    assert_same(read(folder), afresh(folder))
    assert kept(image_cache) == [".json", ".lock", ".npy"]


def test_a_map_in_use_outlives_its_cache(folder: Path, image_cache: Path) -> None:
    plain, old = afresh(folder), read(folder)
    CHANGES["removed"](folder)
    read(folder)
    assert_same(old, plain)


def test_a_fault_of_the_system_is_not_remembered(
    folder: Path, image_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, whole_open = afresh(folder), Image.open

    def refuse(file: IO[bytes], **options: Any) -> Image.Image:
        if Path(file.name).name == "000.png":
            raise PermissionError(13, "Permission denied")
        return whole_open(file, **options)

    monkeypatch.setattr(Image, "open", refuse)
    assert read(folder).failed[0] == "cannot be read: Permission denied"
    np.testing.assert_array_equal(read(folder).pixels, plain.pixels[1:])
    monkeypatch.setattr(Image, "open", whole_open)
    assert_same(read(folder), plain)


def test_images_of_which_none_is_readable_leave_nothing(tmp_path: Path, image_cache: Path) -> None:
    (tmp_path / "a.png").write_text("no")
    save_noise(tmp_path / "b.png", (60, 60), 0)
    cut(tmp_path / "b.png")
    for _ in range(2):
        decoded = read_images(tmp_path, ["a", "b"], [tmp_path / "a.png", tmp_path / "b.png"], Config())
        assert decoded.failed == {0: "not an image", 1: "truncated"}
        assert len(decoded.pixels) == 0
    assert kept(image_cache) == [".lock"]


def test_only_the_owner_sees_the_pixels(folder: Path, image_cache: Path) -> None:
    read(folder)
    assert {path.stat().st_mode & 0o777 for path in image_cache.glob("*-*")} == {0o600}


def test_what_nobody_used_for_long_makes_room_and_nothing_else_does(
    folder: Path, tmp_path: Path, image_cache: Path
) -> None:
    stale, used = (mixed_folder(tmp_path / name, 20, 4) for name in ("stale", "used"))
    read(stale)
    stale_files = set(image_cache.glob("*-*"))
    read(used)
    long_ago = time.time() - UNUSED - 60
    foreign = [image_cache / name for name in ("holiday.npy", "notes.json", "0123456789abcdef-x.npy")]
    for path in foreign:
        path.write_text("not ours")
    for path in image_cache.iterdir():
        os.utime(path, (long_ago, long_ago))
    read(used)  # warm, and noted
    rest = set(image_cache.iterdir()) - stale_files
    read(folder)
    assert rest <= set(image_cache.iterdir())
    assert not stale_files & set(image_cache.iterdir())


def test_a_cache_that_cannot_be_made_is_noted_and_done_without(
    folder: Path, image_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image_cache.parent.joinpath("file").touch()
    monkeypatch.setenv("DEEPBASS_CACHE", str(image_cache.parent / "file"))
    decoded = read(folder)
    (note,) = decoded.notes
    assert "cannot be kept in" in note
    assert "Not a directory" in note
    assert "DEEPBASS_IMAGE_CACHE=0" in note
    assert_same(replace(decoded, notes=()), afresh(folder))
    assert note in load(str(folder), Config()).notes


def test_a_cache_that_cannot_be_written_is_still_read(
    folder: Path, image_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = afresh(folder)
    read(folder)

    def refuse(*_: object, **__: object) -> NDArray[np.uint8]:
        raise PermissionError(13, "Permission denied")

    for name in ("utime", "mkdir", "rename", "replace", "unlink"):
        monkeypatch.setattr(os, name, refuse)
    assert_same(read(folder), plain)
