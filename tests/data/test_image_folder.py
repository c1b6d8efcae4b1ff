"""Laws of image folders and tables: real files, good and bad, as people have them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.data import Data, load

pytestmark = pytest.mark.usefixtures("image_cache")

RED, GREY = (200, 10, 10), (90, 90, 90)


def save(path: Path, colour: int | tuple[int, ...] = GREY, size: tuple[int, int] = (8, 8), mode: str = "RGB") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, colour).save(path)
    return path


def two_classes(folder: Path, colour: tuple[int, ...] = GREY, size: tuple[int, int] = (8, 8)) -> Path:
    for class_ in ("cat", "dog"):
        for i in range(5):
            save(folder / class_ / f"{i}.png", colour, size)
    return folder


def names(data: Data) -> list[str]:
    """List all samples, whichever part they ended up in."""
    parts = (data.pool, data.validation)
    return sorted(part.name(i) for part in parts for i in range(len(part)))


def picture(data: Data, name: str) -> NDArray[np.uint8]:
    for part in (data.pool, data.validation):
        for i in range(len(part)):
            if part.name(i) == name:
                drawn = part.picture(i)
                assert drawn is not None
                return drawn
    raise AssertionError(f"no {name}")


def test_a_subfolder_is_a_class_and_ids_follow_the_paths(tmp_path: Path) -> None:
    data = load(str(two_classes(tmp_path)), Config())
    assert data.classes == ("cat", "dog")
    assert data.name == tmp_path.name
    listed = [data.pool.name(i) for i in range(len(data.pool))]
    assert listed == sorted(listed)
    assert [data.classes[class_] for class_ in data.truth] == [name.split("/")[0] for name in listed]


def test_images_beside_the_classes_have_no_label(tmp_path: Path) -> None:
    save(two_classes(tmp_path) / "stray.png")
    data = load(str(tmp_path), Config())
    assert dict(zip((data.pool.name(i) for i in range(len(data.pool))), data.truth, strict=True))["stray.png"] == -1


def test_a_flat_folder_has_no_labels(tmp_path: Path) -> None:
    save(tmp_path / "a.png")
    with pytest.raises(DataError, match=r"has no labels\. A simulated run needs them"):
        load(str(tmp_path), Config())


@pytest.mark.parametrize("part", ["val", "validation", "test"])
def test_train_and_validation_folders_are_two_parts(part: str, tmp_path: Path) -> None:
    two_classes(tmp_path / "train")
    two_classes(tmp_path / part)
    save(tmp_path / "train" / "unlabelled.png")
    save(tmp_path / "extra" / "x.png")
    data = load(str(tmp_path), Config())
    assert data.classes == ("cat", "dog")
    assert (len(data.pool), len(data.validation)) == (11, 10)
    assert data.validation.name(0) == f"{part}/cat/0.png"
    assert (data.truth == -1).sum() == 1
    assert "not extra" in data.notes[0]


def test_hidden_and_other_files_are_ignored(tmp_path: Path) -> None:
    two_classes(tmp_path)
    save(tmp_path / ".hidden.png")
    save(tmp_path / ".thumbnails" / "a.png")
    (tmp_path / "cat" / "notes.txt").write_text("miaow")
    data = load(str(tmp_path), Config())
    assert len(names(data)) == 10
    assert data.notes == ()


def test_unreadable_images_are_named_skipped_and_counted(tmp_path: Path) -> None:
    two_classes(tmp_path)
    noise = np.random.default_rng(0).integers(0, 256, (60, 60, 3), dtype=np.uint8)
    for name in ("cut.png", "cut.jpg"):
        Image.fromarray(noise).save(tmp_path / "cat" / name)
        whole = (tmp_path / "cat" / name).read_bytes()
        (tmp_path / "cat" / name).write_bytes(whole[: len(whole) // 2])
    (tmp_path / "dog" / "empty.png").touch()
    (tmp_path / "dog" / "text.jpeg").write_text("I am a picture")
    Image.fromarray(np.ones((8, 8), dtype=np.float32)).save(tmp_path / "dog" / "zfloat.tiff")
    data = load(str(tmp_path), Config())
    assert len(names(data)) == 10
    assert data.notes == (
        "5 images skipped: cat/cut.jpg (truncated), cat/cut.png (truncated), dog/empty.png (not an image), "
        "dog/text.jpeg (not an image), dog/zfloat.tiff (float pixels: save them as .npy)",
    )
    with pytest.raises(DataError, match=r"strict is on: cat/cut\.jpg \(truncated\)"):
        load(str(tmp_path), Config(strict=True))


@pytest.mark.parametrize("limit", [100, 40])  # Pillow warns from one limit on and refuses from two on
def test_a_decompression_bomb_is_unreadable(limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
    save(two_classes(tmp_path, size=(6, 6)) / "cat" / "bomb.png", size=(12, 10))
    assert load(str(tmp_path), Config()).notes == ("1 image skipped: cat/bomb.png (too many pixels)",)


def test_a_folder_without_a_readable_image_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("no")
    with pytest.raises(DataError, match=r"no readable images to train with: a\.png \(not an image\)"):
        load(str(tmp_path), Config())
    (tmp_path / "a.png").unlink()
    with pytest.raises(DataError, match="has no images"):
        load(str(tmp_path), Config())


@pytest.mark.parametrize(
    ("other", "size", "shape"),
    [
        ((8, 8), None, (8, 8)),
        ((64, 10), None, (8, 8)),  # all small: the most common size
        ((65, 10), None, (64, 64)),  # one is large
        ((65, 10), 16, (16, 16)),
    ],
)
def test_mixed_sizes_become_one(
    other: tuple[int, int], size: int | None, shape: tuple[int, int], tmp_path: Path
) -> None:
    save(two_classes(tmp_path) / "cat" / "other.png", size=other)
    assert load(str(tmp_path), Config(image_size=size)).pool.shape == (1, *shape)


def test_a_large_photo_looks_the_same_when_decoded_small(tmp_path: Path) -> None:
    ramp = np.linspace(0, 255, 1600 * 1200 * 3).reshape(1200, 1600, 3).astype(np.uint8)
    for class_ in ("cat", "dog"):
        for name in ("photo.jpg", "photo.png"):
            (tmp_path / class_).mkdir(exist_ok=True)
            Image.fromarray(ramp).save(tmp_path / class_ / name)
    data = load(str(tmp_path), Config(validation=0.5))
    jpg, png = (picture(data, f"cat/photo.{suffix}").astype(float) for suffix in ("jpg", "png"))
    assert np.abs(jpg - png).mean() < 2


def test_images_of_one_small_size_keep_every_pixel_and_their_proportions(tmp_path: Path) -> None:
    drawn = np.random.default_rng(0).integers(0, 256, (10, 14, 3), dtype=np.uint8)
    two_classes(tmp_path, size=(14, 10))
    Image.fromarray(drawn).save(tmp_path / "cat" / "exact.png")
    data = load(str(tmp_path), Config())
    assert data.pool.shape == (3, 10, 14)
    np.testing.assert_array_equal(picture(data, "cat/exact.png"), drawn)


@pytest.mark.parametrize(
    ("colour", "pixel", "channels"),
    [("auto", RED, 3), ("auto", GREY, 1), ("grey", RED, 1), ("colour", GREY, 3)],
)
def test_colour_is_found_or_chosen(colour: str, pixel: tuple[int, ...], channels: int, tmp_path: Path) -> None:
    save(two_classes(tmp_path) / "cat" / "last.png", pixel)
    data = load(str(tmp_path), Config(colour=colour))
    assert data.pool.shape[0] == channels
    expected = np.round(np.dot(pixel, [0.299, 0.587, 0.114])) if channels == 1 else pixel
    assert (picture(data, "cat/last.png") == expected).all()


def test_every_kind_of_pixel_is_understood(tmp_path: Path) -> None:
    two_classes(tmp_path)
    folder = tmp_path / "cat"
    Image.fromarray(np.full((8, 8), 0x8A12, dtype=np.uint16)).save(folder / "deep.png")
    save(folder / "alpha.png", (*RED, 40), mode="RGBA")
    save(folder / "bit.png", 1, mode="1")
    save(folder / "byte.bmp", 77, mode="L")
    save(folder / "web.webp", 77, mode="L")
    save(folder / "ink.tiff", (0, 255, 255, 0), mode="CMYK")
    Image.new("RGB", (8, 8), RED).quantize(4).save(folder / "palette.gif")
    palette = Image.new("RGB", (8, 8), RED).quantize(4)
    palette.save(folder / "palette.png", transparency=bytes([0]))
    data = load(str(tmp_path), Config())
    assert data.notes == ()
    expected = {
        "deep.png": (0x8A,) * 3,
        "alpha.png": (139, 109, 109),  # 40 parts of red on 215 parts of grey
        "bit.png": (255,) * 3,
        "byte.bmp": (77,) * 3,
        "web.webp": (77,) * 3,
        "ink.tiff": (255, 0, 0),
        "palette.gif": RED,
        "palette.png": (128,) * 3,  # all of it transparent
    }
    for name, pixel in expected.items():
        assert (picture(data, f"cat/{name}") == pixel).all(), name


def test_only_grey_files_stay_grey(tmp_path: Path) -> None:
    for class_ in "ab":
        for i in range(3):
            save(tmp_path / class_ / f"{i}.png", 50 + i, mode="L")
    assert load(str(tmp_path), Config()).pool.shape == (1, 8, 8)


@pytest.mark.parametrize("suffix", ["jpg", "png"])
def test_images_stand_upright(suffix: str, tmp_path: Path) -> None:
    two_classes(tmp_path, size=(16, 32))
    image = Image.new("L", (32, 16), 0)
    image.paste(255, (0, 0, 16, 16))  # the left half is white
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned: left is top
    image.save(tmp_path / "cat" / f"turned.{suffix}", exif=exif)
    data = load(str(tmp_path), Config())
    assert data.pool.shape == (1, 32, 16)
    drawn = picture(data, f"cat/turned.{suffix}")
    assert drawn[:14].mean() > 250
    assert drawn[18:].mean() < 5


def test_links_that_lead_out_of_the_folder_are_skipped_and_noted(tmp_path: Path) -> None:
    folder = two_classes(tmp_path / "pets")
    secret = save(tmp_path / "elsewhere" / "secret.png", RED)
    (folder / "cat" / "out.png").symlink_to(secret)
    (folder / "cat" / "broken.png").symlink_to(tmp_path / "nowhere.png")
    (folder / "cat" / "in.png").symlink_to(folder / "cat" / "0.png")
    (folder / "bird").symlink_to(tmp_path / "elsewhere")
    data = load(str(folder), Config())
    assert "cat/in.png" in names(data)
    assert len(names(data)) == 11
    assert data.notes[0].endswith("were not followed: bird, cat/broken.png, cat/out.png")


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    two_classes(tmp_path / "pets")
    (tmp_path / "link").symlink_to(tmp_path / "pets")
    assert load(str(tmp_path / "link"), Config()).notes == ()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(two_classes(tmp_path) / "cat" / "pipe.png")
    assert len(names(load(str(tmp_path), Config()))) == 10


def test_progress_is_shown_on_the_error_stream_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load(str(two_classes(tmp_path)), Config(), progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Decoding images" in shown.err
