"""Laws of pictures: upright, in bounds, free of metadata, never from outside the folder, and a reason for every no."""

from __future__ import annotations

import io
import os
import struct
import threading
import time
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from deepbass.core.config import Config
from deepbass.data import images
from deepbass.data.decode import decode, in_memory
from deepbass.label import inside
from deepbass.label.items import Items, Picture, Unpicturable, open_items
from tests.data.pictures import cut, mixed_folder, save_noise

RED, GREY = (200, 10, 10), (90, 90, 90)


def shown(picture: Picture) -> Image.Image:
    """Decode a picture as a browser would."""
    image = Image.open(io.BytesIO(picture.content))
    image.load()
    assert image.format is not None
    assert picture.media_type == f"image/{image.format.lower()}"
    return image


def pixels(items: Items, name: str, side: int = 512) -> NDArray[np.uint8]:
    return np.asarray(shown(items.picture(name, side)))


def save(path: Path, size: tuple[int, int] = (8, 8), colour: int | tuple[int, ...] = GREY, mode: str = "RGB") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, colour).save(path)
    return path


@pytest.mark.parametrize("suffix", ["jpg", "png", "bmp", "webp", "tiff"])
@pytest.mark.parametrize(("asked", "longer"), [(512, 512), (1, 32), (-5, 32), (32, 32), (100_000, 2048), (2048, 2048)])
def test_the_longer_side_is_as_asked_for_within_bounds(suffix: str, asked: int, longer: int, tmp_path: Path) -> None:
    save(tmp_path / f"wide.{suffix}", (3000, 1500))
    image = shown(open_items(str(tmp_path)).picture(f"wide.{suffix}", asked))
    assert image.size == (longer, longer // 2)
    assert image.getpixel((0, 0)) == pytest.approx(GREY, abs=2)


@pytest.mark.parametrize("size", [(1, 1), (28, 28), (300, 7), (7, 300), (1000, 1)])
def test_no_picture_is_larger_than_its_file(size: tuple[int, int], tmp_path: Path) -> None:
    save(tmp_path / "a.png", size)
    items = open_items(str(tmp_path))
    assert shown(items.picture("a.png", 2048)).size == size
    width, height = shown(items.picture("a.png", 64)).size
    assert 1 <= min(width, height) <= max(width, height) <= 64


@pytest.mark.parametrize("mode", ["RGB", "L", "1", "P"])
def test_small_images_keep_every_pixel(mode: str, tmp_path: Path) -> None:
    save_noise(tmp_path / "small.png", (28, 20), 0, mode=mode)
    with Image.open(tmp_path / "small.png") as image:
        expected = np.asarray(image.convert("L" if mode in ("L", "1") else "RGB"))
    picture = open_items(str(tmp_path)).picture("small.png", 32)
    assert picture.media_type == "image/png"
    np.testing.assert_array_equal(np.asarray(shown(picture)), expected)


@pytest.mark.parametrize(
    ("name", "mode", "media_type"),
    [
        ("a.png", "RGB", "image/jpeg"),
        ("a.jpg", "RGB", "image/jpeg"),
        ("a.webp", "RGB", "image/jpeg"),
        ("a.tiff", "CMYK", "image/jpeg"),
        ("a.jpg", "L", "image/png"),
        ("a.gif", "P", "image/png"),
        ("a.png", "P", "image/png"),
    ],
)
def test_photos_are_jpeg_and_grey_or_painted_ones_png(name: str, mode: str, media_type: str, tmp_path: Path) -> None:
    save_noise(tmp_path / name, (400, 300), 0, mode=mode)
    assert open_items(str(tmp_path)).picture(name, 96).media_type == media_type


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "tiff"])
@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("size", [(60, 30), (900, 450)])
def test_pictures_stand_upright(suffix: str, orientation: int, size: tuple[int, int], tmp_path: Path) -> None:
    width, height = size
    ramp = np.add.outer(np.arange(height) * 160 // height, np.arange(width) * 80 // width).astype(np.uint8)
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(ramp).save(tmp_path / f"turned.{suffix}", exif=exif)
    upright = {
        1: ramp,
        2: ramp[:, ::-1],
        3: ramp[::-1, ::-1],
        4: ramp[::-1],
        5: ramp.T,
        6: np.rot90(ramp, -1),
        7: ramp.T[::-1, ::-1],
        8: np.rot90(ramp),
    }[orientation]
    drawn = pixels(open_items(str(tmp_path)), f"turned.{suffix}", 2048)
    assert drawn.shape[:2] == upright.shape
    grey = drawn if drawn.ndim == 2 else drawn[..., 0]
    assert np.abs(grey.astype(int) - upright).max() < 12


def test_metadata_is_stripped(tmp_path: Path) -> None:
    secret = b"taken at home by Jo"
    exif = Image.Exif()
    exif[0x010E] = secret.decode()
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (200, 200, 3), dtype=np.uint8))
    text = PngInfo()
    text.add_text("Comment", secret.decode())
    noise.save(tmp_path / "a.jpg", exif=exif, comment=secret, icc_profile=secret)
    noise.save(tmp_path / "b.png", exif=exif, pnginfo=text, icc_profile=secret)
    noise.convert("L").save(tmp_path / "c.jpg", exif=exif, comment=secret, icc_profile=secret)
    noise.quantize(4).save(tmp_path / "d.gif", comment=secret)
    items = open_items(str(tmp_path))
    for name in items.names:
        assert secret in (tmp_path / name).read_bytes() or name == "b.png"  # its profile is compressed
        for side in (64, 2048):
            image = shown(items.picture(name, side))
            assert secret not in items.picture(name, side).content
            assert not dict(image.getexif())
            assert not {"icc_profile", "comment", "Comment", "exif"} & set(image.info)


@pytest.mark.parametrize(
    ("highest", "shift"), [(0xFFFF, 8), (0x8A12, 8), (0x1000, 8), (0x0FFF, 4), (0x100, 4), (0xFF, 0), (0, 0)]
)
@pytest.mark.parametrize("suffix", ["png", "tiff"])
def test_deep_grey_is_neither_cut_off_nor_all_black(highest: int, shift: int, suffix: str, tmp_path: Path) -> None:
    deep = np.linspace(0, highest, 64 * 64).astype(np.uint16).reshape(64, 64)
    Image.fromarray(deep).save(tmp_path / f"deep.{suffix}")
    np.testing.assert_array_equal(pixels(open_items(str(tmp_path)), f"deep.{suffix}"), deep >> shift)


def packed_tiff(values: NDArray[np.uint16]) -> bytes:
    """Write grey values of 12 bits, two in three bytes, as cameras do and Pillow does not."""
    height, width = values.shape
    pairs = values.reshape(-1, 2).astype(np.uint32)
    bits = (pairs[:, 0] << 12 | pairs[:, 1]).astype(">u4").view(np.uint8).reshape(-1, 4)[:, 1:].tobytes()
    tags = {256: width, 257: height, 258: 12, 259: 1, 262: 1, 273: 8, 277: 1, 278: height, 279: len(bits)}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
    return b"II*\0" + struct.pack("<I", 8 + len(bits)) + bits + struct.pack("<H", len(tags)) + entries + bytes(4)


def test_a_depth_that_the_file_announces_is_believed(tmp_path: Path) -> None:
    dark = np.arange(64, dtype=np.uint16).reshape(8, 8)  # as few levels as 6 bits have
    (tmp_path / "packed.tiff").write_bytes(packed_tiff(dark * 16))
    (tmp_path / "binary.pgm").write_bytes(b"P5 8 8 4095\n" + (dark * 16).astype(">u2").tobytes())
    items = open_items(str(tmp_path))
    np.testing.assert_array_equal(pixels(items, "packed.tiff"), dark)
    np.testing.assert_array_equal(pixels(items, "binary.pgm"), dark)


def test_dark_and_bright_images_of_one_camera_are_scaled_alike(tmp_path: Path) -> None:
    bright = np.linspace(0, 0xFFF, 64).astype(np.uint16).reshape(8, 8)
    for name, values in (("bright.png", bright), ("dark.png", bright // 8)):
        Image.fromarray(values).save(tmp_path / name)
    items = open_items(str(tmp_path))
    np.testing.assert_array_equal(pixels(items, "bright.png"), bright >> 4)
    np.testing.assert_array_equal(pixels(items, "dark.png"), bright // 8 >> 4)


def test_people_and_the_network_see_the_same_pixels(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 0x1000, (40, 30), dtype=np.uint16)
    Image.fromarray(noise).save(tmp_path / "twelve-bits.png")
    Image.fromarray(noise).save(tmp_path / "twelve-bits.tiff")
    (tmp_path / "packed.tiff").write_bytes(packed_tiff(noise))
    (tmp_path / "deep.pgm").write_bytes(b"P5 30 40 4095\n" + noise.astype(">u2").tobytes())
    for mode in ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK"):
        suffix = "tiff" if mode in ("CMYK", "PA") else "png"
        bands = np.random.default_rng(1).integers(0, 256, (40, 30, 4), dtype=np.uint8)
        Image.fromarray(bands).convert(mode).save(tmp_path / f"{mode}.{suffix}")
    Image.fromarray(bands).convert("P").save(tmp_path / "clear.png", transparency=bytes(range(256)))
    exif = Image.Exif()
    exif[0x0112] = 6
    for suffix in ("jpg", "png", "webp", "tiff"):
        Image.fromarray(bands[..., :3].transpose(1, 0, 2)).save(tmp_path / f"turned.{suffix}", exif=exif)
    items = open_items(str(tmp_path))
    decoded = decode([tmp_path / name for name in items.names], Config(), in_memory)
    assert not decoded.failed
    for name, seen in zip(items.names, decoded.pixels, strict=True):
        shown = pixels(items, name)
        assert shown.shape[:2] == (40, 30), name
        rgb = shown if shown.ndim == 3 else np.repeat(shown[..., None], 3, axis=2)
        np.testing.assert_array_equal(np.moveaxis(seen, 0, -1), rgb, name)


@pytest.mark.parametrize("side", [20, 400])
def test_what_is_transparent_lets_grey_through_so_that_black_and_white_both_show(side: int, tmp_path: Path) -> None:
    half = side // 2
    for name, ink in (("black.png", 0), ("white.png", 255)):
        image = Image.new("RGBA", (side, side), (ink, ink, ink, 0))
        image.paste((ink, ink, ink, 255), (0, 0, half, side))
        image.save(tmp_path / name)
        image.convert("LA").save(tmp_path / f"grey-{name}")
        image.save(tmp_path / name.replace("png", "webp"))
        image.quantize(4).save(tmp_path / name.replace("png", "gif"), transparency=1)
        drawn = pixels(open_items(str(tmp_path)), name)
        assert np.abs(drawn[:, : half - 8].astype(int) - ink).max() <= 3
        assert np.abs(drawn[:, half + 8 :].astype(int) - 128).max() <= 3
        drawn = pixels(open_items(str(tmp_path)), f"grey-{name}")
        assert drawn.ndim == 2
        assert drawn[0, 0] == ink
        assert drawn[0, -1] == 128
    items = open_items(str(tmp_path))
    assert all(items.picture(name, 512).content for name in items.names)


def test_broken_files_give_a_reason_in_a_few_words(tmp_path: Path) -> None:
    for name in ("cut.jpg", "cut.png"):
        save_noise(tmp_path / name, (200, 200), 0)
        cut(tmp_path / name)
    (tmp_path / "empty.gif").touch()
    (tmp_path / "text.png").write_text("I am a picture")
    (tmp_path / "page.jpg").write_text(
        "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"
    )  # Pillow would run Ghostscript
    Image.fromarray(np.ones((8, 8), dtype=np.float32)).save(tmp_path / "float.tiff")
    items = open_items(str(tmp_path))
    reasons = {}
    for name in items.names:
        with pytest.raises(Unpicturable) as caught:
            items.picture(name, 512)
        reasons[name] = str(caught.value)
    assert reasons == {
        "cut.jpg": "truncated",
        "cut.png": "truncated",
        "empty.gif": "not an image",
        "text.png": "not an image",
        "page.jpg": "not an image",
        "float.tiff": "float pixels: save them as .npy",
    }


@pytest.mark.parametrize(("kind", "raw"), [("P1", False), ("P2", False), ("P3", False), ("P5", True), ("P6", True)])
def test_what_takes_long_to_decode_is_refused_from_a_size_on(
    kind: str, raw: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.ppm").write_bytes(f"{kind} 20 20{'' if kind == 'P1' else ' 255'}\n".encode() + b"1 " * 1200)
    items = open_items(str(tmp_path))
    whole = pixels(items, "a.ppm")
    monkeypatch.setattr(images, "SLOW", 2000)
    if raw:  # decoded by C in no time
        np.testing.assert_array_equal(pixels(items, "a.ppm"), whole)
        (tmp_path / "a.ppm").write_bytes(f"{kind} 20 20 99\n".encode() + b"1 " * 1200)  # this is not: 99 is not 255
    with pytest.raises(Unpicturable, match="slow to decode, and over 8 MB: save it as PNG"):
        items.picture("a.ppm", 64)


def test_a_million_comments_are_no_work(tmp_path: Path) -> None:
    (tmp_path / "a.pbm").write_bytes(b"P1 # so\n2 2\n1 0" + b"#\n" * 1_000_000 + b"0 1")
    begin = time.process_time()  # Pillow alone works on this for a minute
    np.testing.assert_array_equal(pixels(open_items(str(tmp_path)), "a.pbm"), [[0, 255], [255, 0]])
    assert time.process_time() - begin < 10


def png_of(width: int, height: int) -> bytes:
    """Forge a PNG that announces many pixels and packs them well."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = zlib.compress(bytes((width // 8 + 1) * min(height, 2000)), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize("height", [10_000, 30_000])  # Pillow only warns of the first, up to twice its limit
def test_a_bomb_is_refused_before_it_goes_off(height: int, tmp_path: Path) -> None:
    (tmp_path / "bomb.png").write_bytes(png_of(12_000, height))
    with pytest.raises(Unpicturable, match=r"^too many pixels$"):
        open_items(str(tmp_path)).picture("bomb.png", 512)


def test_an_odd_image_is_shown_while_warnings_are_errors(tmp_path: Path) -> None:
    odd = Image.fromarray(np.arange(8100, dtype=np.uint8).reshape(90, 90)).convert("P")
    odd.save(tmp_path / "odd.png", transparency=bytes(range(9)))
    whole = save(tmp_path / "tag.tiff", (20, 20)).read_bytes()
    # the last tag of the directory claims data that lies far beyond the end of the file
    start = struct.unpack("<I", whole[4:8])[0]
    count = struct.unpack("<H", whole[start : start + 2])[0]
    last = start + 2 + 12 * (count - 1)
    odd_tag = struct.pack("<HHII", 0x9999, 2, 1 << 20, 1 << 24)
    (tmp_path / "tag.tiff").write_bytes(whole[:last] + odd_tag + whole[last + 12 :])
    with pytest.warns(UserWarning), Image.open(tmp_path / "tag.tiff") as image:
        image.getexif()
    items = open_items(str(tmp_path))
    filters = list(warnings.filters)
    assert shown(items.picture("odd.png", 64)).size == (64, 64)
    assert shown(items.picture("tag.tiff", 64)).size == (20, 20)
    assert list(warnings.filters) == filters


def test_threads_see_what_one_sees_also_while_others_decode(tmp_path: Path) -> None:
    folder = mixed_folder(tmp_path, 150)
    odd = Image.fromarray(np.arange(8100, dtype=np.uint8).reshape(90, 90)).convert("P")
    odd.save(folder / "a" / "odd.png", transparency=bytes(range(9)))
    items = open_items(str(folder))
    filters = list(warnings.filters)

    def look(name: str) -> Picture | str:
        try:
            return items.picture(name, 100)
        except Unpicturable as error:
            return str(error)

    expected = [look(name) for name in items.names]
    assert sum(isinstance(seen, str) for seen in expected) == 4
    paths = [folder / name for name in items.names]
    with ThreadPoolExecutor(8) as threads:
        decoding = [threads.submit(decode, paths, Config(), in_memory) for _ in range(3)]
        seen = list(threads.map(look, items.names * 6))
        failed = [job.result().failed for job in decoding]
    assert seen == expected * 6
    assert [len(each) for each in failed] == [4] * 3
    assert list(warnings.filters) == filters


def test_heavy_images_are_decoded_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from deepbass.label import pictures

    class Counted:
        def __init__(self) -> None:
            self.lock, self.entered = threading.Lock(), 0

        def __enter__(self) -> None:
            assert self.lock.acquire(timeout=60)
            self.entered += 1

        def __exit__(self, *_: object) -> None:
            self.lock.release()

    counted = Counted()
    monkeypatch.setattr(pictures, "HEAVY", 10_000)
    monkeypatch.setattr(pictures, "_heavy", counted)
    save_noise(tmp_path / "light.png", (100, 100), 0)
    save_noise(tmp_path / "heavy.png", (101, 100), 0)
    items = open_items(str(tmp_path))
    items.picture("light.png", 50)
    assert counted.entered == 0
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: items.picture("heavy.png", 50), range(4)))
    assert counted.entered == 4


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """Make a folder of images, and beside it something that nobody shared."""
    save(tmp_path / "secret" / "a.png", colour=RED)
    for name in ("cat/a.png", "cat/b.png", "dog/a.png"):
        save(tmp_path / "shared" / name)
    return tmp_path / "shared"


@pytest.mark.parametrize(
    "name",
    ["../secret/a.png", "cat/../../secret/a.png", "/etc/passwd", "", ".", "cat", "cat//a.png", "./cat/a.png", "cat/\0"],
)
def test_only_names_of_the_list_are_looked_for(name: str, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = open_items(str(shared))

    def touched(*_: object) -> None:
        raise AssertionError("the file system was touched")

    monkeypatch.setattr(os, "open", touched)
    monkeypatch.setattr(Path, "resolve", touched)
    for asked in (name, str(shared / name)):
        with pytest.raises(Unpicturable, match="not there"):
            items.picture(asked, 64)


def test_a_file_that_is_swapped_for_a_link_out_of_the_folder_is_not_shown(shared: Path) -> None:
    items = open_items(str(shared))
    (shared / "cat" / "a.png").unlink()
    (shared / "cat" / "a.png").symlink_to(shared.parent / "secret" / "a.png")
    (shared / "dog" / "a.png").unlink()
    (shared / "dog").rmdir()
    (shared / "dog").symlink_to(shared.parent / "secret")
    for name in ("cat/a.png", "dog/a.png"):
        with pytest.raises(Unpicturable, match=r"^a link that leads out of the folder$"):
            items.picture(name, 64)
    (shared / "cat" / "b.png").unlink()
    (shared / "cat" / "b.png").symlink_to("b.png")
    with pytest.raises(Unpicturable, match="cannot be opened"):
        items.picture("cat/b.png", 64)


@pytest.mark.skipif(not inside._STEPWISE, reason="files cannot be opened step by step here")
def test_a_link_put_in_place_between_check_and_opening_fails(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = open_items(str(shared))
    resolve = Path.resolve

    def swap_afterwards(path: Path, strict: bool = False) -> Path:
        real = resolve(path, strict)
        if path.name == "a.png" and not (shared / path.parent.name).is_symlink() and not path.is_symlink():
            path.unlink()
            if path.parent.name == "dog":
                path.parent.rmdir()
                path.parent.symlink_to(shared.parent / "secret")
            else:
                path.symlink_to(shared.parent / "secret" / "a.png")
        return real

    monkeypatch.setattr(Path, "resolve", swap_afterwards)
    for name in ("cat/a.png", "dog/a.png"):
        with pytest.raises(Unpicturable, match="cannot be opened"):
            items.picture(name, 64)
        assert (shared / name).is_file()  # it is the secret by now


def test_links_within_the_folder_are_followed(shared: Path) -> None:
    (shared / "cat" / "in.png").symlink_to(shared / "dog" / "a.png")
    (shared.parent / "link").symlink_to(shared)
    for folder in (shared, shared.parent / "link"):
        assert pixels(open_items(str(folder)), "cat/in.png").shape == (8, 8, 3)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_vanished_file_gives_a_reason_and_a_pipe_in_its_place_is_not_waited_for(shared: Path) -> None:
    items = open_items(str(shared))
    (shared / "cat" / "a.png").unlink()
    with pytest.raises(Unpicturable, match=r"^the file is not there any more$"):
        items.picture("cat/a.png", 64)
    os.mkfifo(shared / "cat" / "a.png")
    with pytest.raises(Unpicturable, match=r"^not a file$"):
        items.picture("cat/a.png", 64)
    (shared / "cat" / "b.png").unlink()
    (shared / "cat" / "b.png").mkdir()
    with pytest.raises(Unpicturable, match=r"^not a file$"):
        items.picture("cat/b.png", 64)


def test_no_reason_names_a_path(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = open_items(str(shared))

    def refused(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied", str(shared / "cat"))

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(Unpicturable, match=r"^the file may not be read$"):
        items.picture("cat/a.png", 64)
