"""Laws of the feature cache: nothing is computed twice, nothing damaged is used, nothing is in the way."""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepbass.core.errors import DataError
from deepbass.core.raw_samples import Kind
from deepbass.features.feature_array import FeatureArray
from deepbass.features.feature_cache import UNUSED
from deepbass.features.segment import Segment, fits_half
from tests.features.found import Found
from tests.features.lengths import Lengths

TEXTS = ["a" * length for length in range(1, 24)]


def computed(samples: Found, extractor: Lengths, folder: Path | None, **how: Any) -> FeatureArray:
    array = FeatureArray(samples, extractor, folder)
    array.compute(**how)
    return array


def lengths(samples: Found) -> list[int]:
    return [len(text) for text in samples.samples]


def test_rows_are_read_as_float32_by_any_index(cache: Path) -> None:
    samples = Found("text", TEXTS)
    array = computed(samples, Lengths(), cache)
    assert array.shape == (23, 4)
    assert array[:].dtype == np.float32
    assert array[:][:, 0].tolist() == lengths(samples)
    assert array[5].tolist() == [6.0] * 4
    assert array[np.array([7, 0, 7])][:, 1].tolist() == [8, 1, 8]
    assert array[np.arange(23) > 20][:, 0].tolist() == [22, 23]


def test_nothing_is_computed_twice(cache: Path) -> None:
    computed(Found("text", TEXTS), Lengths(), cache)
    again = Lengths()
    samples = Found("text", TEXTS)
    array = computed(samples, again, cache)
    assert again.computed == []
    assert samples.read_rows == []
    assert array[:][:, 0].tolist() == lengths(samples)


@pytest.mark.parametrize("kind", ["image", "text"])
def test_what_another_has_computed_just_before_is_taken_up(cache: Path, kind: Kind) -> None:
    samples, late = Found(kind, TEXTS), Lengths()

    def before_the_lock_is_taken(done: int, total: int) -> None:
        if not done:
            computed(Found(kind, TEXTS), Lengths(), cache)

    array = computed(samples, late, cache, progress=before_the_lock_is_taken)
    assert late.computed == []
    assert array[:][:, 0].tolist() == lengths(samples)


def test_only_new_and_changed_samples_are_computed(cache: Path) -> None:
    computed(Found("text", TEXTS), Lengths(), cache)
    again = Lengths()
    samples = Found("text", ["new", *TEXTS[5:], "b" * 50, "b" * 50])
    array = computed(samples, again, cache)
    assert again.computed == ["new", "b" * 50]
    assert array[:][:, 0].tolist() == lengths(samples)


def test_another_extractor_has_its_own_features(cache: Path) -> None:
    computed(Found("text", TEXTS), Lengths(), cache)
    other = Lengths("lengths 2")
    computed(Found("text", TEXTS), other, cache)
    assert len(other.computed) == len(TEXTS)


def test_what_is_wanted_first_is_computed_first_and_the_rest_later(cache: Path) -> None:
    extractor, told = Lengths(), []
    array = computed(Found("text", TEXTS), extractor, cache, rows=[20, 3], progress=lambda *at: told.append(at))
    assert extractor.computed == [TEXTS[20], TEXTS[3]]
    assert np.flatnonzero(array.ready).tolist() == [3, 20]
    assert told == [(0, 2), (2, 2)]
    with pytest.raises(DataError, match="sample-4: they are not computed yet"):
        array[4]
    array.compute()
    assert array.ready.all()


def test_unreadable_samples_are_named_skipped_and_counted(cache: Path) -> None:
    told = []
    samples = Found("text", ["one", None, "three", *TEXTS])
    array = computed(samples, Lengths(), cache, progress=lambda *at: told.append(at))
    assert array.failed == {1: "cut off"}
    assert told[-1] == (26, 26)
    assert array[[0, 2]][:, 0].tolist() == [3, 5]
    with pytest.raises(DataError, match="no features of sample-1: cut off"):
        array[[0, 1]]


def test_a_sample_that_changes_after_the_start_is_not_kept_as_what_it_was(cache: Path) -> None:
    samples = Found("text", TEXTS)
    array = FeatureArray(samples, Lengths(), cache)
    samples.samples[3] = "changed"
    array.compute()
    assert array.failed == {3: "it was changed after the start"}
    again = Lengths()
    assert computed(samples, again, cache)[3].tolist() == [7.0] * 4
    assert again.computed == ["changed"]


@pytest.mark.parametrize("place", ["rows", "index"])
def test_damaged_files_are_computed_again(cache: Path, place: str) -> None:
    computed(Found("text", TEXTS), Lengths(), cache)
    (path,) = cache.glob(f"*.{place}")
    content = bytearray(path.read_bytes())
    for at in (len(content) - 3, len(content) // 2):
        content[at] ^= 1
    path.write_bytes(content)
    again, samples = Lengths(), Found("text", TEXTS)
    array = computed(samples, again, cache)
    assert 0 < len(again.computed) < len(TEXTS)
    assert array[:][:, 0].tolist() == lengths(samples)
    third = Lengths()
    assert computed(samples, third, cache)[:][:, 0].tolist() == lengths(samples)
    assert third.computed == []


@pytest.mark.parametrize("place", ["rows", "index"])
@pytest.mark.parametrize("left", [0, 1, 70, -1])
def test_files_cut_off_anywhere_are_gone_on_with(cache: Path, place: str, left: int) -> None:
    computed(Found("text", TEXTS), Lengths(), cache)
    (path,) = cache.glob(f"*.{place}")
    path.write_bytes(path.read_bytes()[:left])
    samples = Found("text", TEXTS)
    assert computed(samples, Lengths(), cache)[:][:, 0].tolist() == lengths(samples)
    third = Lengths()
    computed(samples, third, cache)
    assert third.computed == []


def test_foreign_files_are_not_trusted(cache: Path) -> None:
    computed(Found("text", TEXTS), Lengths(), cache)
    for path in cache.glob("*.index"):
        path.write_bytes(path.read_bytes().replace(b"lengths 1", b"lengths X"))
    again = Lengths()
    computed(Found("text", TEXTS), again, cache)
    assert len(again.computed) == len(TEXTS)


def test_a_full_disk_means_memory_and_a_note(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append, times = Segment.append, []

    def full(self: Segment, *what: Any) -> int:
        times.append(what)
        if len(times) > 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return append(self, *what)

    monkeypatch.setattr(Segment, "append", full)
    samples = Found("text", TEXTS)
    array = computed(samples, Lengths(), cache)
    assert array[:][:, 0].tolist() == lengths(samples)
    assert len(array.notes) == 1
    assert "No space left on device" in array.notes[0]
    again = Lengths()
    computed(samples, again, cache)
    assert len(again.computed) == len(TEXTS) - 8  # two blocks were written


def test_a_cache_that_cannot_be_made_means_memory_and_a_note(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    samples = Found("text", TEXTS)
    array = computed(samples, Lengths(), tmp_path / "file" / "features")
    assert array[:][:, 0].tolist() == lengths(samples)
    assert "in memory" in array.notes[0]


def test_without_a_folder_nothing_is_kept_and_nothing_said() -> None:
    samples = Found("text", TEXTS)
    array = computed(samples, Lengths(), None)
    assert array[:][:, 0].tolist() == lengths(samples)
    assert array.notes == []


def test_an_emptied_cache_takes_nothing_from_who_reads_or_writes(cache: Path) -> None:
    samples = Found("text", TEXTS)
    array = FeatureArray(samples, Lengths(), cache)
    array.compute(range(8))
    for path in cache.iterdir():
        path.unlink()
    array.compute()
    assert array[:][:, 0].tolist() == lengths(samples)


def test_only_the_owner_may_read_the_files(cache: Path) -> None:
    computed(Found("text", TEXTS), Lengths(), cache)
    assert {stat.S_IMODE(path.stat().st_mode) for path in cache.iterdir()} == {0o600}


def test_what_nobody_reads_makes_room(cache: Path) -> None:
    computed(Found("text", TEXTS), Lengths("old"), cache)
    computed(Found("text", TEXTS), Lengths("in use"), cache)
    long_ago = time.time() - UNUSED - 60
    for path in [*cache.iterdir(), _touched(cache / "notes.txt")]:
        os.utime(path, (long_ago, long_ago))
    computed(Found("text", [*TEXTS, "one more"]), Lengths("in use"), cache)
    again, kept = Lengths("old"), Lengths("in use")
    computed(Found("text", TEXTS), kept, cache)
    computed(Found("text", TEXTS), again, cache)
    assert kept.computed == []
    assert len(again.computed) == len(TEXTS)
    assert (cache / "notes.txt").exists()


def test_samples_that_nobody_reads_make_room_also_if_others_are_read_with_the_same_extractor(cache: Path) -> None:
    gone, read = Found("text", ["b" * length for length in range(100, 200)]), Found("text", TEXTS)
    computed(gone, Lengths(), cache)
    computed(read, Lengths(), cache)
    long_ago = time.time() - UNUSED - 60
    for path in cache.iterdir():
        os.utime(path, (long_ago, long_ago))
    before = sum(path.stat().st_size for path in cache.glob("*.rows"))
    computed(Found("text", [*TEXTS, "one more"]), Lengths(), cache)
    assert sum(path.stat().st_size for path in cache.glob("*.rows")) == before - (100 - 1) * 4 * 2
    again = Lengths()
    computed(read, again, cache)
    assert again.computed == []


def _touched(path: Path) -> Path:
    path.write_text("not ours")
    return path


def test_halves_are_used_only_where_they_lose_nothing() -> None:
    rng = np.random.default_rng(0)
    usual = rng.normal(size=(64, 8)).astype(np.float32)
    assert fits_half(usual)
    assert not fits_half(usual * 1e5)
    assert not fits_half(usual * 1e-7)
    assert not fits_half(usual * np.array([1, 1, 1e-7, 1, 1, 1, 1, 1], dtype=np.float32))
    assert fits_half(np.zeros((3, 2), dtype=np.float32))


def test_large_numbers_are_kept_exactly(cache: Path) -> None:
    samples = Found("text", ["x" * 70_000, "y" * 70_001, "z"])
    computed(samples, Lengths(), cache)
    assert computed(samples, Lengths(), cache)[:][:, 0].tolist() == [70_000, 70_001, 1]
