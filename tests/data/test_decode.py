"""Laws of decoding side by side: as if one after the other, in bounds, and without a trace."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from deepbass.core.config import Config
from deepbass.data import decode as decode_module
from deepbass.data import parallel
from deepbass.data.decode import decode, in_memory
from deepbass.data.images import UnreadableError, draw, read_header
from tests.data.pictures import mixed_folder, save_noise


@pytest.fixture(autouse=True)
def eight_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use as many threads as it takes to mix things up, also on a small machine."""
    for module in (decode_module, parallel):
        monkeypatch.setattr(module, "usable_threads", lambda: 8)


def one_by_one(paths: list[Path], size: tuple[int, int], grey: bool) -> tuple[NDArray[np.uint8], dict[int, str]]:
    rows, failed = [], {}
    for i, path in enumerate(paths):
        try:
            read_header(path)
            rows.append(draw(path, size, grey))
        except UnreadableError as error:
            failed[i] = str(error)
    return np.stack(rows), failed


@pytest.mark.parametrize(("side", "size"), [(90, (64, 64)), (90, (20, 20)), (20, (20, 20))])
@pytest.mark.parametrize("grey", [False, True])
def test_side_by_side_is_the_same_as_one_by_one(side: int, size: tuple[int, int], grey: bool, tmp_path: Path) -> None:
    paths = sorted(mixed_folder(tmp_path, side, 60).rglob("*.*"))
    config = Config(image_size=size[0], colour="grey" if grey else "auto")
    decoded = decode(paths, config, in_memory)
    pixels, failed = one_by_one(paths, size, grey)
    np.testing.assert_array_equal(decoded.pixels, pixels)
    assert decoded.failed == failed
    assert len(failed) == 4
    assert list(decoded.failed) == sorted(decoded.failed)
    assert decoded.lasting


def test_colour_files_without_colour_become_grey(tmp_path: Path) -> None:
    for i in range(20):
        Image.fromarray(np.full((80, 80, 3), i, dtype=np.uint8)).save(tmp_path / f"{i:02}.png")
    paths = sorted(tmp_path.iterdir())
    decoded = decode(paths, Config(), in_memory)
    assert decoded.pixels.shape == (20, 1, 64, 64)
    assert decoded.pixels[:, 0, 5, 5].tolist() == list(range(20))
    save_noise(tmp_path / "last.png", (80, 80), 0)
    assert decode([*paths, tmp_path / "last.png"], Config(), in_memory).pixels.shape == (21, 3, 64, 64)


def test_no_more_images_are_in_memory_than_the_threads_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_noise(tmp_path / "a.jpg", (90, 90), 0)
    drawn, lock = 0, threading.Lock()

    def counted(path: Path, size: tuple[int, int], grey: bool) -> NDArray[np.uint8]:
        nonlocal drawn
        with lock:
            drawn += 1
        return draw(path, size, grey)

    def gather(images: Iterable[NDArray[np.uint8]], most: int, shape: tuple[int, int, int]) -> NDArray[np.uint8]:
        bound = parallel.BATCH * (parallel.AHEAD * 8 + 1)
        for taken, _ in enumerate(images):
            assert drawn <= taken + bound
        return np.zeros((most, *shape), dtype=np.uint8)

    monkeypatch.setattr(decode_module, "draw", counted)
    decode([tmp_path / "a.jpg"] * 400, Config(), gather)
    assert drawn == 400


def test_nothing_goes_on_after_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = sorted(mixed_folder(tmp_path, 90).rglob("*.*")) * 20
    filters, threads = list(warnings.filters), threading.active_count()

    def full(images: Iterable[NDArray[np.uint8]], most: int, shape: tuple[int, int, int]) -> NDArray[np.uint8]:
        next(iter(images))
        raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space"):
        decode(paths, Config(), full, progress=True)
    assert (list(warnings.filters), threading.active_count()) == (filters, threads)
    assert "Decoding images" in capsys.readouterr().err


def test_no_warning_gets_out_of_a_thread_and_the_filters_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10_000)
    save_noise(tmp_path / "good.png", (90, 90), 0)
    save_noise(tmp_path / "large.png", (120, 100), 0)  # Pillow warns from one limit on and refuses from two on
    save_noise(tmp_path / "larger.png", (200, 200), 0)
    odd = Image.fromarray(np.arange(8100, dtype=np.uint8).reshape(90, 90)).convert("P")
    odd.save(tmp_path / "odd.png", transparency=bytes(range(9)))
    with pytest.warns(UserWarning, match="Transparency"), Image.open(tmp_path / "odd.png") as image:
        image.convert("RGB")
    with pytest.warns(Image.DecompressionBombWarning), Image.open(tmp_path / "large.png"):
        pass

    paths = [tmp_path / name for name in ("good.png", "large.png", "larger.png", "odd.png")] * 10
    filters = list(warnings.filters)
    with ThreadPoolExecutor(3) as callers:  # warnings are errors in this test-suite, in threads as well
        results = list(callers.map(lambda _: decode(paths, Config(), in_memory), range(6)))
    assert list(warnings.filters) == filters
    for decoded in results:
        assert decoded.failed == {i: "too many pixels" for i in range(40) if i % 4 in (1, 2)}
        np.testing.assert_array_equal(decoded.pixels, results[0].pixels)


def test_a_fault_of_the_system_does_not_last(tmp_path: Path) -> None:
    save_noise(tmp_path / "a.png", (9, 9), 0)
    (tmp_path / "text.png").write_text("no")
    assert decode([tmp_path / "a.png", tmp_path / "text.png"], Config(), in_memory).lasting
    decoded = decode([tmp_path / "a.png", tmp_path / "gone.png"], Config(), in_memory)
    assert not decoded.lasting
    assert "No such file" in decoded.failed[1]
