"""The kinds of files that samples come from, whole and small, for tests that damage them."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from PIL import Image
from pyarrow import parquet

from deepbass.core.config import Config
from deepbass.core.errors import DeepBassError
from deepbass.data import load
from deepbass.data.decode import decode, in_memory
from deepbass.data.image_cache import SWITCH, read_images
from deepbass.label.items import open_items
from deepbass.label.settings import Columns
from deepbass.web.responses import dumps
from tests.data.counting import count
from tests.data.pictures import save_noise
from tests.laws.mutate import BINARY, JSON, TEXT, Mutate, repair_png


@dataclass(frozen=True)
class Kind:
    """A kind of file: whole ones, where to put a damaged one, and how it is read."""

    whole: list[bytes]
    path: Path  # of the file that is damaged
    read: Callable[[], object]
    mutators: tuple[Mutate, ...] = BINARY
    pack: Callable[[bytes], bytes] | None = None  # makes a file of its content, for mutants that are damaged inside
    outside: bool = True  # whether what was packed is damaged, too, in half of the mutants


def array_file(array: object) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(array))
    return buffer.getvalue()


X = np.random.default_rng(0).integers(0, 256, (24, 6, 5), dtype=np.uint8)
SAMPLES = [array_file(X), array_file(X.astype(np.float32)), array_file(np.asfortranarray(X, dtype=">i2"))]
LABELS = [array_file(np.arange(24) % 3), array_file(np.array(list("abc") * 8)), array_file(np.arange(24) % 3 * 1.0)]
LABELS.append(array_file(np.array([b"a", b"b", b"c"] * 8)))


def in_all_ways(*ways: Callable[[], object]) -> None:
    """Read in all ways, also when one is refused."""
    refused = []
    for way in ways:
        try:
            way()
        except DeepBassError as error:
            refused.append(error)
    if refused:
        raise refused[0]


def in_a_run(source: Path) -> None:
    """Do with a source what a run does."""
    data = load(str(source), Config())
    data.pool.read(range(min(3, len(data.pool))))
    data.pool.picture(0)
    [data.pool.name(0), *data.classes, *data.notes]


def on_the_page(source: Path, columns: Columns | None = None) -> None:
    """Do with a source what the labelling page does."""
    items = open_items(str(source), None, columns)
    for name in items.names[:2]:
        items.look(name, 16)
        if items.kind == "image":
            items.picture(name, 64)
        else:
            dumps(items.read(name).as_json())


def use(source: Path) -> None:
    """Do with a source all that is done with one."""
    in_all_ways(partial(in_a_run, source), partial(on_the_page, source))


def npy(folder: Path, samples: bool) -> Kind:
    (folder / "X.npy").write_bytes(SAMPLES[0])
    (folder / "y.npy").write_bytes(LABELS[0])
    return Kind(
        SAMPLES if samples else LABELS, folder / f"{'X' if samples else 'y'}.npy", partial(use, folder / "X.npy")
    )


def npz(folder: Path, compression: int) -> Kind:
    def pack(content: bytes, labels: bytes = LABELS[0]) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", compression) as archive:
            archive.writestr("X.npy", content)
            archive.writestr("y.npy", labels)
        return buffer.getvalue()

    return Kind(SAMPLES, folder / "a.npz", partial(use, folder / "a.npz"), pack=pack)


def idx(folder: Path, suffix: str) -> Kind:
    pack = gzip.compress if suffix else None
    images = b"\0\0\x08\x03" + struct.pack(">3I", *X.shape) + X.tobytes()
    labels = b"\0\0\x08\x01" + struct.pack(">I", len(X)) + bytes(range(3)) * 8
    (folder / f"train-labels-idx1-ubyte{suffix}").write_bytes(pack(labels) if pack else labels)
    return Kind([images], folder / f"train-images-idx3-ubyte{suffix}", partial(use, folder), pack=pack)


def drawn(format_: str, mode: str = "RGB", **options: Any) -> bytes:
    noise = np.random.default_rng(0).integers(0, 256, (20, 24, 4), dtype=np.uint8)
    image = (
        Image.fromarray(noise.astype(np.uint16)[..., 0] * 16)
        if mode == "I;16"
        else Image.fromarray(noise).convert(mode)
    )
    buffer = io.BytesIO()
    image.save(buffer, format_, **options)
    return buffer.getvalue()


def image_files() -> dict[str, list[bytes]]:
    """Write an image in all the ways that the formats have."""
    turned = Image.Exif()
    turned[0x0112] = 6
    next_frame: dict[str, Any] = {"save_all": True, "append_images": [Image.new("RGB", (24, 20), "red")]}
    header = struct.pack(
        "<IHHIIiiHHIIiiII", 0, 0, 0, 1078, 40, 8, 8, 1, 8, 1, 0, 0, 0, 0, 0
    )  # of a run-length encoded BMP
    numbers = b" ".join(b"%d" % number for number in X[0].ravel())
    return {
        "PNG": [
            *(drawn("PNG", mode) for mode in ("RGBA", "LA", "P", "1", "I;16")),
            drawn("PNG", exif=turned),
            drawn("PNG", "P", transparency=bytes(range(256))),
        ],
        "JPEG": [drawn("JPEG", exif=turned), drawn("JPEG", "L", progressive=True), drawn("JPEG", "CMYK")],
        "GIF": [drawn("GIF"), drawn("GIF", transparency=0, **next_frame)],
        "BMP": [
            *(drawn("BMP", mode) for mode in ("RGB", "P", "1")),
            b"BM" + header + bytes(1024) + b"\x08\x01\0\0" * 8 + b"\0\1",
        ],
        "TIFF": [
            *(drawn("TIFF", compression=kind) for kind in ("tiff_lzw", "tiff_adobe_deflate", "jpeg", "packbits")),
            drawn("TIFF", exif=turned),
            drawn("TIFF", "I;16"),
            drawn("TIFF", "1", compression="group4"),
        ],
        "WEBP": [drawn("WEBP", exif=turned), drawn("WEBP", "RGBA", lossless=True), drawn("WEBP", **next_frame)],
        "PPM": [
            *(drawn("PPM", mode) for mode in ("RGB", "L", "1")),
            b"P5 5 6 4095\n" + X[0].astype(">u2").tobytes(),
            b"P2 5 6 255\n" + numbers,
            b"P1 # no\n5 6\n" + b"10101 " * 6,
        ],
    }


def image(folder: Path, format_: str) -> Kind:
    path = folder / f"a.{format_.lower()}"

    def read() -> None:
        decoded = decode([path], Config(), in_memory)
        assert len(decoded.pixels) + len(decoded.failed) == 1
        on_the_page(folder)

    pack = repair_png if format_ == "PNG" else None
    mutators = (*BINARY, *TEXT) if format_ == "PPM" else BINARY
    return Kind(image_files()[format_], path, read, mutators, pack)


def table(folder: Path) -> Kind:
    for number in range(4):
        save_noise(folder / f"{number}.png", (6, 6), number)
    rows = [f"{number}.png,{'cat' if number % 2 else 'dög'},{'val' if number > 1 else 'train'}" for number in range(4)]
    whole = "\n".join(["path,label,split", *rows]).encode()
    return Kind([whole], folder / "table.csv", partial(use, folder / "table.csv"), TEXT)


TEXT_ROWS = [
    {"t": f"täxt {number}", "x": number / 2, "c": "uv"[number % 2], "label": "ab"[number % 2]} for number in range(8)
]


def rows(folder: Path, kind: str) -> Kind:
    """Write a file of rows, to be read as texts and as a table."""
    path = folder / f"rows{kind}"
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in TEXT_ROWS).encode()
    whole = (
        lines
        if "jsonl" in kind
        else "\n".join(["t,x,c,label", *(",".join(map(str, row.values())) for row in TEXT_ROWS)]).encode()
    )
    if kind == ".parquet":
        buffer = io.BytesIO()
        parquet.write_table(pyarrow.Table.from_pylist(TEXT_ROWS), buffer)
        whole = buffer.getvalue()

    def read(text: str | None) -> None:
        data = load(str(path), Config(text=text, target="label"), featurise=count)
        [data.pool.text(0), data.pool.name(0), *data.classes, *data.notes]

    def look(text: str | None) -> None:
        on_the_page(path, Columns(text, "label"))

    return Kind(
        [whole],
        path,
        partial(in_all_ways, *(partial(way, text) for way in (read, look) for text in ("t", None))),
        BINARY if kind == ".parquet" else JSON if "jsonl" in kind else TEXT,
        gzip.compress if kind.endswith(".gz") else None,
    )


def cached(folder: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> Kind:
    monkeypatch.delenv(SWITCH, raising=False)
    monkeypatch.setenv("DEEPBASS_CACHE", str(folder / "cache"))
    paths = [folder / f"{number}.png" for number in range(3)]
    for number, path in enumerate(paths):
        save_noise(path, (6, 6), number)
    paths[2].write_bytes(b"no image")
    names = [path.name for path in paths]

    def read() -> None:
        decoded = read_images(folder, names, paths, Config())
        assert decoded.pixels.shape == (2, 3, 6, 6)
        assert list(decoded.failed) == [2]
        decoded.pixels.sum()

    read()
    path = next((folder / "cache" / "images").glob(f"*{suffix}"))
    return Kind([path.read_bytes()], path, read, JSON if suffix == ".json" else BINARY)


DATA_FILES: dict[str, Callable[[Path, pytest.MonkeyPatch], Kind]] = {
    "npy samples": lambda folder, _: npy(folder, True),
    "npy labels": lambda folder, _: npy(folder, False),
    "npz stored": lambda folder, _: npz(folder, zipfile.ZIP_STORED),
    "npz deflated": lambda folder, _: npz(folder, zipfile.ZIP_DEFLATED),
    "npz bzip2": lambda folder, _: npz(folder, zipfile.ZIP_BZIP2),
    "npz lzma": lambda folder, _: npz(folder, zipfile.ZIP_LZMA),
    "idx": lambda folder, _: idx(folder, ""),
    "idx gz": lambda folder, _: idx(folder, ".gz"),
    "png": lambda folder, _: image(folder, "PNG"),
    "jpeg": lambda folder, _: image(folder, "JPEG"),
    "gif": lambda folder, _: image(folder, "GIF"),
    "bmp": lambda folder, _: image(folder, "BMP"),
    "tiff": lambda folder, _: image(folder, "TIFF"),
    "webp": lambda folder, _: image(folder, "WEBP"),
    "ppm": lambda folder, _: image(folder, "PPM"),
    "table": lambda folder, _: table(folder),
    "csv rows": lambda folder, _: rows(folder, ".csv"),
    "json lines": lambda folder, _: rows(folder, ".jsonl"),
    "json lines gz": lambda folder, _: rows(folder, ".jsonl.gz"),
    "parquet": lambda folder, _: rows(folder, ".parquet"),
    "cache facts": lambda folder, patch: cached(folder, ".json", patch),
    "cache pixels": lambda folder, patch: cached(folder, ".npy", patch),
}
