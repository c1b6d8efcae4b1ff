"""Laws of images as they are: upright pictures, keys that follow the content, and features in their place."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.core.raw_samples import RawSamples, UnreadableSample
from deepbass.data import from_arrays, load
from deepbass.data.featurised import Featurised
from deepbass.data.raw_images import ArrayImages, ImageFiles
from deepbass.data.source import Part, is_raw
from deepbass.data.sources import open_source
from tests.data.counting import count
from tests.data.pictures import save_noise


def files(*paths: Path) -> ImageFiles:
    return ImageFiles(paths, [path.name for path in paths])


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    for i in range(10):
        path = folder / "ab"[i % 2] / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (300, 200), (i, i, i)).save(path)
    return folder


def test_pictures_are_upright_and_opaque(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (30, 20), "red").save(tmp_path / "turned.jpg", exif=exif)
    Image.new("LA", (4, 4), (255, 0)).save(tmp_path / "clear.png")
    turned, clear = (files(tmp_path / name).read(0) for name in ("turned.jpg", "clear.png"))
    assert (turned.size, turned.mode) == ((20, 30), "RGB")
    assert (clear.mode, clear.getpixel((0, 0))) == ("L", 128)


def test_big_photographs_may_be_decoded_at_a_fraction(tmp_path: Path) -> None:
    Image.new("RGB", (1600, 1200), "red").save(tmp_path / "big.jpg")
    assert files(tmp_path / "big.jpg").drafted(100).read(0).size == (400, 300)


def test_keys_follow_the_content_of_files_not_their_names(tmp_path: Path) -> None:
    for i in range(3):
        save_noise(tmp_path / f"{i}.bmp", (6, 6), i)  # all of one size, written within a tick
    shutil.copy(tmp_path / "0.bmp", tmp_path / "copy.bmp")
    images = files(*(tmp_path / f"{name}.bmp" for name in (0, 1, 2, "copy", "gone")))
    keys = [images.key(row) for row in range(5)]
    assert len(set(keys)) == 4
    assert keys[0] == keys[3]
    times = (tmp_path / "0.bmp").stat()
    save_noise(tmp_path / "0.bmp", (6, 6), 7)
    os.utime(tmp_path / "0.bmp", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert images.key(0) != keys[0]


def test_an_unreadable_file_says_why_without_its_path(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"no image")
    with pytest.raises(UnreadableSample, match=r"^not an image$"):
        files(tmp_path / "a.png").read(0)


@pytest.mark.parametrize(
    ("array", "pixel"),
    [
        (np.full((2, 6, 5), 7, np.uint8), 7),
        (np.full((2, 6, 5, 3), 7, np.uint8), (7, 7, 7)),
        (np.full((2, 3, 6, 5), 7, np.uint8), (7, 7, 7)),
        (np.full((2, 6, 5), 1.0), 255),
        (np.full((2, 6, 5), 200.0), 200),
        (np.stack([np.full((6, 5), 3.0), np.full((6, 5), -1.0)]), 255),
        (np.full((2, 6, 5), True), 255),
    ],
)
def test_arrays_of_any_kind_are_pictures(array: Any, pixel: object) -> None:
    images = ArrayImages(array)
    assert images.read(0).size == (5, 6)
    assert images.read(0).getpixel((0, 0)) == pixel
    assert images.key(0) == ArrayImages(array.copy()).key(0)
    assert images.name(1) == "train/1"


def test_what_is_not_finite_is_no_picture() -> None:
    array = np.ones((2, 4, 4))
    array[1, 2, 2] = np.nan
    with pytest.raises(UnreadableSample, match="finite"):
        ArrayImages(array).read(1)
    assert ArrayImages(array).read(0).getpixel((0, 0)) == 255


def test_images_come_as_they_are_only_when_asked_for(photos: Path) -> None:
    as_they_are = open_source(str(photos), Config(), None, False, raw=True).train
    assert isinstance(as_they_are.X, ImageFiles)
    assert as_they_are.X.read(0).size == (300, 200)
    pixels = open_source(str(photos), Config(), None, False).train
    assert isinstance(pixels.X, np.ndarray)
    assert pixels.X.shape == (10, 1, 64, 64)
    assert list(pixels.names) == list(as_they_are.names)
    assert pixels.y == as_they_are.y


def test_a_run_learns_from_features_and_people_see_the_photograph(photos: Path) -> None:
    (photos / "a" / "torn.png").write_bytes(b"no image")
    data = load(str(photos), Config(pool=6), featurise=count)
    assert data.notes == ("counted", "1 sample skipped: a/torn.png (not an image)")
    assert len(data.pool) == 6
    for id_ in range(6):
        number = int(Path(data.pool.name(id_)).stem)
        picture = data.pool.picture(id_)
        assert picture is not None
        assert picture.shape == (85, 128, 3)
        assert data.pool.read([id_]).tolist() == [[number, 300]]
        assert set(picture.ravel()) == {number}
        assert data.pool.text(id_) is None
    shutil.rmtree(photos)
    assert data.pool.picture(0) is None


def test_a_table_of_images_gives_them_as_they_are(photos: Path) -> None:
    lines = ["path,label,split", *(f"{'ab'[i % 2]}/{i}.png,{'xy'[i % 2]},{'val' if i > 7 else ''}" for i in range(10))]
    (photos / "table.csv").write_text("\n".join(lines), encoding="utf-8")
    source = open_source(str(photos / "table.csv"), Config(), None, False, raw=True)
    assert isinstance(source.train.X, ImageFiles)
    assert [source.train.X.name(row) for row in (0, 7)] == ["a/0.png", "b/7.png"]
    assert source.validation is not None
    assert source.validation.y == ["x", "y"]


def test_features_may_leave_pictures_as_they_are(photos: Path) -> None:
    data = load(str(photos), Config(), featurise=lambda train, validation: None)
    assert data.pool.shape == (1, 64, 64)


@pytest.mark.parametrize("with_validation", [False, True])
def test_arrays_texts_and_rows_in_memory_get_features(with_validation: bool) -> None:
    samples: list[Any] = [
        np.zeros((12, 8, 8), np.uint8),
        [f"text {i}" for i in range(12)],
        np.array([f"text {i}" for i in range(12)]),
        [{"x": i, "c": "u"} for i in range(12)],
    ]
    for X in samples:
        more = (X, [0, 1] * 6) if with_validation else ()
        data = from_arrays(X, [0, 1] * 6, *more, config=Config(), featurise=count)
        assert data.pool.shape == (2,)
        assert data.pool.name(0).startswith("train/")
        assert len(data.pool) + len(data.validation) == (24 if with_validation else 12)


def test_numbers_need_no_features() -> None:
    data = from_arrays(np.ones((12, 5)), [0, 1] * 6, config=Config(), featurise=count)
    assert data.pool.shape == (5,)


def test_texts_in_memory_without_features_are_an_error_that_names_them() -> None:
    with pytest.raises(DataError, match="words or sentences"):
        from_arrays(["a", "b"] * 6, [0, 1] * 6, config=Config())
    with pytest.raises(DataError, match="Sample 3 is 7, not a text"):
        mixed: Any = ["a", "b", "c", 7]
        from_arrays(mixed, [0, 1] * 2, config=Config(), featurise=count)


def test_features_of_the_wrong_number_are_refused() -> None:
    def one_too_few(train: Part, validation: Part | None) -> Featurised:
        assert is_raw(train.X)
        return Featurised(np.ones((len(train.X) - 1, 2)), name="few")

    def none_at_all(train: Part, validation: Part | None) -> Featurised:
        samples: Any = train.X
        return Featurised(np.ones((0, 2)), failed=dict.fromkeys(range(len(samples)), "broken"))

    for wrong, message in (
        (one_too_few, "12 samples, 0 of which failed, but there are 11"),
        (none_at_all, "no sample"),
    ):
        with pytest.raises(DataError, match=message):
            from_arrays(["a", "b"] * 6, [0, 1] * 6, config=Config(), featurise=wrong)


def test_any_samples_that_can_be_read_will_do() -> None:
    class Own:
        kind = "text"

        def __len__(self) -> int:
            return 12

        def name(self, row: int) -> str:
            return f"own {row}"

        def read(self, row: int) -> str:
            return "a" * row

        def key(self, row: int) -> bytes:
            return bytes([row])

    own: RawSamples = Own()  # type: ignore[assignment]
    data = from_arrays(own, [0, 1] * 6, config=Config(), featurise=count)
    assert data.pool.text(0) == "a" * int(data.pool.read([0])[0, 0])
